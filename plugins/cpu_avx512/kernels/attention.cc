// See attention.h.
#include "plugins/cpu_avx512/kernels/functions.h"

#include <cstddef>
#include <cstring>

#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

int64_t ElemBytes(const AttentionCall& c) { return c.half ? 2 : 4; }
bool TiledKeys(const AttentionCall& c) { return c.page_tokens % kKeyTile == 0; }

// One thread's memory.
struct Scratch {
  float* query;    // [kMaxQueries][head_dim], normalised, rotated, scaled
  float* score;    // [kMaxQueries][kKeyChunk]: scores, then weights
  float* part;     // [kMaxQueries][v_dim]: one chunk's weighted values
  float* total;    // [kMaxQueries][v_dim]: all chunks so far
  float* keys;     // [kTilesAtOnce][head_dim][16]
  const uint8_t** value;  // [kKeyChunk]: where the values of each position lie
};

int64_t Lines(int64_t floats) { return RoundUp(floats, 16); }

Scratch Carve(const AttentionCall& c, void* memory) {
  float* p = static_cast<float*>(memory);
  const auto take = [&p](int64_t floats) {
    float* at = p;
    p += Lines(floats);
    return at;
  };
  Scratch s;
  s.query = take(kMaxQueries * c.head_dim);
  s.score = take(kMaxQueries * kKeyChunk);
  s.part = take(kMaxQueries * c.v_dim);
  s.total = take(kMaxQueries * c.v_dim);
  s.keys = take(kTilesAtOnce * c.head_dim * kKeyTile);
  s.value = reinterpret_cast<const uint8_t**>(take(kKeyChunk * 2));
  return s;
}

// The keys of one kv head in a page; its values follow.
uint8_t* HeadKeys(const AttentionCall& c, int64_t page, int64_t kv_head) {
  return c.kv + page * c.page_bytes + kv_head * c.page_tokens * (c.head_dim + c.v_dim) * ElemBytes(c);
}
uint8_t* HeadValues(const AttentionCall& c, int64_t page, int64_t kv_head) {
  return HeadKeys(c, page, kv_head) + c.page_tokens * c.head_dim * ElemBytes(c);
}

void StoreElement(const AttentionCall& c, uint8_t* at, float value) {
  if (c.half) {
    const uint16_t bits = static_cast<uint16_t>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), 0), 0));
    std::memcpy(at, &bits, 2);
  } else {
    std::memcpy(at, &value, 4);
  }
}

// One head of q or k: rms_norm where there is a weight, then the rotation of its first dims.
void Prepare(const AttentionCall& c, const float* in, const float* norm, int64_t token, float* out) {
  if (norm != nullptr) {
    RmsNormRow(in, norm, c.head_dim, c.norm_eps, out);
  } else {
    std::memcpy(out, in, static_cast<size_t>(c.head_dim) * sizeof(float));
  }
  const int64_t half = c.rotary_dim / 2;
  const float* cos = c.rope + token * c.rotary_dim;
  const float* sin = cos + half;
  const int64_t step = c.rope_style == 0 ? 1 : 2, other = c.rope_style == 0 ? half : 1;
  for (int64_t i = 0; i < half; ++i) {
    const float a = out[i * step], b = out[i * step + other];
    out[i * step] = a * cos[i] - b * sin[i];
    out[i * step + other] = b * cos[i] + a * sin[i];
  }
}

void PrepareQueries(const AttentionCall& c, int64_t first, int64_t count, int64_t head, int64_t heads, Scratch* s) {
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t h = 0; h < heads; ++h) {
      float* q = s->query + (r * heads + h) * c.head_dim;
      Prepare(c, c.q + ((first + r) * c.n_heads + head + h) * c.head_dim, c.q_norm, first + r, q);
      for (int64_t i = 0; i < c.head_dim; ++i) q[i] *= c.scale;
    }
  }
}

// ---- Keys --------------------------------------------------------------------------------------------------------

