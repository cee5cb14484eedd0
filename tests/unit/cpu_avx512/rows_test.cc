#include <gtest/gtest.h>

#include "tests/unit/cpu_avx512/oracle.h"

namespace motley::cpu::test {
namespace {

constexpr int64_t kSizes[] = {1, 15, 16, 17, 64, 576, 1000};

class RmsNormKernels : public WithKernels {};
MOTLEY_TEST_KERNELS(RmsNormKernels);
class SwigluKernels : public WithKernels {};
MOTLEY_TEST_KERNELS(SwigluKernels);
class AddKernels : public WithKernels {};
MOTLEY_TEST_KERNELS(AddKernels);

TEST_P(RmsNormKernels, AgreesWithDouble) {
  for (const int64_t k : kSizes) {
    for (const float size : {1.0f, 1e-20f, 1e25f}) {  // squares of the last would overflow f32
      const auto x = RandomFloats(k, 3, size), w = RandomFloats(k, 4);
      std::vector<float> y(static_cast<size_t>(k) + 1, 7.0f);
      K().rms_norm_row(x.data(), w.data(), k, 1e-5, y.data());
      double squares = 0;
      for (const float v : x) squares += static_cast<double>(v) * v;
      std::vector<double> expected;
      for (size_t i = 0; i < x.size(); ++i) {
        expected.push_back(x[i] / std::sqrt(squares / static_cast<double>(k) + 1e-5) * w[i]);
      }
      EXPECT_LE(Nmse(expected.data(), y.data(), x.size()), 1e-13) << k << " " << size;
      EXPECT_EQ(y.back(), 7.0f);
    }
  }
}

TEST_P(SwigluKernels, AgreesWithDoubleOverTheWholeRange) {
  std::vector<float> gate, up;
  for (double g = -200; g <= 200; g += 0.0137) gate.push_back(static_cast<float>(g)), up.push_back(1.5f);
  gate.insert(gate.end(), {0.0f, -0.0f, 1e30f, -1e30f, 1e-30f}), up.resize(gate.size(), 1.5f);
  std::vector<float> y(gate.size());
  K().swiglu_row(gate.data(), up.data(), static_cast<int64_t>(gate.size()), y.data());
  for (size_t i = 0; i < y.size(); ++i) {
    const double g = gate[i], expected = g / (1 + std::exp(-g)) * up[i];
    ASSERT_NEAR(y[i], expected, std::abs(expected) * 4e-7 + 1e-36) << g;
  }
}

TEST_P(SwigluKernels, NanStaysNan) {
  std::vector<float> gate(20, 1.0f), up(20, 1.0f), y(20);
  gate[3] = NAN, up[18] = NAN;
  K().swiglu_row(gate.data(), up.data(), 20, y.data());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i == 3 || i == 18) << i;
}

TEST_P(AddKernels, AddsEveryElementAndNoMore) {
  for (const int64_t k : kSizes) {
    const auto a = RandomFloats(k, 3), b = RandomFloats(k, 4);
    std::vector<float> y(static_cast<size_t>(k) + 1, 7.0f);
    K().add_row(a.data(), b.data(), k, y.data());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(y[i], a[i] + b[i]);
    EXPECT_EQ(y.back(), 7.0f);
  }
}

}  // namespace
}  // namespace motley::cpu::test
