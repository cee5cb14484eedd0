#include "plugins/cpu_avx512/kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/unit/cpu_avx512/oracle.h"

namespace motley::cpu::test {
namespace {

struct Shape {
  int64_t n_heads, n_kv_heads, head_dim, v_dim, rotary_dim, rope_style;
  bool norm;
};

constexpr Shape kShapes[] = {
    {9, 3, 64, 64, 64, 0, false},     // SmolLM2
    {4, 4, 32, 32, 32, 1, true},      // a group of one head, pairs side by side
    {8, 1, 128, 128, 64, 0, true},    // partial rotation
    {6, 2, 40, 24, 16, 0, false},     // no multiples of 16
    {96, 1, 16, 80, 0, 0, false},     // more heads a group than one call takes
    {10, 2, 96, 32, 64, 0, false},    // blocks of 32 that are no multiple of 64
};

constexpr KvFormat kKvFormats[] = {KvFormat::kF32, KvFormat::kF16, KvFormat::kBF16, KvFormat::kQ8_0, KvFormat::kQ4_0};

const char* Name(KvFormat f) {
  switch (f) {
    case KvFormat::kF32: return "F32";
    case KvFormat::kF16: return "F16";
    case KvFormat::kBF16: return "BF16";
    case KvFormat::kQ8_0: return "Q8_0";
    case KvFormat::kQ4_0: return "Q4_0";
  }
  return "?";
}
bool Fits(const Shape& s, KvFormat f) { return !InBlocks(f) || (s.head_dim % kKvBlock == 0 && s.v_dim % kKvBlock == 0); }

double AsHalf(double x) {
  uint16_t bits;
  const _Float16 h = static_cast<_Float16>(static_cast<float>(x));
  std::memcpy(&bits, &h, 2);
  return HalfValue(bits);
}

// What the cache makes of one token's values of one head, by the definition of the formats.
std::vector<double> Cached(KvFormat f, std::vector<double> x) {
  if (f == KvFormat::kF16) {
    for (double& v : x) v = AsHalf(v);
  } else if (f == KvFormat::kBF16) {
    for (double& v : x) {  // eight bits of mantissa
      int exponent;
      const double mantissa = std::frexp(v, &exponent);
      v = std::ldexp(std::nearbyint(mantissa * 256), exponent - 8);
    }
  } else if (InBlocks(f)) {
    for (size_t b = 0; b < x.size(); b += 32) {
      const auto larger = [](double a, double c) { return std::abs(a) < std::abs(c); };
      const double extreme = *std::max_element(x.begin() + static_cast<long>(b), x.begin() + static_cast<long>(b) + 32, larger);
      const bool eight = f == KvFormat::kQ8_0;
      const double scale = AsHalf(eight ? std::abs(extreme) / 127 : extreme / -8);
      for (size_t i = b; i < b + 32; ++i) {
        const double code = scale == 0 ? 0 : std::nearbyint(x[i] / scale);
        x[i] = scale * std::clamp(code, eight ? -127.0 : -8.0, eight ? 127.0 : 7.0);
      }
    }
  }
  return x;
}

// A sequence of `length` tokens: its activations, and the pages into which a run writes them.
struct Sequence {
  Shape shape;
  int64_t length;
  KvFormat format;
  std::vector<float> q, k, v, q_norm, k_norm, rope;

  Sequence(const Shape& s, int64_t n, KvFormat f) : shape(s), length(n), format(f) {
    q = RandomFloats(n * s.n_heads * s.head_dim, 1, 1.5f);
    k = RandomFloats(n * s.n_kv_heads * s.head_dim, 2);
    v = RandomFloats(n * s.n_kv_heads * s.v_dim, 3);
    q_norm = RandomFloats(s.head_dim, 4);
    k_norm = RandomFloats(s.head_dim, 5);
    for (int64_t t = 0; t < n; ++t) {
      for (const bool sine : {false, true}) {
        for (int64_t i = 0; i < s.rotary_dim / 2; ++i) {
          const double angle = static_cast<double>(t) * std::pow(1e4, -2.0 * static_cast<double>(i) / static_cast<double>(s.rotary_dim));
          rope.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
        }
      }
    }
  }

