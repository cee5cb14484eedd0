#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/cpu_avx512/oracle.h"

namespace motley::cpu::test {
namespace {

// All that this CPU runs; the first needs nothing but the table's instruction set.
std::vector<LinearFn> KernelsFor(WeightFormat f) {
  if (!IsQuantised(f)) return {K().linear_float};
  std::vector<LinearFn> kernels = {K().linear_bw};
  if (HasVnni(K())) kernels.push_back(K().linear_vnni);
  if (HasTiles(K())) kernels.push_back(K().linear_amx);
  return kernels;
}

Aligned<ActivationBlock> Quantise(const std::vector<float>& x, int64_t rows, int64_t k) {
  Aligned<ActivationBlock> blocks(static_cast<size_t>(rows * k / 32));
  K().quantise_rows(x.data(), k, rows, k, 0, rows, blocks.data());
  return blocks;
}

struct Problem {
  WeightFormat format;
  int64_t n, k, rows;
  std::vector<uint8_t> stored;
  Aligned<uint8_t> packed;
  std::vector<float> x;

  static Problem Make(WeightFormat f, int64_t n, int64_t k, int64_t rows, uint32_t seed) {
    auto stored = RandomStored(f, n, k, seed);
    auto packed = Pack(f, stored, n, k);
    return {f, n, k, rows, std::move(stored), std::move(packed), RandomFloats(rows * k, seed + 1)};
  }

  std::vector<double> Expected() const {
    const auto w = StoredValues(format, stored, n, k);
    std::vector<double> y(static_cast<size_t>(rows * n));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < n; ++o) {
        double sum = 0;
        for (int64_t e = 0; e < k; ++e) {
          sum += static_cast<double>(x[static_cast<size_t>(r * k + e)]) * w[static_cast<size_t>(o * k + e)];
        }
        y[static_cast<size_t>(r * n + o)] = sum;
      }
    }
    return y;
  }

  LinearCall Call(const Aligned<ActivationBlock>& blocks, float* y) const {
    return {format, packed.data(), n, k, x.data(), k, blocks.data(), rows, y, n, nullptr, nullptr, 0};
  }

  // The rows [first, first + count) as a problem of their own.
  Problem Rows(int64_t first, int64_t count) const {
    Problem p{format, n, k, count, stored, Pack(format, stored, n, k), {}};
    p.x.assign(x.begin() + first * k, x.begin() + (first + count) * k);
    return p;
  }
};

std::vector<float> RunLinear(const Problem& p, LinearFn kernel) {
  const auto blocks = IsQuantised(p.format) ? Quantise(p.x, p.rows, p.k) : Aligned<ActivationBlock>(1);
  std::vector<float> y(static_cast<size_t>(p.rows * p.n), NAN);
  Aligned<uint8_t> scratch(kLinearScratchBytes);
  const LinearCall call = p.Call(blocks, y.data());
  const int64_t step = RowsPerCall(p.k);
  for (int64_t r = 0; r < p.rows; r += step) {
    kernel(call, 0, Tiles(p.n), r, std::min(r + step, p.rows), scratch.data());
  }
  return y;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
}

// A lone dot product may cancel to nearly nothing; with few outputs the error is held against |x| |w| instead.
double Cancellation(const Problem& p, const std::vector<double>& expected) {
  if (expected.size() >= 64) return 1;
  double x_power = 0, w_power = 0, power = 0;
  for (const float v : p.x) x_power += static_cast<double>(v) * v;
  for (const double v : StoredValues(p.format, p.stored, p.n, p.k)) w_power += v * v;
  for (const double v : expected) power += v * v;
  return std::max(1.0, x_power * w_power / power);
}

class LinearKernels : public WithKernels {};
MOTLEY_TEST_KERNELS(LinearKernels);
class QuantiseKernels : public WithKernels {};
MOTLEY_TEST_KERNELS(QuantiseKernels);
class LinearFieldFailure : public WithKernels {};
MOTLEY_TEST_KERNELS(LinearFieldFailure);

TEST_P(LinearKernels, AgreesWithDoubleInEveryFormatAndShape) {
  for (const WeightFormat f : kAllFormats) {
    // Float weights: f32 chains. Quantised weights: int8 activations in blocks of 32.
    const double tolerance = IsQuantised(f) ? 5e-4 : 1e-11;
    for (const int64_t n : {1, 15, 16, 17, 70, 100}) {
      for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 12, 13, 70}) {
        for (const int64_t units : {1, 3, 9}) {
          const int64_t k = IsQuantised(f) ? units * BlockElems(f) : units * 37;
          const auto p = Problem::Make(f, n, k, rows, static_cast<uint32_t>(n + rows * 31 + units));
          const auto expected = p.Expected();
          for (const LinearFn kernel : KernelsFor(f)) {
            const auto y = RunLinear(p, kernel);
            ASSERT_LE(Nmse(expected.data(), y.data(), y.size()), tolerance * Cancellation(p, expected))
                << Name(f) << " n " << n << " k " << k << " rows " << rows;
          }
        }
      }
    }
  }
}