// The tile of 16 positions from `position` on, of which `count` are there, as f32 [head_dim][16]: the page's own
// bytes where they are that, else `converted`. Positions that are not there hold anything.
const float* LoadKeyTile(const AttentionCall& c, const int32_t* pages, int64_t kv_head, int64_t position, int64_t count,
                         float* converted) {
  if (TiledKeys(c)) {
    const int64_t offset = position % c.page_tokens;
    const uint8_t* tile = HeadKeys(c, pages[position / c.page_tokens], kv_head) + offset * c.head_dim * ElemBytes(c);
    if (!c.half) return reinterpret_cast<const float*>(tile);
    for (int64_t d = 0; d < c.head_dim; ++d) _mm512_store_ps(converted + d * 16, HalfToFloat(tile + d * 32));
    return converted;
  }
  const __m512i column = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                            _mm512_set1_epi32(16));
  for (int64_t j = 0; j < count; ++j) {
    const int64_t p = position + j;
    const uint8_t* key = HeadKeys(c, pages[p / c.page_tokens], kv_head) + p % c.page_tokens * c.head_dim * ElemBytes(c);
    for (int64_t d = 0; d < c.head_dim; d += 16) {
      const __mmask16 lanes = FirstLanes(c.head_dim - d);
      const __m512 v = c.half ? _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, key + d * 2))
                              : _mm512_maskz_loadu_ps(lanes, key + d * 4);
      _mm512_mask_i32scatter_ps(converted + d * 16 + j, lanes, column, v, 4);
    }
  }
  return converted;
}

// score[q][16 t + lane] of kTiles tiles: one chain over dims for each.
template <int kQueries, int kTiles>
void Scores(const float* query, int64_t head_dim, const float* const* tiles, float* score) {
  __m512 acc[kQueries][kTiles];
  for (int q = 0; q < kQueries; ++q) {
    for (int t = 0; t < kTiles; ++t) acc[q][t] = _mm512_setzero_ps();
  }
  for (int64_t d = 0; d < head_dim; ++d) {
    __m512 key[kTiles];
    for (int t = 0; t < kTiles; ++t) key[t] = _mm512_loadu_ps(tiles[t] + d * 16);
    for (int q = 0; q < kQueries; ++q) {
      const __m512 x = _mm512_set1_ps(query[q * head_dim + d]);
      for (int t = 0; t < kTiles; ++t) acc[q][t] = _mm512_fmadd_ps(x, key[t], acc[q][t]);
    }
  }
  for (int q = 0; q < kQueries; ++q) {
    for (int t = 0; t < kTiles; ++t) _mm512_store_ps(score + q * kKeyChunk + t * kKeyTile, acc[q][t]);
  }
}

template <int kTiles>
void ScoresOf(int64_t queries, const float* query, int64_t head_dim, const float* const* tiles, float* score) {
  for (; queries >= 4; queries -= 4, query += 4 * head_dim, score += 4 * kKeyChunk) {
    Scores<4, kTiles>(query, head_dim, tiles, score);
  }
  switch (queries) {
    case 3: return Scores<3, kTiles>(query, head_dim, tiles, score);
    case 2: return Scores<2, kTiles>(query, head_dim, tiles, score);
    case 1: return Scores<1, kTiles>(query, head_dim, tiles, score);
    default: return;
  }
}

void ChunkScores(const AttentionCall& c, const int32_t* pages, int64_t kv_head, int64_t start, int64_t count,
                 int64_t queries, Scratch* s) {
  for (int64_t j = 0; j < count; j += kTilesAtOnce * kKeyTile) {
    const float* tiles[kTilesAtOnce];
    int64_t there = 0;
    for (; there < kTilesAtOnce && j + there * kKeyTile < count; ++there) {
      const int64_t at = j + there * kKeyTile, left = count - at;
      tiles[there] = LoadKeyTile(c, pages, kv_head, start + at, left < kKeyTile ? left : kKeyTile,
                                 s->keys + there * c.head_dim * kKeyTile);
    }
    if (there == kTilesAtOnce) {
      ScoresOf<kTilesAtOnce>(queries, s->query, c.head_dim, tiles, s->score + j);
    } else {
      for (int64_t t = 0; t < there; ++t) {
        ScoresOf<1>(queries, s->query, c.head_dim, tiles + t, s->score + j + t * kKeyTile);
      }
    }
  }
}

// ---- Weights and values --------------------------------------------------------------------------------------------

