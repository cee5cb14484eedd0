// Attention over pages (kv_layout.h). Declarations only, as in kernels.h.
//
// Bits do not depend on pages, batch or chunk: a query's keys are cut at multiples of 256 positions; in a chunk
//   score = one f32 chain over dims; p = exp(score - largest of the chunk); sum and p * v in order of position;
// and chunks are merged in order. Nothing larger than one chunk of scores exists.
//
// Cached values are read as floats whatever their format: a scale times a code is exact in f32. So a format rounds
// when a token is written and never again, and pages of F32 that hold the rounded values give the same bits.
#pragma once

#include <cstdint>

#include "plugins/cpu_avx512/kernels/kv_layout.h"

namespace motley::cpu {

constexpr int64_t kKeyChunk = 256;
// Queries (rows times heads of one kv head) that one call of Attend may have. Each key and value is converted once
// for all of them; 48 is a multiple of most groups.
constexpr int64_t kMaxQueries = 48;
// Queries that the innermost loops hold in registers together.
constexpr int64_t kQueryGroup = 6;
// Positions whose keys, and then whose values, are converted at once: they stay in the L1 cache.
constexpr int64_t kBlockPositions = 64;

struct AttentionCall {
  int64_t n_heads, n_kv_heads, head_dim, v_dim, rotary_dim, rope_style, page_tokens;
  KvFormat format;
  float scale;
  double norm_eps;
  const float *q, *k, *v;             // dense: [token][heads * dim]
  const float *q_norm, *k_norm;       // [head_dim] or null
  const float* rope;                  // [token][2][rotary_dim / 2]
  const int32_t *position, *slot;     // [token]
  uint8_t* kv;
  int64_t page_bytes;
  float* y;                           // [token][n_heads * v_dim]
};

// Of one thread; any kernel of this header.
constexpr int64_t AttentionScratchBytes(int64_t head_dim, int64_t v_dim) {
  const auto lines = [](int64_t floats) { return (floats + 15) / 16 * 16; };
  const int64_t longer = head_dim > v_dim ? head_dim : v_dim;
  return 4 * (lines(kMaxQueries * head_dim) + kMaxQueries * kKeyChunk + 2 * kMaxQueries * lines(v_dim) +
              kBlockPositions * lines(longer) + lines(longer) / kKvBlock * kBlockPositions);
}

// Normalises and rotates k of one token and kv head and writes it and v at the token's slot, unless that is -1.
using WriteKvFn = void (*)(const AttentionCall&, int64_t token, int64_t kv_head, void* scratch);

// Tokens [first, first + count) of one sequence, query heads [head, head + heads), all of one kv head;
// count * heads <= kMaxQueries. `pages`: the sequence's row. All of its keys are written already.
using AttendFn = void (*)(const AttentionCall&, const int32_t* pages, int64_t first, int64_t count, int64_t head,
                          int64_t heads, void* scratch);

// The same in two steps, so that threads can share one row: the row's chunks in any order and in any pieces
// [chunk_begin, chunk_end), then a merge of each head. `parts`: [heads][chunk][v_dim + 2] floats, those of a head
// part_stride apart.
using AttendChunksFn = void (*)(const AttentionCall&, const int32_t* pages, int64_t token, int64_t head, int64_t heads,
                                int64_t chunk_begin, int64_t chunk_end, float* parts, int64_t part_stride, void* scratch);
using MergeChunksFn = void (*)(const AttentionCall&, int64_t token, int64_t head, const float* parts);

}  // namespace motley::cpu