TEST_P(LinearKernels, ForcedPathsAgreeBitwise) {
  for (const WeightFormat f : kAllFormats) {
    for (const int64_t rows : {1, 6, 16, 20, 35, 64}) {
      const auto p = Problem::Make(f, 50, 512 + BlockElems(f), rows, 11);
      const auto kernels = KernelsFor(f);
      const auto expected = RunLinear(p, kernels[0]);
      for (const LinearFn kernel : kernels) {
        EXPECT_TRUE(SameBits(RunLinear(p, kernel), expected)) << Name(f) << " rows " << rows;
      }
    }
  }
  if (!HasVnni(K())) GTEST_SKIP() << "skipped in part: this CPU has no AVX512_VNNI";
  if (!HasTiles(K())) GTEST_SKIP() << "skipped in part: this CPU has no AMX";
}

TEST_P(LinearKernels, OneRowEqualsItselfAmong512Bitwise) {
  for (const WeightFormat f : kAllFormats) {
    const int64_t n = 50, k = 512 + (IsQuantised(f) ? BlockElems(f) : 5);
    const auto all = Problem::Make(f, n, k, 512, 3);
    for (const LinearFn kernel : KernelsFor(f)) {
      const auto y = RunLinear(all, kernel);
      for (const int64_t count : {1, 2, 3, 4, 5, 6, 7, 63, 64}) {
        for (const int64_t first : {int64_t{0}, int64_t{101}, 512 - count}) {
          const auto part = RunLinear(all.Rows(first, count), kernel);
          ASSERT_EQ(std::memcmp(part.data(), y.data() + first * n, part.size() * 4), 0)
              << Name(f) << " rows [" << first << ", +" << count << ")";
        }
      }
    }
  }
}

TEST_P(LinearKernels, ThreadCountsAgreeBitwise) {
  for (const WeightFormat f : kAllFormats) {
    for (const int64_t rows : {1, 30}) {
      const auto p = Problem::Make(f, 200, 512, rows, 5);
      const auto expected = RunLinear(p, KernelsFor(f)[0]);
      for (const int threads : {2, 3}) {
        const auto blocks = IsQuantised(f) ? Quantise(p.x, p.rows, p.k) : Aligned<ActivationBlock>(1);
        std::vector<float> y(expected.size(), NAN);
        const LinearCall call = p.Call(blocks, y.data());
        std::vector<std::thread> team;
        for (int i = 0; i < threads; ++i) {
          team.emplace_back([&, i] {
            Aligned<uint8_t> scratch(kLinearScratchBytes);
            KernelsFor(f)[0](call, Tiles(p.n) * i / threads, Tiles(p.n) * (i + 1) / threads, 0, rows, scratch.data());
          });
        }
        for (std::thread& t : team) t.join();
        EXPECT_TRUE(SameBits(expected, y)) << Name(f) << " threads " << threads;
      }
    }
  }
}

TEST_P(LinearKernels, FactorBiasAndResidualAreAppliedInThisOrder) {
  for (const WeightFormat f : kAllFormats) {
    for (const int64_t rows : {1, 9}) {
      const auto p = Problem::Make(f, 37, 256, rows, 5);
      const auto plain = RunLinear(p, KernelsFor(f)[0]);
      const auto bias = RandomFloats(p.n, 90), residual = RandomFloats(rows * p.n, 91);
      const auto blocks = IsQuantised(f) ? Quantise(p.x, p.rows, p.k) : Aligned<ActivationBlock>(1);
      std::vector<float> y = residual;  // in place
      LinearCall call = p.Call(blocks, y.data());
      call.bias = bias.data();
      call.residual = y.data();
      call.residual_stride = p.n;
      call.factor = 0.3f;
      Aligned<uint8_t> scratch(kLinearScratchBytes);
      KernelsFor(f)[0](call, 0, Tiles(p.n), 0, rows, scratch.data());
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i], plain[i] * 0.3f + bias[i % static_cast<size_t>(p.n)] + residual[i]) << Name(f) << " " << i;
      }
    }
  }
}

