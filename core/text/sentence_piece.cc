#include "core/text/sentence_piece.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "core/text/utf8.h"

namespace motley {

void AppendWithSpaces(std::string_view text, std::string* out) {
  for (size_t at; (at = text.find(kSpaceMark)) != std::string_view::npos;) {
    out->append(text.substr(0, at));
    out->push_back(' ');
    text.remove_prefix(at + kSpaceMark.size());
  }
  out->append(text);
}

// A stretch of the word, which began as one character. One that was merged into its left neighbour has size
// 0.
struct SentencePieceEncoder::Symbol {
  uint32_t begin, size;     // bytes
  uint32_t previous, next;  // indices; none before the first: UINT32_MAX, behind the last: their count
  int32_t id;               // of the piece; kNone: not looked up
};

// Two neighbours that are a piece together. It is stale when they no longer cover `size` bytes.
struct SentencePieceEncoder::Candidate {
  float score;
  uint32_t left, size;
  int32_t id;
  bool operator<(const Candidate& other) const {  // the heap gives the greatest first
    return score != other.score ? score < other.score : left > other.left;
  }
};

struct SentencePieceEncoder::Work {
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::unordered_map<int32_t, uint32_t>
      unused_split;              // bytes of the left part of which an unused piece was made
  size_t unknown_at = SIZE_MAX;  // ids->size() behind an unknown token, for the next one to join it
};

SentencePieceEncoder::SentencePieceEncoder(const Options& options, size_t pieces) : options_(options) {
  byte_id_.fill(kNone);
  pieces_.Reserve(pieces);
  score_.resize(pieces, 0);
  unused_.resize(pieces, false);
}

bool SentencePieceEncoder::AddPiece(std::string_view text, int32_t id, float score, bool unused) {
  if (pieces_.Insert(text, id) != StringMap::kNone) return false;
  score_[static_cast<size_t>(id)] = score;
  unused_[static_cast<size_t>(id)] = unused;
  any_unused_ = any_unused_ || unused;
  longest_bytes_ = std::max(longest_bytes_, text.size());
  space_begins_ = space_begins_ || text.front() == ' ';
  const size_t word = text.find_first_not_of(' ');
  space_inside_ =
      space_inside_ || (word != std::string_view::npos && text.find(' ', word) != std::string_view::npos);
  return true;
}

bool SentencePieceEncoder::HasAllBytes() const {
  return std::find(byte_id_.begin(), byte_id_.end(), kNone) == byte_id_.end();
}

Status SentencePieceEncoder::Encode(std::string_view text, std::vector<int32_t>* ids) const {
  const std::string normal = Normalise(text);
  Work work;
  for (size_t begin = 0; begin < normal.size();) {
    // No piece goes on from a word over the space behind it, so that words can be merged one by one.
    size_t end = normal.size();
    if (!space_inside_) {
      end = normal.find_first_not_of(' ', begin);
      end = std::min(normal.find(' ', std::min(end, normal.size())), normal.size());
    }
    MOTLEY_RETURN_IF_ERROR(EncodeWord(std::string_view(normal).substr(begin, end - begin), &work, ids));
    begin = end;
  }
  return OkStatus();
}

std::string SentencePieceEncoder::Normalise(std::string_view text) const {
  const auto is_space = [](char c) { return c == ' '; };
  std::string kept;
  if (options_.remove_extra_whitespaces) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::unique_copy(text.begin(), text.end(), std::back_inserter(kept),
                     [&](char a, char b) { return is_space(a) && is_space(b); });
    text = kept;
  }
  std::string normal;
  if (text.empty()) return normal;
  normal.reserve(text.size() + 1);
  if (AddsSpacePrefix()) normal.push_back(' ');
  AppendWithSpaces(text, &normal);
  if (options_.remove_extra_whitespaces) normal.resize(normal.find_last_not_of(' ') + 1);
  return normal;
}

