#include "core/text/flat_map.h"

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(PairMap, HoldsWhatTheStandardMapHolds) {
  std::mt19937_64 random(5);
  PairMap map;
  std::map<uint64_t, uint32_t> expected;
  for (uint32_t i = 0; i < 50000; ++i) {
    const uint64_t key = (random() % 200) << 32 | random() % 200;
    EXPECT_EQ(map.Insert(key, {i, 1}), expected.emplace(key, i).second);
  }
  EXPECT_EQ(map.size(), expected.size());
  for (uint64_t left = 0; left < 210; ++left) {
    for (uint64_t right = 0; right < 210; ++right) {
      const auto it = expected.find(left << 32 | right);
      const PairMap::Value* found = map.Find(left << 32 | right);
      ASSERT_EQ(found != nullptr, it != expected.end());
      if (found != nullptr) { ASSERT_EQ(found->rank, it->second); }
    }
  }
  EXPECT_EQ(PairMap().Find(0), nullptr);
}

TEST(StringMap, HoldsWhatTheStandardMapHolds) {
  std::mt19937 random(6);
  StringMap map;
  std::map<std::string, int32_t> expected;
  for (int32_t i = 0; i < 20000; ++i) {
    std::string key;
    for (size_t n = random() % 20; n > 0; --n) key += static_cast<char>('a' + random() % 3);
    const auto [it, fresh] = expected.emplace(key, i);
    // The map keeps no copy: give it one that lives.
    EXPECT_EQ(map.Insert(it->first, i), fresh ? StringMap::kNone : it->second);
  }
  EXPECT_EQ(map.size(), expected.size());
  for (const auto& [key, id] : expected) {
    ASSERT_EQ(map.Find(key), id);
    ASSERT_EQ(map.Find(key + "z"), StringMap::kNone);
  }
  EXPECT_EQ(StringMap().Find("a"), StringMap::kNone);
}

}  // namespace
}  // namespace motley