struct SoftmaxPart {
  float largest, sum;
};

// Turns the first `count` scores into weights, the rest of their last tile into zeros.
SoftmaxPart Weigh(float* score, int64_t count) {
  __m512 largest = _mm512_set1_ps(-__builtin_inff());
  for (int64_t j = 0; j < count; j += 16) {
    // Selected, not multiplied: what is behind `count` may be NaN.
    largest = _mm512_mask_max_ps(largest, FirstLanes(count - j), largest, _mm512_load_ps(score + j));
  }
  const float top = _mm512_reduce_max_ps(largest);
  __m512 sum = _mm512_setzero_ps();
  for (int64_t j = 0; j < count; j += 16) {
    const __m512 p = Exp(_mm512_sub_ps(_mm512_load_ps(score + j), _mm512_set1_ps(top)));
    const __m512 kept = _mm512_maskz_mov_ps(FirstLanes(count - j), p);
    sum = _mm512_add_ps(sum, kept);
    _mm512_store_ps(score + j, kept);
  }
  return {top, ReduceAdd(sum)};
}

// 16 dims of a value from `at` on. Whole vectors are loaded without a mask: then the load converts as well.
template <bool half, bool masked>
__m512 LoadVector(const uint8_t* value, int64_t at, __mmask16 lanes) {
  if constexpr (half) {
    return masked ? _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, value + at * 2)) : HalfToFloat(value + at * 2);
  } else {
    return masked ? _mm512_maskz_loadu_ps(lanes, value + at * 4) : _mm512_loadu_ps(value + at * 4);
  }
}

// part[q][..] (+)= the sum over positions [begin, end) of weight[q][j] * value[j], in their order.
template <bool half, int kQueries, int kVectors>
void Values(const uint8_t* const* value, int64_t column, __mmask16 lanes, const float* weight, int64_t begin,
            int64_t end, float* part, int64_t v_dim) {
  __m512 acc[kQueries][kVectors];
  for (int q = 0; q < kQueries; ++q) {
    for (int i = 0; i < kVectors; ++i) {
      acc[q][i] = begin == 0 ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(lanes, part + q * v_dim + column + i * 16);
    }
  }
  for (int64_t j = begin; j < end; ++j) {
    __m512 v[kVectors];
    for (int i = 0; i < kVectors; ++i) v[i] = LoadVector<half, kVectors == 1>(value[j], column + i * 16, lanes);
    for (int q = 0; q < kQueries; ++q) {
      const __m512 p = _mm512_set1_ps(weight[q * kKeyChunk + j]);
      for (int i = 0; i < kVectors; ++i) acc[q][i] = _mm512_fmadd_ps(p, v[i], acc[q][i]);
    }
  }
  for (int q = 0; q < kQueries; ++q) {
    for (int i = 0; i < kVectors; ++i) {
      _mm512_mask_storeu_ps(part + q * v_dim + column + i * 16, lanes, acc[q][i]);
    }
  }
}

template <bool half, int kQueries>
void AllValues(const Scratch& s, int64_t query, int64_t begin, int64_t end, int64_t v_dim) {
  const float* weight = s.score + query * kKeyChunk;
  float* part = s.part + query * v_dim;
  int64_t column = 0;
  for (; column + 64 <= v_dim; column += 64) {
    Values<half, kQueries, 4>(s.value, column, 0xffff, weight, begin, end, part, v_dim);
  }
  for (; column < v_dim; column += 16) {
    Values<half, kQueries, 1>(s.value, column, FirstLanes(v_dim - column), weight, begin, end, part, v_dim);
  }
}

