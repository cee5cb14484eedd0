// PagePool: who owns which page of the KV caches. The core owns the tables, plugins only the bytes; page ids are the
// same on every device and in every layer. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace motley {

class PagePool {
 public:
  explicit PagePool(int64_t pages);

  // A page that nobody owns, or -1. Its one owner may write it.
  int32_t Take();
  // One more owner; from now on nobody writes it.
  void Share(int32_t page);
  bool IsShared(int32_t page) const { return owners_[static_cast<size_t>(page)] > 1; }
  // An owner less; without one the page is free.
  void Give(int32_t page);

  int64_t free_pages() const { return static_cast<int64_t>(free_.size()); }
  int64_t total_pages() const { return total_; }

 private:
  int64_t total_;
  std::vector<int32_t> free_;
  std::vector<uint32_t> owners_;  // a page
};

}  // namespace motley