Status SentencePieceEncoder::EncodeWord(std::string_view word, Work* work, std::vector<int32_t>* ids) const {
  std::vector<Symbol>& symbols = work->symbols;
  std::vector<Candidate>& heap = work->heap;
  symbols.clear();
  heap.clear();
  if (any_unused_) work->unused_split.clear();
  for (size_t at = 0; at < word.size();) {
    const auto index = static_cast<uint32_t>(symbols.size());
    const auto size = static_cast<uint32_t>(NextUtf8(word.substr(at)).size);
    symbols.push_back({static_cast<uint32_t>(at), size, index - 1, index + 1, kNone});
    at += size;
  }
  const auto count = static_cast<uint32_t>(symbols.size());
  for (uint32_t i = 0; i + 1 < count; ++i) Propose(word, i, work);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate best = heap.back();
    heap.pop_back();
    Symbol& left = symbols[best.left];
    if (left.size == 0 || left.next >= count || left.size + symbols[left.next].size != best.size) continue;
    symbols[left.next].size = 0;
    left.size = best.size;
    left.id = best.id;
    left.next = symbols[left.next].next;
    if (left.next < count) symbols[left.next].previous = best.left;
    if (left.previous < count) Propose(word, left.previous, work);
    Propose(word, best.left, work);
  }
  for (uint32_t i = 0; i < count; i = symbols[i].next) {
    const std::string_view piece = word.substr(symbols[i].begin, symbols[i].size);
    const int32_t id = symbols[i].id != kNone ? symbols[i].id : pieces_.Find(piece);
    if (id == kNone) {
      MOTLEY_RETURN_IF_ERROR(AppendBytes(piece, work, ids));
    } else if (unused_[static_cast<size_t>(id)]) {
      MOTLEY_RETURN_IF_ERROR(TakeApart(piece, work, ids));
    } else {
      ids->push_back(id);
    }
  }
  return OkStatus();
}

void SentencePieceEncoder::Propose(std::string_view word, uint32_t left, Work* work) const {
  const Symbol& symbol = work->symbols[left];
  if (symbol.next >= work->symbols.size()) return;
  const uint32_t size = symbol.size + work->symbols[symbol.next].size;
  if (size > longest_bytes_) return;
  const int32_t id = pieces_.Find(word.substr(symbol.begin, size));
  if (id == kNone) return;
  if (any_unused_ && unused_[static_cast<size_t>(id)]) work->unused_split[id] = symbol.size;
  work->heap.push_back({score_[static_cast<size_t>(id)], left, size, id});
  std::push_heap(work->heap.begin(), work->heap.end());
}

// By the splits of which the piece and its parts were made last in this word.
Status SentencePieceEncoder::TakeApart(std::string_view piece, Work* work, std::vector<int32_t>* ids) const {
  std::vector<std::string_view> rest = {piece};
  while (!rest.empty()) {
    const std::string_view part = rest.back();
    rest.pop_back();
    const int32_t id = pieces_.Find(part);
    if (id == kNone) {
      MOTLEY_RETURN_IF_ERROR(AppendBytes(part, work, ids));
      continue;
    }
    const auto split = work->unused_split.find(id);
    if (!unused_[static_cast<size_t>(id)] || split == work->unused_split.end()) {
      ids->push_back(id);
      continue;
    }
    rest.push_back(part.substr(split->second));
    rest.push_back(part.substr(0, split->second));
  }
  return OkStatus();
}

Status SentencePieceEncoder::AppendBytes(std::string_view character, Work* work,
                                         std::vector<int32_t>* ids) const {
  const auto has_no_token = [&](char c) { return byte_id_[static_cast<uint8_t>(c)] == kNone; };
  const auto missing = std::find_if(character.begin(), character.end(), has_no_token);
  if (missing == character.end()) {
    for (const char c : character) ids->push_back(byte_id_[static_cast<uint8_t>(c)]);
    return OkStatus();
  }
  if (unknown_id_ == kNone) return NoTokenForByteError(*missing);
  if (ids->size() != work->unknown_at) ids->push_back(unknown_id_);
  work->unknown_at = ids->size();
  return OkStatus();
}

}  // namespace motley
