#include "core/sched/arena.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(Arena, AddsUpAlignedBytes) {
  Arena arena;
  arena.Add(10, 64);
  arena.Add(0, 64);
  arena.Add(65, 64);
  EXPECT_EQ(arena.bytes(), 64u + 128u);
  EXPECT_EQ(arena.slice(1).bytes, 0u);
  EXPECT_EQ(arena.slice(1).buffer, nullptr);
}

TEST(Arena, AnOverflowStaysTheLargestNumber) {
  Arena arena;
  arena.Add(UINT64_MAX - 8, 64);
  arena.Add(UINT64_MAX - 8, 64);
  EXPECT_EQ(arena.bytes(), UINT64_MAX);
}

}  // namespace
}  // namespace motley