template <bool half>
void WeighValues(const Scratch& s, int64_t queries, const int64_t* counts, int64_t v_dim) {
  constexpr int64_t kTogether = 6;  // 24 sums, 4 values: what the registers hold
  for (int64_t q = 0; q < queries; q += kTogether) {
    const int64_t here = queries - q < kTogether ? queries - q : kTogether;
    // Together as far as all of them go, then each alone: no query may touch a value behind its own position.
    int64_t common = counts[q];
    for (int64_t i = 1; i < here; ++i) common = counts[q + i] < common ? counts[q + i] : common;
    switch (common > 0 ? here : 0) {
      case 6: AllValues<half, 6>(s, q, 0, common, v_dim); break;
      case 5: AllValues<half, 5>(s, q, 0, common, v_dim); break;
      case 4: AllValues<half, 4>(s, q, 0, common, v_dim); break;
      case 3: AllValues<half, 3>(s, q, 0, common, v_dim); break;
      case 2: AllValues<half, 2>(s, q, 0, common, v_dim); break;
      case 1: AllValues<half, 1>(s, q, 0, common, v_dim); break;
      default: common = 0;
    }
    for (int64_t i = 0; i < here; ++i) {
      if (counts[q + i] > common) AllValues<half, 1>(s, q + i, common, counts[q + i], v_dim);
    }
  }
}

// ---- One chunk, and the merge ------------------------------------------------------------------------------------------

// Scores, weights and weighted values of the chunk at `start`; counts[q]: positions of it that query q sees, perhaps 0.
void RunChunk(const AttentionCall& c, const int32_t* pages, int64_t kv_head, int64_t start, int64_t queries,
              const int64_t* counts, Scratch* s, SoftmaxPart* out) {
  int64_t longest = 0;
  for (int64_t q = 0; q < queries; ++q) longest = counts[q] > longest ? counts[q] : longest;
  ChunkScores(c, pages, kv_head, start, longest, queries, s);
  for (int64_t q = 0; q < queries; ++q) {
    if (counts[q] > 0) out[q] = Weigh(s->score + q * kKeyChunk, counts[q]);
  }
  for (int64_t j = 0; j < longest; ++j) {
    const int64_t p = start + j;
    s->value[j] = HeadValues(c, pages[p / c.page_tokens], kv_head) + p % c.page_tokens * c.v_dim * ElemBytes(c);
  }
  if (c.half) {
    WeighValues<true>(*s, queries, counts, c.v_dim);
  } else {
    WeighValues<false>(*s, queries, counts, c.v_dim);
  }
}

float ExpOf(float x) { return _mm512_cvtss_f32(Exp(_mm512_set1_ps(x))); }

// total := total and part together.
void Merge(SoftmaxPart* total, float* total_values, const SoftmaxPart& part, const float* part_values, int64_t v_dim) {
  const float top = part.largest > total->largest ? part.largest : total->largest;
  const float a = ExpOf(total->largest - top), b = ExpOf(part.largest - top);
  total->largest = top;
  total->sum = total->sum * a + part.sum * b;
  for (int64_t i = 0; i < v_dim; i += 16) {
    const __mmask16 lanes = FirstLanes(v_dim - i);
    const __m512 old = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, total_values + i), _mm512_set1_ps(a));
    const __m512 sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(lanes, part_values + i), _mm512_set1_ps(b), old);
    _mm512_mask_storeu_ps(total_values + i, lanes, sum);
  }
}

void Divide(const float* values, float sum, int64_t v_dim, float* y) {
  for (int64_t i = 0; i < v_dim; i += 16) {
    const __mmask16 lanes = FirstLanes(v_dim - i);
    _mm512_mask_storeu_ps(y + i, lanes, _mm512_div_ps(_mm512_maskz_loadu_ps(lanes, values + i), _mm512_set1_ps(sum)));
  }
}

}  // namespace

void WriteKv(const AttentionCall& c, int64_t token, int64_t kv_head, void* scratch) {
  const int64_t slot = c.slot[token];
  if (slot < 0) return;
  const int64_t page = slot / c.page_tokens, offset = slot % c.page_tokens, elem = ElemBytes(c);
  float* key = static_cast<float*>(scratch);
  Prepare(c, c.k + (token * c.n_kv_heads + kv_head) * c.head_dim, c.k_norm, token, key);
  uint8_t* keys = HeadKeys(c, page, kv_head);
  if (TiledKeys(c)) {
    uint8_t* lane = keys + (offset / kKeyTile * c.head_dim * kKeyTile + offset % kKeyTile) * elem;
    for (int64_t d = 0; d < c.head_dim; ++d) StoreElement(c, lane + d * kKeyTile * elem, key[d]);
  } else {
    for (int64_t d = 0; d < c.head_dim; ++d) StoreElement(c, keys + (offset * c.head_dim + d) * elem, key[d]);
  }
  const float* v = c.v + (token * c.n_kv_heads + kv_head) * c.v_dim;
  uint8_t* value = HeadValues(c, page, kv_head) + offset * c.v_dim * elem;
  for (int64_t d = 0; d < c.v_dim; ++d) StoreElement(c, value + d * elem, v[d]);
}

