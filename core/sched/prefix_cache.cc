#include "core/sched/prefix_cache.h"

#include <algorithm>
#include <utility>

namespace motley {

void PrefixCache::Keep(std::vector<int32_t> tokens, std::vector<int32_t> pages) {
  const auto used =
      static_cast<size_t>((static_cast<int64_t>(tokens.size()) + page_tokens_ - 1) / page_tokens_);
  while (pages.size() > used) {
    pool_->Give(pages.back());
    pages.pop_back();
  }
  if (!pages.empty()) kept_.push_back({std::move(tokens), std::move(pages)});
}

PrefixCache::Prefix PrefixCache::Take(std::span<const int32_t> tokens) {
  auto best = kept_.end();
  int64_t common = 0;
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    const size_t most = std::min(tokens.size(), kept->tokens.size());
    const auto differs =
        std::mismatch(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(most), kept->tokens.begin());
    const int64_t same = differs.first - tokens.begin();
    if (same < common || same == 0) continue;  // of equals, the youngest
    common = same;
    best = kept;
  }
  Prefix prefix;
  if (best == kept_.end()) return prefix;
  const auto full = static_cast<size_t>(common / page_tokens_);
  prefix.tokens = static_cast<int64_t>(full) * page_tokens_;
  prefix.pages.assign(best->pages.begin(), best->pages.begin() + static_cast<ptrdiff_t>(full));
  for (const int32_t page : prefix.pages) pool_->Share(page);
  if (common * 2 < static_cast<int64_t>(best->tokens.size())) return prefix;
  // What is left of it is of little use: its page that is filled in part can go on in one hand.
  if (prefix.tokens < common && !pool_->IsShared(best->pages[full])) {
    pool_->Share(best->pages[full]);
    prefix.pages.push_back(best->pages[full]);
    prefix.tokens = common;
  }
  Drop(best);
  return prefix;
}

int32_t PrefixCache::TakePage() {
  for (;;) {
    const int32_t page = pool_->Take();
    if (page >= 0 || kept_.empty()) return page;
    Drop(kept_.begin());
  }
}

void PrefixCache::Clear() {
  while (!kept_.empty()) Drop(kept_.begin());
}

void PrefixCache::Drop(std::list<Kept>::iterator kept) {
  for (const int32_t page : kept->pages) pool_->Give(page);
  kept_.erase(kept);
}

}  // namespace motley
