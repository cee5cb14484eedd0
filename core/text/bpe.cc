#include "core/text/bpe.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace motley {
namespace {

constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();
// Up to here a scan over an array on the stack beats a heap. Words of real text are far shorter.
constexpr size_t kShortWord = 64;

uint64_t Key(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

}  // namespace

bool BpeMerger::AddMerge(int32_t left, int32_t right, uint32_t rank, int32_t merged) {
  return merges_.Insert(Key(left, right), {rank, merged});
}

BpeMerger::Merge BpeMerger::FindMerge(int32_t left, int32_t right) const {
  const PairMap::Value* found = merges_.Find(Key(left, right));
  if (found == nullptr) return {kNoRank, kNone};
  return {found->rank, found->id};
}

void BpeMerger::Encode(std::string_view word, std::vector<int32_t>* ids) const {
  if (!words_.empty()) {
    const int32_t whole = words_.Find(word);
    if (whole != StringMap::kNone) {
      ids->push_back(whole);
      return;
    }
  }
  const size_t begin = ids->size();
  for (const char c : word) {
    for (const int32_t id : byte_id_[static_cast<uint8_t>(c)]) {
      if (id != kNone) ids->push_back(id);
    }
  }
  size_t n = ids->size() - begin;
  if (n < 2) return;
  if (n > kShortWord) return MergeLong(ids, begin);
  MergeShort(ids->data() + begin, &n);
  ids->resize(begin + n);
}

// Merges the best pair, leftmost first, until there is none. `at[i]` is the merge of ids[i] and ids[i + 1].
void BpeMerger::MergeShort(int32_t* ids, size_t* n) const {
  Merge at[kShortWord];
  size_t count = *n;
  for (size_t i = 0; i + 1 < count; ++i) at[i] = FindMerge(ids[i], ids[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (at[i].rank < at[best].rank) best = i;
    }
    if (at[best].rank == kNoRank) break;
    ids[best] = at[best].merged;
    std::copy(ids + best + 2, ids + count, ids + best + 1);
    std::copy(at + best + 1, at + count - 1, at + best);
    --count;
    if (best + 1 < count) at[best] = FindMerge(ids[best], ids[best + 1]);
    if (best > 0) at[best - 1] = FindMerge(ids[best - 1], ids[best]);
  }
  *n = count;
}

// The same with a linked list and a heap. A heap entry is stale, and skipped, when the ids it was made for
// are no longer side by side.
void BpeMerger::MergeLong(std::vector<int32_t>* ids, size_t begin) const {
  struct Node { int32_t id; uint32_t previous, next; };
  struct Candidate {
    uint32_t rank, position;
    int32_t left, right, merged;
    bool operator<(const Candidate& other) const {  // the heap gives the greatest first
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  const uint32_t n = static_cast<uint32_t>(ids->size() - begin);
  std::vector<Node> nodes(n);
  for (uint32_t i = 0; i < n; ++i) nodes[i] = {(*ids)[begin + i], i - 1, i + 1};

  std::vector<Candidate> made;
  const auto candidate = [&](uint32_t position, std::vector<Candidate>* out) {
    const int32_t left = nodes[position].id;
    const int32_t right = nodes[nodes[position].next].id;
    const Merge merge = FindMerge(left, right);
    if (merge.rank != kNoRank) out->push_back({merge.rank, position, left, right, merge.merged});
  };
  for (uint32_t i = 0; i + 1 < n; ++i) candidate(i, &made);
  std::priority_queue<Candidate> heap(std::less<Candidate>(), std::move(made));

  std::vector<Candidate> fresh;
  while (!heap.empty()) {
    const Candidate best = heap.top();
    heap.pop();
    Node& node = nodes[best.position];
    if (node.id != best.left || node.next >= n || nodes[node.next].id != best.right) continue;
    nodes[node.next].id = kNone;
    node.id = best.merged;
    node.next = nodes[node.next].next;
    if (node.next < n) nodes[node.next].previous = best.position;
    fresh.clear();
    if (node.next < n) candidate(best.position, &fresh);
    if (best.position > 0) candidate(node.previous, &fresh);
    for (const Candidate& c : fresh) heap.push(c);
  }

  ids->resize(begin);
  for (uint32_t i = 0; i < n; i = nodes[i].next) ids->push_back(nodes[i].id);
}

}  // namespace motley
