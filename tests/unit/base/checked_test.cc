#include "core/base/checked.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(Checked, AddsUpToTheLastValueAndNoFurther) {
  uint64_t out = 7;
  EXPECT_TRUE(CheckedAdd(UINT64_MAX - 1, 1, &out));
  EXPECT_EQ(out, UINT64_MAX);
  out = 7;
  EXPECT_FALSE(CheckedAdd(UINT64_MAX, 1, &out));
  EXPECT_EQ(out, 7u) << "the result of an overflow must be left alone";
}

TEST(Checked, MultipliesUpToTheLastValueAndNoFurther) {
  uint64_t out = 7;
  EXPECT_TRUE(CheckedMul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1, &out));
  EXPECT_EQ(out, 0xffffffff00000000u);
  EXPECT_TRUE(CheckedMul(0, UINT64_MAX, &out));
  EXPECT_EQ(out, 0u);
  out = 7;
  EXPECT_FALSE(CheckedMul(uint64_t{1} << 32, uint64_t{1} << 32, &out));
  EXPECT_EQ(out, 7u);
}

TEST(Checked, AlignsUpwards) {
  uint64_t out = 0;
  EXPECT_TRUE(CheckedAlignUp(0, 32, &out));
  EXPECT_EQ(out, 0u);
  EXPECT_TRUE(CheckedAlignUp(1, 32, &out));
  EXPECT_EQ(out, 32u);
  EXPECT_TRUE(CheckedAlignUp(32, 32, &out));
  EXPECT_EQ(out, 32u);
  EXPECT_TRUE(CheckedAlignUp(33, 1, &out));
  EXPECT_EQ(out, 33u);
  EXPECT_TRUE(CheckedAlignUp(UINT64_MAX - 31, 32, &out));
  EXPECT_EQ(out, UINT64_MAX - 31);
  EXPECT_FALSE(CheckedAlignUp(UINT64_MAX - 30, 32, &out));
}

}  // namespace
}  // namespace motley
