#include "core/sched/prefix_cache.h"

#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace motley {
namespace {

std::vector<int32_t> Tokens(int32_t first, size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<int32_t> TakePages(PagePool* pool, size_t count) {
  std::vector<int32_t> pages;
  for (size_t i = 0; i < count; ++i) pages.push_back(pool->Take());
  return pages;
}

TEST(PrefixCache, AContinuationGetsAllPagesAndTheKeptOneLeaves) {
  PagePool pool(4);
  PrefixCache cache(&pool, 4);
  const std::vector<int32_t> pages = TakePages(&pool, 3);
  cache.Keep(Tokens(0, 10), pages);
  EXPECT_EQ(pool.free_pages(), 1);
  const PrefixCache::Prefix prefix = cache.Take(Tokens(0, 30));
  EXPECT_EQ(prefix.tokens, 10);
  EXPECT_EQ(prefix.pages, pages);
  EXPECT_EQ(cache.size(), 0u);
  for (const int32_t page : pages) EXPECT_FALSE(pool.IsShared(page));
  for (const int32_t page : prefix.pages) pool.Give(page);
  EXPECT_EQ(pool.free_pages(), 4);
}

TEST(PrefixCache, ATailThatDiffersIsGivenBack) {
  PagePool pool(4);
  PrefixCache cache(&pool, 4);
  const std::vector<int32_t> pages = TakePages(&pool, 4);
  cache.Keep(Tokens(0, 14), pages);
  std::vector<int32_t> other = Tokens(0, 9);
  other.push_back(99);
  const PrefixCache::Prefix prefix = cache.Take(other);
  EXPECT_EQ(prefix.tokens, 9);
  EXPECT_EQ(prefix.pages, (std::vector<int32_t>{pages[0], pages[1], pages[2]}));
  EXPECT_EQ(pool.free_pages(), 1);
}

TEST(PrefixCache, AShortCommonBeginningIsSharedByFullPages) {
  PagePool pool(8);
  PrefixCache cache(&pool, 4);
  const std::vector<int32_t> pages = TakePages(&pool, 5);
  cache.Keep(Tokens(0, 20), pages);
  std::vector<int32_t> other = Tokens(0, 9);
  other.push_back(99);
  const PrefixCache::Prefix prefix = cache.Take(other);
  EXPECT_EQ(prefix.tokens, 8);
  EXPECT_EQ(prefix.pages, (std::vector<int32_t>{pages[0], pages[1]}));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_TRUE(pool.IsShared(pages[0]) && pool.IsShared(pages[1]));
  // The kept one's own continuation takes it, and may not write into a page that the other still has.
  const PrefixCache::Prefix own = cache.Take(Tokens(0, 40));
  EXPECT_EQ(own.tokens, 20);
  for (const int32_t page : own.pages) pool.Give(page);
  EXPECT_EQ(pool.free_pages(), 6);
  for (const int32_t page : prefix.pages) pool.Give(page);
  EXPECT_EQ(pool.free_pages(), 8);
}

TEST(PrefixCache, ASharedPageIsNotGoneOnIn) {
  PagePool pool(8);
  PrefixCache cache(&pool, 4);
  const std::vector<int32_t> pages = TakePages(&pool, 5);
  cache.Keep(Tokens(0, 20), pages);
  std::vector<int32_t> other = Tokens(0, 8);
  other.insert(other.end(), {98, 99});
  PrefixCache::Prefix prefix = cache.Take(other);
  ASSERT_EQ(prefix.tokens, 8);
  prefix.pages.push_back(pool.Take());
  cache.Keep(other, prefix.pages);
  // Mostly the other one, but cut inside of a page that the first has too.
  const PrefixCache::Prefix cut = cache.Take(Tokens(0, 6));
  EXPECT_EQ(cut.tokens, 4);
  EXPECT_EQ(cut.pages, (std::vector<int32_t>{pages[0]}));
  EXPECT_EQ(cache.Take(Tokens(0, 20)).tokens, 20);
}

TEST(PrefixCache, NothingInCommonIsNothing) {
  PagePool pool(2);
  PrefixCache cache(&pool, 4);
  EXPECT_EQ(cache.Take(Tokens(0, 3)).tokens, 0);
  cache.Keep(Tokens(0, 3), TakePages(&pool, 1));
  EXPECT_EQ(cache.Take(Tokens(1, 3)).tokens, 0);
  EXPECT_EQ(cache.Take({}).tokens, 0);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(PrefixCache, TheLongestBeginningWins) {
  PagePool pool(4);
  PrefixCache cache(&pool, 4);
  cache.Keep(Tokens(0, 6), TakePages(&pool, 2));
  cache.Keep(Tokens(0, 3), TakePages(&pool, 1));
  EXPECT_EQ(cache.Take(Tokens(0, 20)).tokens, 6);
}

TEST(PrefixCache, TheOldestGivesWayToWhoNeedsPages) {
  PagePool pool(3);
  PrefixCache cache(&pool, 4);
  cache.Keep(Tokens(0, 4), TakePages(&pool, 1));
  cache.Keep(Tokens(100, 8), TakePages(&pool, 2));
  EXPECT_EQ(pool.free_pages(), 0);
  EXPECT_GE(cache.TakePage(), 0);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_GE(cache.TakePage(), 0);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_GE(cache.TakePage(), 0);
  EXPECT_EQ(cache.TakePage(), -1);
}

TEST(PrefixCache, PagesBehindTheTokensAreFreeAtOnce) {
  PagePool pool(3);
  PrefixCache cache(&pool, 4);
  cache.Keep(Tokens(0, 4), TakePages(&pool, 3));
  EXPECT_EQ(pool.free_pages(), 2);
  cache.Clear();
  EXPECT_EQ(pool.free_pages(), 3);
}

// No page is ever written by one and read by another, and none is lost: sequences come, go on and end at
// random.
TEST(PrefixCache, WhoWritesAPageHasItAlone) {
  constexpr int64_t kPage = 4, kPages = 24;
  std::mt19937 random(3);
  PagePool pool(kPages);
  PrefixCache cache(&pool, kPage);
  std::vector<std::vector<int32_t>> stored(kPages, std::vector<int32_t>(kPage, -1));  // what each cell holds
  int reused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<int32_t> tokens;
    for (size_t n = 1 + random() % 40; n > 0; --n) tokens.push_back(static_cast<int32_t>(random() % 8 == 0));
    PrefixCache::Prefix prefix = cache.Take(tokens);
    reused += prefix.tokens > 0;
    ASSERT_EQ(static_cast<int64_t>(prefix.pages.size()), (prefix.tokens + kPage - 1) / kPage);
    for (int64_t at = prefix.tokens; at < static_cast<int64_t>(tokens.size()); ++at) {
      if (at / kPage == static_cast<int64_t>(prefix.pages.size())) prefix.pages.push_back(cache.TakePage());
      const int32_t page = prefix.pages[static_cast<size_t>(at / kPage)];
      ASSERT_GE(page, 0);
      ASSERT_FALSE(pool.IsShared(page));
      stored[static_cast<size_t>(page)][static_cast<size_t>(at % kPage)] = tokens[static_cast<size_t>(at)];
    }
    for (size_t at = 0; at < tokens.size(); ++at) {
      ASSERT_EQ(stored[static_cast<size_t>(prefix.pages[at / kPage])][at % kPage], tokens[at]) << round;
    }
    if (random() % 4 == 0) {
      for (const int32_t page : prefix.pages) pool.Give(page);
    } else {
      cache.Keep(std::move(tokens), std::move(prefix.pages));
    }
  }
  EXPECT_GT(reused, 2500);
  cache.Clear();
  EXPECT_EQ(pool.free_pages(), kPages);
}

}  // namespace
}  // namespace motley
