// BpeMerger: the bytes of one word to token ids, by ranked merges.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/text/flat_map.h"

namespace motley {

class BpeMerger {
 public:
  static constexpr int32_t kNone = -1;

  BpeMerger() { byte_id_.fill({kNone, kNone, kNone}); }

  // The ids a byte becomes before any merge: usually one. Unused places are kNone.
  void SetByte(uint8_t byte, std::array<int32_t, 3> ids) { byte_id_[byte] = ids; }
  const std::array<int32_t, 3>& ByteIds(uint8_t byte) const { return byte_id_[byte]; }

  void ReserveMerges(size_t n) { merges_.Reserve(n); }
  // `left` beside `right` may become `merged`; a lower rank goes first. False: the pair has a merge already.
  bool AddMerge(int32_t left, int32_t right, uint32_t rank, int32_t merged);

  // Words that are taken whole when ignore_merges asks for it. `word` is not copied.
  void ReserveWords(size_t n) { words_.Reserve(n); }
  void AddWord(std::string_view word, int32_t id) { words_.Insert(word, id); }

  // Appends the ids of `word`. Time O(n log n), whatever the word.
  void Encode(std::string_view word, std::vector<int32_t>* ids) const;

 private:
  struct Merge { uint32_t rank; int32_t merged; };
  Merge FindMerge(int32_t left, int32_t right) const;
  void MergeShort(int32_t* ids, size_t* n) const;
  void MergeLong(std::vector<int32_t>* ids, size_t begin) const;

  std::array<std::array<int32_t, 3>, 256> byte_id_;
  PairMap merges_;   // (left, right) -> (rank, merged)
  StringMap words_;  // empty unless ignore_merges
};

}  // namespace motley
