#include "core/text/flat_map.h"

#include <cstring>
#include <utility>

namespace motley {
namespace {

// Room for n entries at a load of at most one half, as a power of two.
size_t Capacity(size_t n) {
  size_t capacity = 16;
  while (capacity < 2 * n) capacity *= 2;
  return capacity;
}

}  // namespace

void PairMap::Reserve(size_t n) {
  const size_t capacity = Capacity(n);
  if (capacity <= slots_.size()) return;
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(capacity));
  mask_ = capacity - 1;
  size_ = 0;
  for (const Slot& slot : old) {
    if (slot.key != kEmpty) Insert(slot.key, slot.value);
  }
}

bool PairMap::Insert(uint64_t key, Value value) {
  Reserve(size_ + 1);
  for (size_t i = Home(key);; i = (i + 1) & mask_) {
    if (slots_[i].key == key) return false;
    if (slots_[i].key != kEmpty) continue;
    slots_[i] = {key, value};
    ++size_;
    return true;
  }
}

void StringMap::Reserve(size_t n) {
  const size_t capacity = Capacity(n);
  if (capacity <= slots_.size()) return;
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(capacity));
  mask_ = capacity - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNone) continue;
    size_t i = slot.hash & mask_;
    while (slots_[i].id != kNone) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
}

int32_t StringMap::Insert(std::string_view key, int32_t id) {
  Reserve(size_ + 1);
  const uint32_t hash = static_cast<uint32_t>(Hash(key) >> 32);
  for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
    Slot& slot = slots_[i];
    if (slot.id == kNone) {
      slot = {key, hash, id};
      ++size_;
      return kNone;
    }
    if (slot.hash == hash && slot.key == key) return slot.id;
  }
}

int32_t StringMap::Find(std::string_view key) const {
  if (slots_.empty()) return kNone;
  const uint32_t hash = static_cast<uint32_t>(Hash(key) >> 32);
  for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
    const Slot& slot = slots_[i];
    if (slot.id == kNone) return kNone;
    if (slot.hash == hash && slot.key == key) return slot.id;
  }
}

// Eight bytes a step, multiplied and folded: token texts are short, so the tail matters as much as the loop.
uint64_t StringMap::Hash(std::string_view key) {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
  uint64_t hash = key.size() * kMultiplier;
  size_t i = 0;
  for (; i + 8 <= key.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, key.data() + i, 8);
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 29;
  }
  uint64_t tail = 0;
  if (i < key.size()) std::memcpy(&tail, key.data() + i, key.size() - i);
  hash = (hash ^ tail) * kMultiplier;
  hash ^= hash >> 32;
  return hash * kMultiplier;
}

}  // namespace motley
