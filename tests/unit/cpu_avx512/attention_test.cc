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
    {32, 1, 16, 80, 0, 0, false},     // more heads a group than one call takes
};

// A sequence of `length` tokens: its activations, and the pages into which a run writes them.
struct Sequence {
  Shape shape;
  int64_t length;
  bool half;
  std::vector<float> q, k, v, q_norm, k_norm, rope;

  Sequence(const Shape& s, int64_t n, bool in_half) : shape(s), length(n), half(in_half) {
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
    const int64_t page_bytes = KvPageBytes(page_tokens, s.n_kv_heads, s.head_dim, s.v_dim, half);
    Aligned<uint8_t> kv(static_cast<size_t>((n_pages + spare) * page_bytes));  // NaN throughout
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
    c.half = half, c.scale = Scale(), c.norm_eps = 1e-6;
    c.q = q.data(), c.k = k.data(), c.v = v.data(), c.rope = rope.data();
    c.q_norm = s.norm ? q_norm.data() : nullptr, c.k_norm = s.norm ? k_norm.data() : nullptr;
    c.position = position.data(), c.slot = slot.data(), c.kv = kv.data(), c.page_bytes = page_bytes, c.y = y.data();
    Aligned<uint8_t> scratch(static_cast<size_t>(AttentionScratchBytes(s.head_dim, s.v_dim)));
    const int64_t group = s.n_heads / s.n_kv_heads, heads = std::min(group, kMaxQueries);
    std::vector<float> parts(static_cast<size_t>((length / kKeyChunk + 1) * heads * (s.v_dim + 2)));
    for (int64_t begin = 0; begin < length; begin += step) {
      const int64_t end = std::min(begin + step, length), rows = kMaxQueries / heads;
      for (int64_t t = begin; t < end; ++t) {
        for (int64_t h = 0; h < s.n_kv_heads; ++h) K().write_kv(c, t, h, scratch.data());
      }
      for (int64_t head = 0; head < s.n_heads; head += heads) {
        if (by_chunks) {
          for (int64_t t = begin; t < end; ++t) {
            for (int64_t chunk = t / kKeyChunk; chunk >= 0; --chunk) {
              K().attend_chunk(c, pages.data(), t, head, heads, chunk, parts.data(), scratch.data());
            }
            K().merge_chunks(c, t, head, heads, parts.data());
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
    std::vector<double> keys, y;
    for (int64_t t = 0; t < length; ++t) {
      for (int64_t h = 0; h < s.n_kv_heads; ++h) {
        for (const double x : Prepared(&k[static_cast<size_t>((t * s.n_kv_heads + h) * s.head_dim)], k_norm, t)) {
          keys.push_back(Stored(x));
        }
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
            out += p[static_cast<size_t>(j)] * Stored(v[static_cast<size_t>((j * s.n_kv_heads + kv_head) * s.v_dim + d)]);
          }
          y.push_back(out / sum);
        }
      }
    }
    return y;
  }

 private:
  float Scale() const { return 1 / std::sqrt(static_cast<float>(shape.head_dim)); }
  double Stored(double x) const {
    if (!half) return x;
    uint16_t bits;
    const _Float16 h = static_cast<_Float16>(static_cast<float>(x));
    std::memcpy(&bits, &h, 2);
    return HalfValue(bits);
  }
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
    for (const bool half : {false, true}) {
      for (const int64_t length : {1, 17, 270}) {
        if (length > kKeyChunk && shape.n_heads > 9) continue;  // the oracle is slow
        const Sequence sequence(shape, length, half);
        const auto y = sequence.Run(64, length);
        // In f16 a key may fall on the other side of a rounding: f32 here, double in the oracle.
        EXPECT_LE(Nmse(sequence.Expected().data(), y.data(), y.size()), half ? 1e-9 : 1e-12)
            << "head_dim " << shape.head_dim << " half " << half << " length " << length;
      }
    }
  }
}

TEST_P(AttentionKernels, PagesStepsAndChunksDoNotChangeABit) {
  for (const Shape& shape : kShapes) {
    for (const bool half : {false, true}) {
      const Sequence sequence(shape, 530, half);  // three chunks of keys
      const auto y = sequence.Run(64, 530);
      for (const float v : y) ASSERT_TRUE(std::isfinite(v));
      const auto same = [&](const std::vector<float>& other) {
        return std::memcmp(y.data(), other.data(), y.size() * 4) == 0;
      };
      for (const int64_t page_tokens : {1, 16, 17, 256}) {
        EXPECT_TRUE(same(sequence.Run(page_tokens, 530))) << shape.head_dim << " page " << page_tokens;
      }
      for (const int64_t step : {1, 7, 64}) EXPECT_TRUE(same(sequence.Run(64, step))) << shape.head_dim << " step " << step;
      EXPECT_TRUE(same(sequence.Run(17, 1))) << shape.head_dim;
      EXPECT_TRUE(same(sequence.Run(64, 100, true))) << shape.head_dim << " by chunks";
    }
  }
}

TEST_P(AttentionKernels, NanOfALaterTokenDoesNotReachEarlierRows) {
  const Shape& shape = kShapes[1];
  Sequence sequence(shape, 40, false);
  const auto clean = sequence.Run(16, 40);
  const int64_t bad = 21, width = shape.n_heads * shape.v_dim;
  sequence.v[static_cast<size_t>(bad * shape.n_kv_heads * shape.v_dim)] = NAN;      // head 0, dim 0
  sequence.k[static_cast<size_t>(bad * shape.n_kv_heads * shape.head_dim)] = NAN;
  const auto y = sequence.Run(16, 40);
  EXPECT_EQ(std::memcmp(y.data(), clean.data(), static_cast<size_t>(bad * width) * 4), 0);
  EXPECT_TRUE(std::isnan(y[static_cast<size_t>(bad * width)]));
  EXPECT_EQ(y[static_cast<size_t>(bad * width + shape.v_dim)], clean[static_cast<size_t>(bad * width + shape.v_dim)]);
}

// Dims behind rotary_dim are not turned: v and the rest of k come out of the cache as they went in.
TEST_P(AttentionFieldFailure, M06_PartialRotationLeavesTheRest) {
  const Shape shape = {1, 1, 128, 16, 64, 0, false};
  Sequence sequence(shape, 1, false);
  std::vector<float> rope(64);
  for (int i = 0; i < 32; ++i) {
    const double angle = 1000 * std::pow(1e4, -2.0 * i / 64);
    rope[static_cast<size_t>(i)] = static_cast<float>(std::cos(angle));
    rope[static_cast<size_t>(32 + i)] = static_cast<float>(std::sin(angle));
  }
  const int64_t page_bytes = KvPageBytes(1, 1, 128, 16, false);
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