  // Runs all tokens in steps of `step` rows through pages of `page_tokens`; `by_chunks`: as threads would share rows.
  std::vector<float> Run(int64_t page_tokens, int64_t step, bool by_chunks = false) const {
    const Shape& s = shape;
    const int64_t n_pages = (length + page_tokens - 1) / page_tokens, spare = 3;
    const int64_t page_bytes = KvPageBytes(format, page_tokens, s.n_kv_heads, s.head_dim, s.v_dim);
    Aligned<uint8_t> kv(static_cast<size_t>((n_pages + spare) * page_bytes));  // NaN throughout, scales too
    std::vector<int32_t> pages(static_cast<size_t>(n_pages)), position, slot;
    for (int64_t p = 0; p < n_pages; ++p) pages[static_cast<size_t>(p)] = static_cast<int32_t>(n_pages + spare - 1 - p);
    for (int64_t t = 0; t < length; ++t) {
      position.push_back(static_cast<int32_t>(t));
      slot.push_back(static_cast<int32_t>(pages[static_cast<size_t>(t / page_tokens)] * page_tokens + t % page_tokens));
    }
    std::vector<float> y(static_cast<size_t>(length * s.n_heads * s.v_dim), NAN);
    AttentionCall c{};
    c.n_heads = s.n_heads, c.n_kv_heads = s.n_kv_heads, c.head_dim = s.head_dim, c.v_dim = s.v_dim;
    c.rotary_dim = s.rotary_dim, c.rope_style = s.rope_style, c.page_tokens = page_tokens;
    c.format = format, c.scale = Scale(), c.norm_eps = 1e-6;
    c.q = q.data(), c.k = k.data(), c.v = v.data(), c.rope = rope.data();
    c.q_norm = s.norm ? q_norm.data() : nullptr, c.k_norm = s.norm ? k_norm.data() : nullptr;
    c.position = position.data(), c.slot = slot.data(), c.kv = kv.data(), c.page_bytes = page_bytes, c.y = y.data();
    Aligned<uint8_t> scratch(static_cast<size_t>(AttentionScratchBytes(s.head_dim, s.v_dim)));
    const int64_t group = s.n_heads / s.n_kv_heads, heads = std::min(group, kMaxQueries);
    const int64_t part_floats = (length / kKeyChunk + 1) * (s.v_dim + 2);
    std::vector<float> parts(static_cast<size_t>(heads * part_floats));
    for (int64_t begin = 0; begin < length; begin += step) {
      const int64_t end = std::min(begin + step, length), rows = kMaxQueries / heads;
      for (int64_t t = begin; t < end; ++t) {
        for (int64_t h = 0; h < s.n_kv_heads; ++h) K().write_kv(c, t, h, scratch.data());
      }
      for (int64_t head = 0; head < s.n_heads; head += heads) {
        if (by_chunks) {
          for (int64_t t = begin; t < end; ++t) {
            // The last pieces first, of one and two chunks in turn.
            for (int64_t e = t / kKeyChunk + 1, b; e > 0; e = b) {
              b = std::max<int64_t>(0, e - 1 - e % 2);
              K().attend_chunks(c, pages.data(), t, head, heads, b, e, parts.data(), part_floats, scratch.data());
            }
            for (int64_t h = 0; h < heads; ++h) K().merge_chunks(c, t, head + h, parts.data() + h * part_floats);
          }
        } else {
          for (int64_t t = begin; t < end; t += rows) {
            K().attend(c, pages.data(), t, std::min(rows, end - t), head, heads, scratch.data());
          }
        }
      }
    }
    return y;
  }

  std::vector<double> Expected() const {
    const Shape& s = shape;
    std::vector<double> keys, values, y;
    for (int64_t t = 0; t < length; ++t) {
      for (int64_t h = 0; h < s.n_kv_heads; ++h) {
        const auto key = Prepared(&k[static_cast<size_t>((t * s.n_kv_heads + h) * s.head_dim)], k_norm, t);
        for (const double x : Cached(format, key)) keys.push_back(x);
        const float* from = &v[static_cast<size_t>((t * s.n_kv_heads + h) * s.v_dim)];
        for (const double x : Cached(format, {from, from + s.v_dim})) values.push_back(x);
      }
    }
    for (int64_t t = 0; t < length; ++t) {
      for (int64_t h = 0; h < s.n_heads; ++h) {
        const int64_t kv_head = h / (s.n_heads / s.n_kv_heads);
        const auto x = Prepared(&q[static_cast<size_t>((t * s.n_heads + h) * s.head_dim)], q_norm, t);
        std::vector<double> p;
        for (int64_t j = 0; j <= t; ++j) {
          const double* key = &keys[static_cast<size_t>((j * s.n_kv_heads + kv_head) * s.head_dim)];
          p.push_back(std::inner_product(x.begin(), x.end(), key, 0.0) * static_cast<double>(Scale()));
        }
        const double top = *std::max_element(p.begin(), p.end());
        double sum = 0;
        for (double& w : p) sum += w = std::exp(w - top);
        for (int64_t d = 0; d < s.v_dim; ++d) {
          double out = 0;
          for (int64_t j = 0; j <= t; ++j) {
            out += p[static_cast<size_t>(j)] * values[static_cast<size_t>((j * s.n_kv_heads + kv_head) * s.v_dim + d)];
          }
          y.push_back(out / sum);
        }
      }
    }
    return y;
  }

 private:
  float Scale() const { return 1 / std::sqrt(static_cast<float>(shape.head_dim)); }
  std::vector<double> Prepared(const float* in, const std::vector<float>& norm, int64_t t) const {
    const Shape& s = shape;
    std::vector<double> out(in, in + s.head_dim);
    if (s.norm) {
      const double squares = std::inner_product(out.begin(), out.end(), out.begin(), 0.0);
      for (size_t i = 0; i < out.size(); ++i) {
        out[i] *= norm[i] / std::sqrt(squares / static_cast<double>(s.head_dim) + 1e-6);
      }
    }
    const int64_t pairs = s.rotary_dim / 2;
    for (int64_t i = 0; i < pairs; ++i) {
      double& a = out[static_cast<size_t>(s.rope_style == 0 ? i : 2 * i)];
      double& b = out[static_cast<size_t>(s.rope_style == 0 ? i + pairs : 2 * i + 1)];
      const double cosine = rope[static_cast<size_t>(t * s.rotary_dim + i)];
      const double sine = rope[static_cast<size_t>(t * s.rotary_dim + pairs + i)];
      const double a0 = a;
      a = a * cosine - b * sine;
      b = b * cosine + a0 * sine;
    }
    return out;
  }
};

class AttentionKernels : public WithKernels {};
MOTLEY_TEST_KERNELS(AttentionKernels);
class AttentionFieldFailure : public WithKernels {};
MOTLEY_TEST_KERNELS(AttentionFieldFailure);

TEST_P(AttentionKernels, AgreesWithDouble) {
  for (const Shape& shape : kShapes) {
    for (const KvFormat format : kKvFormats) {
      if (!Fits(shape, format)) continue;
      for (const int64_t length : {1, 17, 270}) {
        if (length > kKeyChunk && shape.n_heads > 9) continue;  // the oracle is slow
        const Sequence sequence(shape, length, format);
        const auto y = sequence.Run(64, length);
        // A key may fall on the other side of a rounding: f32 here, double in the oracle.
        const double tolerance = format == KvFormat::kF32 ? 1e-12 : format == KvFormat::kF16 ? 1e-9 : 1e-6;
        EXPECT_LE(Nmse(sequence.Expected().data(), y.data(), y.size()), tolerance)
            << "head_dim " << shape.head_dim << " " << Name(format) << " length " << length;
      }
    }
  }
}

TEST_P(AttentionKernels, PagesStepsAndChunksDoNotChangeABit) {
  for (const Shape& shape : kShapes) {
    for (const KvFormat format : kKvFormats) {
      if (!Fits(shape, format)) continue;
      const Sequence sequence(shape, 530, format);  // three chunks of keys
      const auto y = sequence.Run(64, 530);
      for (const float v : y) ASSERT_TRUE(std::isfinite(v));
      const auto same = [&](const std::vector<float>& other) {
        return std::memcmp(y.data(), other.data(), y.size() * 4) == 0;
      };
      const std::string what = std::to_string(shape.head_dim) + " " + Name(format);
      for (const int64_t page_tokens : {1, 16, 17, 256}) {
        EXPECT_TRUE(same(sequence.Run(page_tokens, 530))) << what << " page " << page_tokens;
      }
      for (const int64_t step : {1, 2, 7, 64}) EXPECT_TRUE(same(sequence.Run(64, step))) << what << " step " << step;
      EXPECT_TRUE(same(sequence.Run(17, 1))) << what;
      EXPECT_TRUE(same(sequence.Run(64, 100, true))) << what << " by chunks";
    }
  }
}

// Read with AVX-512 or AVX2, by one query or by many: what is cached are these values and no others.
TEST_P(AttentionKernels, AFormatRoundsWhenATokenIsWrittenAndNeverAgain) {
  const Shape shape = {6, 2, 64, 96, 0, 0, false};  // nothing is done to keys before they are cached
  for (const KvFormat format : kKvFormats) {
    Sequence rounded(shape, 270, format), exact(shape, 270, KvFormat::kF32);
    const auto round = [&](std::vector<float>* values, int64_t dim) {
      for (auto at = values->begin(); at != values->end(); at += dim) {
        const auto cached = Cached(format, {at, at + dim});
        std::transform(cached.begin(), cached.end(), at, [](double x) { return static_cast<float>(x); });
      }
    };
    round(&exact.k, shape.head_dim);
    round(&exact.v, shape.v_dim);
    for (const int64_t step : {1, 270}) {
      const auto y = rounded.Run(64, step), expected = exact.Run(64, step);
      EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size() * 4), 0) << Name(format) << " step " << step;
    }
  }
}

