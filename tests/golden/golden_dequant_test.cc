// The golden data of dequantisation: that the blocks made here are those that the gguf package was given, and that
// its values can be told from wrong ones. Each plugin's own dequantiser is tested beside the plugin.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/support/golden_case.h"

namespace motley::test {
namespace {

TEST(GoldenDequant, EveryWeightFormatOfTheTableIsThere) {
  const auto formats = GoldenDequantFormats();
  ASSERT_TRUE(formats.ok()) << formats.status().ToString();
  for (const FormatInfo& info : AllFormats()) {
    const bool plain = info.name == "F32" || info.name == "F64" || info.name[0] == 'U' ||
                       (info.name[0] == 'I' && info.name[1] != 'Q');
    EXPECT_EQ(std::count(formats->begin(), formats->end(), info.format), plain ? 0 : 1) << info.name;
  }
}

TEST(GoldenDequant, BlocksAreThosePythonMade) {
  const auto formats = GoldenDequantFormats();
  ASSERT_TRUE(formats.ok());
  for (Format format : *formats) {
    const auto golden = LoadGoldenDequant(format);  // compares the checksum
    ASSERT_TRUE(golden.ok()) << golden.status().ToString();
    EXPECT_EQ(golden->n_elems, 131072) << FormatName(format);
    EXPECT_EQ(golden->first.size(), 2048u) << FormatName(format);
  }
}

// bf16 is simple enough to expand here.
std::vector<float> Bf16Values(const GoldenDequant& golden) {
  std::vector<float> values(golden.n_elems);
  for (int64_t i = 0; i < golden.n_elems; ++i) {
    const uint32_t bits = uint32_t{golden.blocks[2 * i]} << 16 | uint32_t{golden.blocks[2 * i + 1]} << 24;
    std::memcpy(&values[i], &bits, 4);
  }
  return values;
}

TEST(GoldenDequant, CheckAcceptsTheRightValuesAndNoOthers) {
  const auto golden = LoadGoldenDequant(Format::kBF16);
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  const std::vector<float> values = Bf16Values(*golden);
  EXPECT_TRUE(CheckDequant(*golden, values).ok()) << CheckDequant(*golden, values).ToString();

  std::vector<float> wrong = values;
  wrong[5] = std::nextafter(wrong[5], 1e30f);
  EXPECT_NE(CheckDequant(*golden, wrong).message().find("element 5"), std::string::npos);
  wrong = values;
  wrong.back() = -wrong.back();  // behind the committed values
  EXPECT_NE(CheckDequant(*golden, wrong).message().find("checksum"), std::string::npos);
  wrong.pop_back();
  EXPECT_EQ(CheckDequant(*golden, wrong).code(), Code::kInvalidArgument);
}

TEST(GoldenDequant, AFormatWithoutValuesIsNamed) {
  const auto golden = LoadGoldenDequant(Format::kI32);
  EXPECT_EQ(golden.status().code(), Code::kNotFound);
  EXPECT_NE(golden.status().message().find("I32"), std::string::npos);
}

}  // namespace
}  // namespace motley::test