void Attend(const AttentionCall& c, const int32_t* pages, int64_t first, int64_t count, int64_t head, int64_t heads,
            void* scratch) {
  Scratch s = Carve(c, scratch);
  const int64_t queries = count * heads, kv_head = head / (c.n_heads / c.n_kv_heads);
  PrepareQueries(c, first, count, head, heads, &s);
  int64_t visible[kMaxQueries], counts[kMaxQueries], longest = 0;
  SoftmaxPart part[kMaxQueries], total[kMaxQueries];
  for (int64_t q = 0; q < queries; ++q) {
    visible[q] = static_cast<int64_t>(c.position[first + q / heads]) + 1;
    longest = visible[q] > longest ? visible[q] : longest;
  }
  for (int64_t start = 0; start < longest; start += kKeyChunk) {
    for (int64_t q = 0; q < queries; ++q) {
      const int64_t left = visible[q] - start;
      counts[q] = left < 0 ? 0 : left < kKeyChunk ? left : kKeyChunk;
    }
    RunChunk(c, pages, kv_head, start, queries, counts, &s, part);
    for (int64_t q = 0; q < queries; ++q) {
      float* values = s.total + q * c.v_dim;
      if (start == 0) {
        total[q] = part[q];
        std::memcpy(values, s.part + q * c.v_dim, static_cast<size_t>(c.v_dim) * 4);
      } else if (counts[q] > 0) {
        Merge(&total[q], values, part[q], s.part + q * c.v_dim, c.v_dim);
      }
    }
  }
  for (int64_t q = 0; q < queries; ++q) {
    float* y = c.y + ((first + q / heads) * c.n_heads + head + q % heads) * c.v_dim;
    Divide(s.total + q * c.v_dim, total[q].sum, c.v_dim, y);
  }
}

void AttendChunk(const AttentionCall& c, const int32_t* pages, int64_t token, int64_t head, int64_t heads, int64_t chunk,
                 float* parts, void* scratch) {
  Scratch s = Carve(c, scratch);
  PrepareQueries(c, token, 1, head, heads, &s);
  const int64_t left = static_cast<int64_t>(c.position[token]) + 1 - chunk * kKeyChunk;
  int64_t counts[kMaxQueries];
  SoftmaxPart part[kMaxQueries];
  for (int64_t q = 0; q < heads; ++q) counts[q] = left < kKeyChunk ? left : kKeyChunk;
  RunChunk(c, pages, head / (c.n_heads / c.n_kv_heads), chunk * kKeyChunk, heads, counts, &s, part);
  for (int64_t q = 0; q < heads; ++q) {
    float* to = parts + (chunk * heads + q) * (c.v_dim + 2);
    to[0] = part[q].largest;
    to[1] = part[q].sum;
    std::memcpy(to + 2, s.part + q * c.v_dim, static_cast<size_t>(c.v_dim) * 4);
  }
}

void MergeChunks(const AttentionCall& c, int64_t token, int64_t head, int64_t heads, const float* parts) {
  const int64_t chunks = c.position[token] / kKeyChunk + 1, stride = c.v_dim + 2;
  for (int64_t q = 0; q < heads; ++q) {
    float* y = c.y + (token * c.n_heads + head + q) * c.v_dim;
    const float* first = parts + q * stride;
    SoftmaxPart total = {first[0], first[1]};
    std::memcpy(y, first + 2, static_cast<size_t>(c.v_dim) * 4);
    for (int64_t chunk = 1; chunk < chunks; ++chunk) {
      const float* p = parts + (chunk * heads + q) * stride;
      Merge(&total, y, {p[0], p[1]}, p + 2, c.v_dim);
    }
    Divide(y, total.sum, c.v_dim, y);
  }
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA
