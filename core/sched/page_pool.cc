#include "core/sched/page_pool.h"

#include <cstddef>

#include <cassert>

namespace motley {

PagePool::PagePool(int64_t pages) : total_(pages), owners_(static_cast<size_t>(pages), 0) {
  free_.reserve(static_cast<size_t>(pages));
  for (int64_t page = pages - 1; page >= 0; --page) free_.push_back(static_cast<int32_t>(page));
}

int32_t PagePool::Take() {
  if (free_.empty()) return -1;
  const int32_t page = free_.back();
  free_.pop_back();
  owners_[static_cast<size_t>(page)] = 1;
  return page;
}

void PagePool::Share(int32_t page) {
  assert(page >= 0 && page < total_ && owners_[static_cast<size_t>(page)] > 0);
  ++owners_[static_cast<size_t>(page)];
}

void PagePool::Give(int32_t page) {
  assert(page >= 0 && page < total_ && owners_[static_cast<size_t>(page)] > 0);
  if (--owners_[static_cast<size_t>(page)] > 0) return;
  free_.push_back(page);  // within the capacity reserved at the start
}

}  // namespace motley
