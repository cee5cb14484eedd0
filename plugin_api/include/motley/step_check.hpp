// Step data out of range, found before a kernel uses it (field failure R03): every plugin checks, in every
// build.
//
// Pointers are host memory. All loops are O(tokens + pages in use); nothing allocates unless something is
// wrong.
#pragma once

#include <motley/plugin.hpp>

#include <cstdint>

namespace motley::plugin {

// index[i] must be in [0, limit): tokens of embed, rows of gather_rows.
inline Fault CheckIndices(const char* what, const int32_t* index, int64_t count, int64_t limit) {
  for (int64_t i = 0; i < count; ++i) {
    if (index[i] < 0 || index[i] >= limit) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%s[%lld] = %d: must be 0..%lld", what, static_cast<long long>(i),
                  index[i], static_cast<long long>(limit - 1));
    }
  }
  return {};
}

// The step data of one attention node.
struct AttentionStep {
  int64_t n_tokens = 0, n_seqs = 0;
  const int32_t* position = nullptr;   // [n_tokens]
  const int32_t* slot = nullptr;       // [n_tokens]: page * page_tokens + offset; -1 = write nothing
  const int32_t* row_start = nullptr;  // [n_seqs + 1]
  const int32_t* kv_len = nullptr;     // [n_seqs]
  const int32_t* seq_row = nullptr;    // [n_seqs]
  const int32_t* pages = nullptr;      // [max_seqs, max_pages]
  int64_t max_seqs = 0, max_pages = 0, kv_pages = 0, page_tokens = 0;
};

inline Fault CheckSequence(const AttentionStep& step, int64_t s) {
  const auto bad = [&](const char* what, int64_t i, int64_t value, int64_t low, int64_t high) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s[%lld] = %lld: must be %lld..%lld", what,
                static_cast<long long>(i), static_cast<long long>(value), static_cast<long long>(low),
                static_cast<long long>(high));
  };
  const int64_t begin = step.row_start[s], end = step.row_start[s + 1];
  if (end < begin || end > step.n_tokens) return bad("row_start", s + 1, end, begin, step.n_tokens);
  const int64_t row = step.seq_row[s], kv_len = step.kv_len[s];
  if (row < 0 || row >= step.max_seqs) return bad("seq_row", s, row, 0, step.max_seqs - 1);
  if (kv_len < 0 || kv_len > step.max_pages * step.page_tokens) {
    return bad("kv_len", s, kv_len, 0, step.max_pages * step.page_tokens);
  }
  int64_t last = -1;  // the highest position that is read
  for (int64_t t = begin; t < end; ++t) {
    const int64_t position = step.position[t], slot = step.slot[t];
    if (position < 0 || position >= kv_len) return bad("position", t, position, 0, kv_len - 1);
    if (slot < -1 || slot >= step.kv_pages * step.page_tokens) {
      return bad("slot", t, slot, -1, step.kv_pages * step.page_tokens - 1);
    }
    if (position > last) last = position;
  }
  const int32_t* pages = step.pages + row * step.max_pages;
  for (int64_t p = 0; last >= 0 && p <= last / step.page_tokens; ++p) {
    if (pages[p] < 0 || pages[p] >= step.kv_pages) {
      return bad("pages", row * step.max_pages + p, pages[p], 0, step.kv_pages - 1);
    }
  }
  return {};
}

inline Fault CheckAttentionStep(const AttentionStep& step) {
  if (step.row_start[0] != 0) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "row_start[0] = %d: must be 0", step.row_start[0]);
  }
  for (int64_t s = 0; s < step.n_seqs; ++s) MOTLEY_TRY(CheckSequence(step, s));
  if (step.row_start[step.n_seqs] != step.n_tokens) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "row_start[%lld] = %d: must be n_tokens = %lld",
                static_cast<long long>(step.n_seqs), step.row_start[step.n_seqs],
                static_cast<long long>(step.n_tokens));
  }
  return {};
}

// counts[i] of the step block must be the dims that the host bound.
inline Fault CheckCounts(const int32_t* counts, const int64_t* dims, uint64_t n_dims) {
  for (uint64_t i = 0; i < n_dims && i < 16; ++i) {
    if (counts[i] != dims[i]) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "counts[%llu] = %d, the bound dim is %lld",
                  static_cast<unsigned long long>(i), counts[i], static_cast<long long>(dims[i]));
    }
  }
  return {};
}

}  // namespace motley::plugin