// A dot product of 4096 times 8 * 8 is 262144: above the range of f16.
TEST_P(LinearFieldFailure, M03_LargeSumsStayFinite) {
  const int64_t k = 4096, n = 17;
  for (const WeightFormat f : {WeightFormat::kF32, WeightFormat::kF16, WeightFormat::kBF16, WeightFormat::kQ8_0}) {
    std::vector<uint8_t> stored(static_cast<size_t>(n * StoredRowBytes(f, k)));
    const float eight = 8;
    const uint16_t eight_half = 0x4800, eight_bf16 = 0x4100, scale = 0x2c00;  // 2^-4: 128 / 16... 127 is the largest
    for (size_t i = 0; i < stored.size();) {
      switch (f) {
        case WeightFormat::kF32: std::memcpy(&stored[i], &eight, 4), i += 4; break;
        case WeightFormat::kF16: std::memcpy(&stored[i], &eight_half, 2), i += 2; break;
        case WeightFormat::kBF16: std::memcpy(&stored[i], &eight_bf16, 2), i += 2; break;
        default:  // 2^-4 * -128 = -8
          std::memcpy(&stored[i], &scale, 2);
          std::memset(&stored[i + 2], 0x80, 32);
          i += 34;
      }
    }
    for (const int64_t rows : {int64_t{1}, int64_t{63}, int64_t{64}}) {
      Problem p{f, n, k, rows, stored, Pack(f, stored, n, k), std::vector<float>(static_cast<size_t>(rows * k), 8.0f)};
      for (const LinearFn kernel : KernelsFor(f)) {
        const auto y = RunLinear(p, kernel);
        for (const float v : y) {
          // x itself is rounded to int8 with the quantised weights: 8 = 127 * (8 / 127), two bits less.
          ASSERT_NEAR(std::abs(v), 262144.0f, IsQuantised(f) ? 0.25f : 0.0f) << Name(f) << " rows " << rows;
          ASSERT_EQ(v, y[0]) << Name(f) << " rows " << rows;
        }
      }
    }
  }
}

TEST_P(LinearKernels, NanStaysInItsRow) {
  for (const WeightFormat f : kAllFormats) {
    auto p = Problem::Make(f, 33, 256, 14, 5);
    const auto clean = RunLinear(p, KernelsFor(f)[0]);
    for (const float bad : {NAN, -INFINITY}) {
      p.x[static_cast<size_t>(5 * p.k + 77)] = bad;
      for (const LinearFn kernel : KernelsFor(f)) {
        const auto y = RunLinear(p, kernel);
        for (int64_t r = 0; r < 14; ++r) {
          for (int64_t o = 0; o < 33; ++o) {
            const size_t i = static_cast<size_t>(r * 33 + o);
            if (r != 5) {
              ASSERT_EQ(y[i], clean[i]) << Name(f);
            } else {
              ASSERT_FALSE(std::isfinite(y[i])) << Name(f) << " output " << o;
            }
          }
        }
      }
    }
  }
}

TEST_P(QuantiseKernels, BlocksAreWithinHalfAStepAndKeepTheirSums) {
  const int64_t rows = 14, k = 96;
  auto x = RandomFloats(rows * k, 1);
  for (int64_t e = 0; e < 32; ++e) x[static_cast<size_t>(2 * k + e)] = 0;                        // an empty block
  for (int64_t e = 32; e < 64; ++e) x[static_cast<size_t>(2 * k + e)] = e % 2 != 0 ? 3e-38f : 0;  // below the scale's range
  for (int64_t e = 64; e < 96; ++e) x[static_cast<size_t>(2 * k + e)] *= 1e30f;
  const auto blocks = Quantise(x, rows, k);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t b = 0; b < 3; ++b) {
      const ActivationBlock& block = blocks[static_cast<size_t>(ActivationIndex(r, b, rows, 3))];
      double amax = 0;
      int low = 0, high = 0;
      for (int i = 0; i < 32; ++i) {
        const double v = x[static_cast<size_t>(r * k + b * 32 + i)];
        amax = std::max(amax, std::abs(v));
        (i < 16 ? low : high) += block.q[i];
        EXPECT_NEAR(block.scale * block.q[i], v, amax < 1e-34 ? 1e-34 : block.scale * 0.5001);
        EXPECT_GE(block.q[i], -127);
      }
      if (amax > 1e-34) {
        EXPECT_NEAR(block.scale * 127 / amax, 1, 1e-6);
      }
      EXPECT_EQ(block.start_8, kMagicBits - 8 * (low + high));
      EXPECT_EQ(block.start_32, kMagicBits - 32 * (low + high));
      EXPECT_EQ(block.start_128, kMagicBits - 128 * (low + high));
      EXPECT_EQ(block.start_32_low, kMagicBits - 32 * low);
      EXPECT_EQ(block.start_32_high, kMagicBits - 32 * high);
      EXPECT_EQ(static_cast<double>(block.minus_magic), -static_cast<double>(kMagic) * block.scale) << "not exact";
      EXPECT_FLOAT_EQ(block.sum, block.scale * static_cast<float>(low + high));
    }
  }
}

}  // namespace
}  // namespace motley::cpu::test