// 92 layers, 8 heads of 128, 65,536 tokens: 23,552 MiB in f16, 12,512 in q8_0, 6,624 in 4.5 bits.
TEST(KvLayout, P01_APageHasTheBytesOfItsFormatAndNoMore) {
  const auto mib = [](KvFormat f, int64_t page_tokens) {
    return 92.0 * static_cast<double>(65536 / page_tokens * KvPageBytes(f, page_tokens, 8, 128, 128)) / (1 << 20);
  };
  for (const int64_t page_tokens : {1, 16, 64, 256}) {
    EXPECT_EQ(mib(KvFormat::kF32, page_tokens), 47104) << page_tokens;
    EXPECT_EQ(mib(KvFormat::kF16, page_tokens), 23552) << page_tokens;
    EXPECT_EQ(mib(KvFormat::kBF16, page_tokens), 23552) << page_tokens;
    EXPECT_EQ(mib(KvFormat::kQ8_0, page_tokens), 12512) << page_tokens;
    EXPECT_EQ(mib(KvFormat::kQ4_0, page_tokens), 6624) << page_tokens;
  }
  for (const KvFormat f : kKvFormats) {
    for (const int64_t page_tokens : {1, 3, 17, 64}) {
      const int64_t stored = page_tokens * 3 * (KvRowBytes(f, 96) + KvRowBytes(f, 32));
      EXPECT_GE(KvPageBytes(f, page_tokens, 3, 96, 32), stored) << Name(f) << " " << page_tokens;
      EXPECT_LT(KvPageBytes(f, page_tokens, 3, 96, 32), stored + 64) << Name(f) << " " << page_tokens;
    }
  }
}

// No byte outside the slots changes, whatever the layout: neighbours in a tile, scales, the rest of the page.
TEST_P(AttentionKernels, ATokenWritesItsOwnBytesAndNoOther) {
  for (const KvFormat format : kKvFormats) {
    for (const int64_t page_tokens : {1, 5, 16, 48}) {
      constexpr int64_t kHeads = 2, kDim = 64, kPages = 3;
      const int64_t page_bytes = KvPageBytes(format, page_tokens, kHeads, kDim, kDim), slots = kPages * page_tokens;
      Aligned<uint8_t> kv(static_cast<size_t>(kPages * page_bytes)), scratch(static_cast<size_t>(AttentionScratchBytes(kDim, kDim)));
      const auto k = RandomFloats(kHeads * kDim, 1), v = RandomFloats(kHeads * kDim, 2);
      AttentionCall c{};
      c.n_heads = c.n_kv_heads = kHeads, c.head_dim = c.v_dim = kDim, c.page_tokens = page_tokens, c.format = format;
      c.k = k.data(), c.v = v.data(), c.kv = kv.data(), c.page_bytes = page_bytes;
      const float rope[1] = {};
      c.rope = rope;
      const auto bytes_written = [&](const std::vector<int32_t>& order) {
        int64_t changed = 0;
        for (const int32_t slot : order) {
          const std::vector<uint8_t> before(kv.data(), kv.data() + kv.size());
          c.slot = &slot;
          for (int64_t h = 0; h < kHeads; ++h) K().write_kv(c, 0, h, scratch.data());
          for (size_t i = 0; i < before.size(); ++i) {
            const bool own = static_cast<int64_t>(i) / page_bytes == slot / page_tokens;
            if (kv[i] == before[i]) continue;
            EXPECT_TRUE(slot >= 0 && own) << Name(format) << " slot " << slot;
            ++changed;
          }
        }
        return changed;
      };
      EXPECT_EQ(bytes_written({-1}), 0);
      std::vector<int32_t> all(static_cast<size_t>(slots));
      std::iota(all.begin(), all.end(), 0);
      std::shuffle(all.begin(), all.end(), std::mt19937(3));
      // Every token adds bytes of its own: were any shared, the sum would be less. A written 0xff does not show.
      const int64_t most = slots * kHeads * 2 * KvRowBytes(format, kDim), changed = bytes_written(all);
      EXPECT_LE(changed, most) << Name(format);
      EXPECT_GE(changed, most * 9 / 10) << Name(format);
      EXPECT_EQ(bytes_written(all), 0) << Name(format) << ": the same values again are the same bytes";
    }
  }
}

