// Two hash maps for vocabularies: open addressing, one allocation, no erase. Half a million entries are
// made in some tens of milliseconds, which the standard map's nodes do not manage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace motley {

// A pair of token ids to (rank, id).
class PairMap {
 public:
  struct Value { uint32_t rank; int32_t id; };

  void Reserve(size_t n);
  // False: the key is there already, with another value or the same.
  bool Insert(uint64_t key, Value value);
  // Null: not there.
  const Value* Find(uint64_t key) const {
    if (slots_.empty()) return nullptr;
    for (size_t i = Home(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (slots_[i].key == kEmpty) return nullptr;
    }
  }
  size_t size() const { return size_; }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};  // no pair of ids: both would be -1
  struct Slot { uint64_t key = kEmpty; Value value{}; };

  size_t Home(uint64_t key) const {
    key ^= key >> 32;
    key *= 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(key >> 32) & mask_;
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0, size_ = 0;
};

// A string to an id >= 0. The strings are not copied.
class StringMap {
 public:
  static constexpr int32_t kNone = -1;

  void Reserve(size_t n);
  // The id that `key` had already, which stays; kNone: it was new.
  int32_t Insert(std::string_view key, int32_t id);
  int32_t Find(std::string_view key) const;
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Slot { std::string_view key; uint32_t hash = 0; int32_t id = kNone; };
  static uint64_t Hash(std::string_view key);

  std::vector<Slot> slots_;
  size_t mask_ = 0, size_ = 0;
};

}  // namespace motley
