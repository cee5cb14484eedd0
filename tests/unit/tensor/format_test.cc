#include "core/tensor/format.h"

#include <gtest/gtest.h>

#include <set>

namespace motley {
namespace {

// From GGML_QUANT_SIZES of the PyPI package gguf 0.19.0, all that motley knows.
constexpr FormatInfo kGolden[] = {
    {Format::kF32, "F32", 1, 4},           {Format::kF16, "F16", 1, 2},         {Format::kQ4_0, "Q4_0", 32, 18},
    {Format::kQ4_1, "Q4_1", 32, 20},       {Format::kQ5_0, "Q5_0", 32, 22},     {Format::kQ5_1, "Q5_1", 32, 24},
    {Format::kQ8_0, "Q8_0", 32, 34},       {Format::kQ2_K, "Q2_K", 256, 84},    {Format::kQ3_K, "Q3_K", 256, 110},
    {Format::kQ4_K, "Q4_K", 256, 144},     {Format::kQ5_K, "Q5_K", 256, 176},   {Format::kQ6_K, "Q6_K", 256, 210},
    {Format::kIQ2_XXS, "IQ2_XXS", 256, 66}, {Format::kIQ2_XS, "IQ2_XS", 256, 74}, {Format::kIQ3_XXS, "IQ3_XXS", 256, 98},
    {Format::kIQ1_S, "IQ1_S", 256, 50},    {Format::kIQ4_NL, "IQ4_NL", 32, 18}, {Format::kIQ3_S, "IQ3_S", 256, 110},
    {Format::kIQ2_S, "IQ2_S", 256, 82},    {Format::kIQ4_XS, "IQ4_XS", 256, 136}, {Format::kI8, "I8", 1, 1},
    {Format::kI16, "I16", 1, 2},           {Format::kI32, "I32", 1, 4},         {Format::kI64, "I64", 1, 8},
    {Format::kF64, "F64", 1, 8},           {Format::kIQ1_M, "IQ1_M", 256, 56},  {Format::kBF16, "BF16", 1, 2},
    {Format::kMXFP4, "MXFP4", 32, 17},     {Format::kNVFP4, "NVFP4", 64, 36},
};
constexpr uint32_t kGoldenIds[] = {0,  1,  2,  3,  6,  7,  8,  10, 11, 12, 13, 14, 16, 17, 18,
                                   19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 39, 40};

TEST(Format, IdsAndBlocksAreThoseOfTheFileFormat) {
  ASSERT_EQ(std::size(kGolden), std::size(kGoldenIds));
  for (size_t i = 0; i < std::size(kGolden); ++i) {
    const FormatInfo* info = FindFormat(static_cast<Format>(kGoldenIds[i]));
    ASSERT_NE(info, nullptr) << kGoldenIds[i];
    EXPECT_EQ(info->format, kGolden[i].format);
    EXPECT_EQ(info->name, kGolden[i].name);
    EXPECT_EQ(info->block_elems, kGolden[i].block_elems) << info->name;
    EXPECT_EQ(info->block_bytes, kGolden[i].block_bytes) << info->name;
  }
  for (const FormatInfo& info : AllFormats()) {
    const bool golden = std::set<uint32_t>(std::begin(kGoldenIds), std::end(kGoldenIds))
                            .count(static_cast<uint32_t>(info.format)) != 0;
    EXPECT_TRUE(golden || static_cast<uint32_t>(info.format) >= 256) << info.name << " has an id of the file format";
  }
}

TEST(Format, NamesAndIdsAreUniqueAndFindEachOther) {
  std::set<Format> formats;
  for (const FormatInfo& info : AllFormats()) {
    EXPECT_TRUE(formats.insert(info.format).second) << info.name;
    EXPECT_EQ(FormatFromName(info.name), info.format);
    EXPECT_EQ(FormatName(info.format), info.name);
  }
  EXPECT_EQ(FormatFromName("Q4_2"), std::nullopt);
  EXPECT_EQ(FindFormat(static_cast<Format>(4)), nullptr);
  EXPECT_EQ(FormatName(static_cast<Format>(0x80000000u)), "unknown format");
}

TEST(Format, BytesAreWholeBlocksAndNeverWrap) {
  EXPECT_EQ(*FormatBytes(Format::kF32, 3), 12u);
  EXPECT_EQ(*FormatBytes(Format::kQ8_0, 64), 68u);
  EXPECT_EQ(*FormatBytes(Format::kQ6_K, 0), 0u);
  EXPECT_FALSE(FormatBytes(Format::kQ8_0, 33).ok());
  EXPECT_FALSE(FormatBytes(Format::kF32, -1).ok());
  EXPECT_FALSE(FormatBytes(static_cast<Format>(5), 32).ok());
  EXPECT_TRUE(FormatBytes(Format::kF32, (int64_t{1} << 61) - 1).ok());
  EXPECT_FALSE(FormatBytes(Format::kF32, int64_t{1} << 61).ok());
  EXPECT_FALSE(FormatBytes(Format::kF32, int64_t{1} << 62).ok());
  EXPECT_FALSE(FormatBytes(Format::kF64, INT64_MAX).ok());
}

}  // namespace
}  // namespace motley
