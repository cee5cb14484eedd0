// Attention over pages. Declarations only, as in kernels.h.
//
// A page holds for each kv head its keys, then its values, all of one format (f32 or f16):
//   values  [token][v_dim]
//   keys    [token / 16][k_dim][16] where page_tokens is a multiple of 16, else [token][k_dim]
// so that one register holds one dim of 16 keys. With the odd page sizes keys are transposed when read: the same
// bits, more slowly.
//
// Bits do not depend on pages, batch or chunk: a query's keys are cut at multiples of 256 positions; in a chunk
//   score = one f32 chain over dims; p = exp(score - largest of the chunk); sum and p * v in order of position;
// and chunks are merged in order. Nothing larger than one chunk of scores exists.
#pragma once

#include <cstdint>

namespace motley::cpu {

constexpr int64_t kKeyTile = 16;
constexpr int64_t kKeyChunk = 256;
// Queries (rows times heads of one kv head) that one call of Attend may have.
constexpr int64_t kMaxQueries = 32;
// Key tiles converted and multiplied together: enough chains in flight.
constexpr int64_t kTilesAtOnce = 4;

struct AttentionCall {
  int64_t n_heads, n_kv_heads, head_dim, v_dim, rotary_dim, rope_style, page_tokens;
  bool half;              // keys and values in f16
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

constexpr int64_t KvPageBytes(int64_t page_tokens, int64_t n_kv_heads, int64_t k_dim, int64_t v_dim, bool half) {
  return (page_tokens * n_kv_heads * (k_dim + v_dim) * (half ? 2 : 4) + 63) / 64 * 64;
}
// Of one thread; any kernel of this header.
constexpr int64_t AttentionScratchBytes(int64_t head_dim, int64_t v_dim) {
  const auto lines = [](int64_t floats) { return (floats + 15) / 16 * 16; };
  return 4 * (lines(kMaxQueries * head_dim) + kMaxQueries * kKeyChunk + 2 * lines(kMaxQueries * v_dim) +
              kTilesAtOnce * head_dim * kKeyTile + kKeyChunk * 2);
}

// Normalises and rotates k of one token and kv head and writes it and v at the token's slot, unless that is -1.
using WriteKvFn = void (*)(const AttentionCall&, int64_t token, int64_t kv_head, void* scratch);

// Tokens [first, first + count) of one sequence, query heads [head, head + heads), all of one kv head;
// count * heads <= kMaxQueries. `pages`: the sequence's row. All of its keys are written already.
using AttendFn = void (*)(const AttentionCall&, const int32_t* pages, int64_t first, int64_t count, int64_t head,
                          int64_t heads, void* scratch);

// The same in two steps, so that threads can share one row: any chunks in any order, then one merge.
// `parts`: [chunk][heads][v_dim + 2] floats.
using AttendChunkFn = void (*)(const AttentionCall&, const int32_t* pages, int64_t token, int64_t head, int64_t heads,
                               int64_t chunk, float* parts, void* scratch);
using MergeChunksFn = void (*)(const AttentionCall&, int64_t token, int64_t head, int64_t heads, const float* parts);

}  // namespace motley::cpu
