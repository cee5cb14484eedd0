#include "core/base/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace motley {
namespace {

TEST(EditDistance, CountsEditsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("placemnet", "placement"), 1u);  // neighbours swapped
  EXPECT_EQ(EditDistance("plcement", "placement"), 1u);
  EXPECT_EQ(EditDistance("CONTEXT", "context"), 0u);
}

TEST(EditDistance, IsBoundedOnHugeNames) {
  EXPECT_LE(EditDistance(std::string(1 << 20, 'a'), std::string(1 << 20, 'b')), 256u);
}

TEST(Suggest, NearNamesAreFoundAndFarOnesAreNot) {
  const std::vector<std::string> names = {"model", "kv", "plugins", "placement"};
  EXPECT_EQ(NearestName("plcement", names), "placement");
  EXPECT_EQ(NearestName("modle", names), "model");
  EXPECT_EQ(NearestName("KV", names), "kv");
  EXPECT_EQ(NearestName("sampling", names), "");
  EXPECT_EQ(NearestName("", names), "");
  EXPECT_EQ(NearestName("x", {}), "");
  EXPECT_EQ(DidYouMean("pluggins", names), "; did you mean \"plugins\"?");
  EXPECT_EQ(DidYouMean("zzzzzz", names), "");
}

TEST(Suggest, ListsAreCut) {
  const std::vector<std::string> names = {"a", "b", "c"};
  EXPECT_EQ(ListNames(names), "a, b, c");
  EXPECT_EQ(ListNames(names, 2), "a, b and 1 more");
}

}  // namespace
}  // namespace motley
