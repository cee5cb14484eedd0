// PrefixCache: the KV pages of sequences that have ended, for those to come that begin alike.
//
// Pages stay in it as long as nobody needs them: TakePage gives up the oldest sequence's first. A page that
// is full may have several owners, as nobody writes it any more; one that is filled in part goes to one owner
// alone. Without a device: the pages' bytes are where they were written. One thread.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "core/sched/page_pool.h"

namespace motley {

class PrefixCache {
 public:
  // `pool` must outlive this.
  PrefixCache(PagePool* pool, int64_t page_tokens) : pool_(pool), page_tokens_(page_tokens) {}

  // Takes over a sequence's pages, which hold the keys and values of `tokens`, all of them of one owner or
  // full.
  void Keep(std::vector<int32_t> tokens, std::vector<int32_t> pages);

  // The longest beginning of `tokens` that is kept. Its pages are the caller's, to give back to the pool. The
  // kept sequence leaves where it is mostly this beginning; else it stays, and the caller has its full pages
  // besides.
  struct Prefix {
    int64_t tokens = 0;
    std::vector<int32_t> pages;
  };
  Prefix Take(std::span<const int32_t> tokens);

  // A page of the pool, or -1: then nothing is kept any more either.
  int32_t TakePage();

  void Clear();
  size_t size() const { return kept_.size(); }  // sequences

 private:
  struct Kept {
    std::vector<int32_t> tokens;
    std::vector<int32_t> pages;
  };
  void Drop(std::list<Kept>::iterator kept);

  PagePool* pool_;
  int64_t page_tokens_;
  std::list<Kept> kept_;  // the oldest first
};

}  // namespace motley
