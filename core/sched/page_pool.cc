#include "core/sched/page_pool.h"

#include <cstddef>

#include <cassert>

namespace motley {

PagePool::PagePool(int64_t pages) : total_(pages) {
  free_.reserve(static_cast<size_t>(pages));
  for (int64_t page = pages - 1; page >= 0; --page) free_.push_back(static_cast<int32_t>(page));
}

int32_t PagePool::Take() {
  if (free_.empty()) return -1;
  const int32_t page = free_.back();
  free_.pop_back();
  return page;
}

void PagePool::Give(int32_t page) {
  assert(page >= 0 && page < total_ && free_.size() < static_cast<size_t>(total_));
  free_.push_back(page);  // within the capacity reserved at the start
}

}  // namespace motley
