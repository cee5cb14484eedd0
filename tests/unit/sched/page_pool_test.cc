#include "core/sched/page_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace motley {
namespace {

TEST(PagePool, ASharedPageIsFreeWhenItsLastOwnerGivesIt) {
  PagePool pool(2);
  const int32_t page = pool.Take();
  EXPECT_FALSE(pool.IsShared(page));
  pool.Share(page);
  EXPECT_TRUE(pool.IsShared(page));
  pool.Give(page);
  EXPECT_FALSE(pool.IsShared(page));
  EXPECT_EQ(pool.free_pages(), 1);
  pool.Give(page);
  EXPECT_EQ(pool.free_pages(), 2);
}

TEST(PagePool, GivesEachPageToOneOwner) {
  PagePool pool(3);
  const std::set<int32_t> taken = {pool.Take(), pool.Take(), pool.Take()};
  EXPECT_EQ(taken, (std::set<int32_t>{0, 1, 2}));
  EXPECT_EQ(pool.Take(), -1);
  pool.Give(1);
  EXPECT_EQ(pool.free_pages(), 1);
  EXPECT_EQ(pool.Take(), 1);
}

}  // namespace
}  // namespace motley
