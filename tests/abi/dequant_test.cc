// Every format of weights, bit for bit the gguf package's values (tests/golden/dequant).
#include <gtest/gtest.h>
#include <motley/dequant.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/golden_case.h"

namespace motley::test {
namespace {

std::vector<float> Dequantised(const GoldenDequant& golden) {
  const plugin::DequantFn dequant = plugin::FindDequant(static_cast<uint32_t>(golden.format));
  if (!dequant) return {};
  std::vector<float> values(static_cast<size_t>(golden.n_elems));
  dequant(reinterpret_cast<const std::byte*>(golden.blocks.data()), golden.n_elems, values.data());
  return values;
}

TEST(Dequant, EveryFormatEqualsTheGgufPackageBitForBit) {
  const auto formats = GoldenDequantFormats();
  ASSERT_TRUE(formats.ok()) << formats.status().ToString();
  EXPECT_EQ(formats->size(), 23u) << "every format of weights but F32";
  for (const Format format : *formats) {
    const auto golden = LoadGoldenDequant(format);
    ASSERT_TRUE(golden.ok()) << golden.status().ToString();
    const Status same = CheckDequant(*golden, Dequantised(*golden));
    EXPECT_TRUE(same.ok()) << same.ToString();
  }
}

// Scales that are NaN, infinite, subnormal, E8M0's extremes, the NaN codes of UE4M3.
TEST(Dequant, EqualsThePackageOnAnyBitsAtAll) {
  const auto formats = GoldenDequantFormats();
  ASSERT_TRUE(formats.ok()) << formats.status().ToString();
  for (const Format format : *formats) {
    const auto golden = LoadRawGoldenDequant(format);
    ASSERT_TRUE(golden.ok()) << golden.status().ToString();
    const std::vector<float> values = Dequantised(*golden);
    const Status same = CheckDequant(*golden, values);
    EXPECT_TRUE(same.ok()) << same.ToString();
    if (format == Format::kNVFP4) continue;  // has neither infinity nor, as the package reads it, NaN
    EXPECT_FALSE(std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
        << FormatName(format);
  }
}

TEST(Dequant, F32IsCopied) {
  const float values[] = {1.5f, -0.0f, std::numeric_limits<float>::infinity(), 1e-45f};
  float copy[4] = {};
  plugin::FindDequant(0)(reinterpret_cast<const std::byte*>(values), 4, copy);
  EXPECT_EQ(std::memcmp(values, copy, sizeof copy), 0);
}

TEST(Dequant, IntegersAreNoWeights) {
  for (const Format format : {Format::kI8, Format::kI32, Format::kF64, Format::kU8}) {
    EXPECT_EQ(plugin::FindDequant(static_cast<uint32_t>(format)), nullptr) << FormatName(format);
  }
  EXPECT_EQ(plugin::FindDequant(4711), nullptr);
}

// MXFP4's scales by hand: 2^(e - 127), the code's value 0.5, 1, ... 6.
TEST(Dequant, Mxfp4ScalesAtBothEnds) {
  struct Case { int e; float one; };
  for (const Case& test : {Case{0, 0x1p-127f}, Case{1, 0x1p-126f}, Case{2, 0x1p-125f}, Case{127, 1.0f}, Case{254, 0x1p127f}}) {
    std::byte block[17] = {static_cast<std::byte>(test.e), static_cast<std::byte>(0xa2)};  // codes 2 and 10: 1, -1
    float values[32];
    plugin::FindDequant(plugin::format_id::kMXFP4)(block, 32, values);
    EXPECT_EQ(values[0], test.one) << test.e;
    EXPECT_EQ(values[16], -test.one) << test.e;
  }
}

// Every half there is, there and back; NaN stays NaN.
TEST(Half, EveryValueComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = plugin::HalfToFloat(half);
    const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(value) && std::isnan(plugin::HalfToFloat(plugin::FloatToHalf(value)))) << bits;
      continue;
    }
    const double magnitude = exponent == 31 ? std::numeric_limits<double>::infinity()
                             : exponent == 0 ? std::ldexp(fraction, -24)
                                             : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(value, bits & 0x8000 ? -magnitude : magnitude) << bits;
    ASSERT_EQ(plugin::FloatToHalf(value), half);
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(plugin::FloatToHalf(1 + 0x1p-11f), 0x3c00);             // a tie: even
  EXPECT_EQ(plugin::FloatToHalf(1 + 3 * 0x1p-11f), 0x3c02);         // a tie: even
  EXPECT_EQ(plugin::FloatToHalf(1 + 0x1p-11f + 0x1p-20f), 0x3c01);
  EXPECT_EQ(plugin::FloatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(plugin::FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(plugin::FloatToHalf(0x1p-25f), 0);                      // half of the smallest: even
  EXPECT_EQ(plugin::FloatToHalf(1.5f * 0x1p-25f), 1);
  EXPECT_EQ(plugin::FloatToHalf(-1e-30f), 0x8000);
}

}  // namespace
}  // namespace motley::test