TEST_P(AttentionKernels, NanOfALaterTokenDoesNotReachEarlierRows) {
  const Shape& shape = kShapes[1];
  for (const KvFormat format : kKvFormats) {
    Sequence sequence(shape, 40, format);
    const auto clean = sequence.Run(16, 40);
    const int64_t bad = 21, width = shape.n_heads * shape.v_dim;
    sequence.v[static_cast<size_t>(bad * shape.n_kv_heads * shape.v_dim)] = NAN;      // head 0, dim 0
    sequence.k[static_cast<size_t>(bad * shape.n_kv_heads * shape.head_dim)] = NAN;
    const auto y = sequence.Run(16, 40);
    EXPECT_EQ(std::memcmp(y.data(), clean.data(), static_cast<size_t>(bad * width) * 4), 0) << Name(format);
    EXPECT_TRUE(std::isnan(y[static_cast<size_t>(bad * width)]));
    EXPECT_EQ(y[static_cast<size_t>(bad * width + shape.v_dim)], clean[static_cast<size_t>(bad * width + shape.v_dim)]);
  }
}

// Dims behind rotary_dim are not turned: v and the rest of k come out of the cache as they went in.
TEST_P(AttentionFieldFailure, M06_PartialRotationLeavesTheRest) {
  const Shape shape = {1, 1, 128, 16, 64, 0, false};
  const Sequence sequence(shape, 1, KvFormat::kF32);
  std::vector<float> rope(64);
  for (int i = 0; i < 32; ++i) {
    const double angle = 1000 * std::pow(1e4, -2.0 * i / 64);
    rope[static_cast<size_t>(i)] = static_cast<float>(std::cos(angle));
    rope[static_cast<size_t>(32 + i)] = static_cast<float>(std::sin(angle));
  }
  const int64_t page_bytes = KvPageBytes(KvFormat::kF32, 1, 1, 128, 16);
  Aligned<uint8_t> kv(static_cast<size_t>(page_bytes)), scratch(static_cast<size_t>(AttentionScratchBytes(128, 16)));
  const int32_t zero = 0;
  AttentionCall c{};
  c.n_heads = c.n_kv_heads = 1, c.head_dim = 128, c.v_dim = 16, c.rotary_dim = 64, c.page_tokens = 1;
  c.k = sequence.k.data(), c.v = sequence.v.data(), c.rope = rope.data(), c.slot = &zero;
  c.kv = kv.data(), c.page_bytes = page_bytes;
  K().write_kv(c, 0, 0, scratch.data());
  const float* cached = reinterpret_cast<const float*>(kv.data());
  for (size_t i = 0; i < 32; ++i) {
    const double a = sequence.k[i], b = sequence.k[32 + i], cosine = rope[i], sine = rope[32 + i];
    EXPECT_NEAR(cached[i], a * cosine - b * sine, 1e-6);
    EXPECT_NEAR(cached[32 + i], b * cosine + a * sine, 1e-6);
  }
  EXPECT_EQ(std::memcmp(cached + 64, &sequence.k[64], 64 * 4), 0);
}

}  // namespace
}  // namespace motley::cpu::test
