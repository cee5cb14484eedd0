// See attention.h. In order: queries, scores, weights, values; then whole chunks and their merge.
#include <cstring>

#include "plugins/cpu_avx512/kernels/attention_loops.h"
#include "plugins/cpu_avx512/kernels/functions.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

int64_t Lines(int64_t floats) { return (floats + 15) / 16 * 16; }

// One thread's memory.
struct Scratch {
  float* query;         // [kMaxQueries][head_dim], normalised, rotated, scaled
  float* score;         // [kMaxQueries][kKeyChunk]: scores, then weights
  float* part;          // [kMaxQueries][columns]: one chunk's weighted values
  float* total;         // [kMaxQueries][columns]: all chunks so far
  float* converted;     // keys as tiles [..][head_dim][16], or values [kBlockPositions][columns]
  float* scale;         // [columns / 32][kBlockPositions], of values
  int64_t columns;      // v_dim, up to whole registers
};

Scratch Carve(const AttentionCall& c, void* memory) {
  float* p = static_cast<float*>(memory);
  const auto take = [&p](int64_t floats) {
    float* at = p;
    p += Lines(floats);
    return at;
  };
  Scratch s;
  s.columns = Lines(c.v_dim);
  s.query = take(kMaxQueries * c.head_dim);
  s.score = take(kMaxQueries * kKeyChunk);
  s.part = take(kMaxQueries * s.columns);
  s.total = take(kMaxQueries * s.columns);
  s.converted = take(kBlockPositions * (Lines(c.head_dim) > s.columns ? Lines(c.head_dim) : s.columns));
  s.scale = take(s.columns / kKvBlock * kBlockPositions);
  return s;
}

// Queries [head, head + heads) of each of the tokens, of one kv head.
struct Queries {
  const int32_t* pages;
  int64_t kv_head, count;
  int64_t counts[kMaxQueries];  // positions of the chunk at hand that each sees, perhaps 0
  int64_t longest;              // of these
  int64_t prefetch_end;         // positions from here on are not read by this call

  void See(int64_t query, int64_t positions) {
    counts[query] = positions < 0 ? 0 : positions < kKeyChunk ? positions : kKeyChunk;
    longest = query == 0 || counts[query] > longest ? counts[query] : longest;
  }
};

void PrepareQueries(const AttentionCall& c, int64_t first, int64_t count, int64_t head, int64_t heads, Scratch* s) {
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t h = 0; h < heads; ++h) {
      float* q = s->query + (r * heads + h) * c.head_dim;
      PrepareHead(c, c.q + ((first + r) * c.n_heads + head + h) * c.head_dim, c.q_norm, first + r, q);
      for (int64_t i = 0; i < c.head_dim; ++i) q[i] *= c.scale;
    }
  }
}

// Calls work(first, count) for groups of at most kQueryGroup queries, of sizes as equal as can be.
template <class Work>
void ForEachGroup(int64_t queries, const Work& work) {
  const int64_t groups = (queries + kQueryGroup - 1) / kQueryGroup;
  for (int64_t g = 0, first = 0; g < groups; ++g) {
    const int64_t count = (queries - first + groups - g - 1) / (groups - g);
    work(first, count);
    first += count;
  }
}

float FloatOfHalf(const uint8_t* p) {
  uint16_t half;
  std::memcpy(&half, p, 2);
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

// ---- Rows of the cache as floats -------------------------------------------------------------------------------------

// One row of `dim` values to to[0], to[step], ...; its plane lies at `plane`, for pages whose keys are no tiles too.
template <class Format>
void ConvertRow(const AttentionCall& c, const uint8_t* plane, int64_t dim, int64_t token, float* to, int64_t step) {
  constexpr KvFormat f = Format::kFormat;
  const uint8_t* row = plane + token * KvCodeBytes(f, dim);
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    Floats scale = Zeros();
    if (InBlocks(f)) scale = All(FloatOfHalf(plane + KvRowScaleAt(f, c.page_tokens, dim, token, d / kKvBlock)));
    const Floats values = Format::Values(row, d, scale);
    if (step == 1) {
      Store(to + d, values);
    } else {
      float lanes[kLanes];
      Store(lanes, values);
      for (int i = 0; i < kLanes; ++i) to[(d + i) * step] = lanes[i];
    }
  }
  if (d == dim) return;
  // The rest of a row in no blocks, by way of a whole register.
  uint8_t rest[kLanes * 4] = {};
  std::memcpy(rest, row + KvCodeBytes(f, d), static_cast<size_t>(KvCodeBytes(f, dim - d)));
  float lanes[kLanes];
  Store(lanes, Format::Values(rest, 0, Zeros()));
  for (int i = 0; i < dim - d; ++i) to[(d + i) * step] = lanes[i];
}

// ---- Scores ------------------------------------------------------------------------------------------------------------

// The tile of 16 positions from `position` on, of which `count` are there: where the cache has it, for pages in tiles.
KeyLanes TileAt(const AttentionCall& c, const Queries& q, int64_t position) {
  const int64_t offset = position % c.page_tokens;
  const uint8_t* tile = HeadKeys(c, q.pages[position / c.page_tokens], q.kv_head) + offset * KvRowBytes(c.format, c.head_dim);
  const uint8_t* values = HeadValues(c, q.pages[position / c.page_tokens], q.kv_head) + offset * KvCodeBytes(c.format, c.v_dim);
  return {tile + KvTileScaleBytes(c.format, c.head_dim), tile, values};
}

// The same as floats [head_dim][16]. Positions that are not there hold anything.
template <class Format>
void ConvertTile(const AttentionCall& c, const Queries& q, int64_t position, int64_t count, float* to) {
  if (!TiledKeys(c.page_tokens)) {
    for (int64_t j = 0; j < count; ++j) {
      const int64_t p = position + j;
      ConvertRow<Format>(c, HeadKeys(c, q.pages[p / c.page_tokens], q.kv_head), c.head_dim, p % c.page_tokens, to + j, kKeyTile);
    }
    return;
  }
  const KeyLanes tile = TileAt(c, q, position);
  for (int64_t lane = 0; lane < kKeyTile; lane += kLanes) {
    for (int64_t dim = 0; dim < c.head_dim; dim += Format::kDims) {
      Floats scale = Zeros(), keys[Format::kDims];
      if (InBlocks(Format::kFormat)) scale = FromHalf(tile.scales + (dim / kKvBlock * kKeyTile + lane) * 2);
      Format::Keys(tile.codes + KvCodeBytes(c.format, lane * Format::kDims), dim, scale, keys);
      for (int d = 0; d < Format::kDims; ++d) Store(to + (dim + d) * kKeyTile + lane, keys[d]);
    }
  }
}

// Registers of keys of one tile, of which `count` keys are there.
int64_t AddLanes(const KeyLanes& tile, KvFormat f, int64_t dims_a_load, int64_t count, int64_t ahead_bytes, KeyLanes* to) {
  const int64_t vectors = (count + kLanes - 1) / kLanes;
  for (int64_t v = 0; v < vectors; ++v) {
    to[v] = {tile.codes + KvCodeBytes(f, v * kLanes * dims_a_load), tile.scales + v * kLanes * 2,
             tile.ahead + v * ahead_bytes};
  }
  return vectors;
}

// Scores of the chunk at `start`, as far as any query sees.
template <class Format>
void ChunkScores(const AttentionCall& c, const Queries& q, int64_t start, Scratch* s) {
  // One group reads the cache itself; several share what is converted once.
  const bool direct = TiledKeys(c.page_tokens) && (q.count <= kQueryGroup || Format::kFormat == KvFormat::kF32);
  const int64_t step = direct && q.count <= kQueryGroup ? kKeyChunk : kBlockPositions;
  for (int64_t begin = 0; begin < q.longest; begin += step) {
    KeyLanes keys[kKeyChunk / kLanes];
    int64_t vectors = 0;
    for (int64_t j = begin; j < begin + step && j < q.longest; j += kKeyTile) {
      const int64_t count = q.longest - j < kKeyTile ? q.longest - j : kKeyTile;
      if (direct) {
        vectors += AddLanes(TileAt(c, q, start + j), c.format, Format::kDims, count, kLanes * KvCodeBytes(c.format, c.v_dim), keys + vectors);
      } else {
        float* tile = s->converted + (j - begin) * c.head_dim;
        ConvertTile<Format>(c, q, start + j, count, tile);
        const auto* codes = reinterpret_cast<uint8_t*>(tile);
        vectors += AddLanes({codes, nullptr, codes}, KvFormat::kF32, 1, count, kLanes * 4, keys + vectors);
      }
    }
    ForEachGroup(q.count, [&](int64_t first, int64_t count) {
      const float* query = s->query + first * c.head_dim;
      float* score = s->score + first * kKeyChunk + begin;
      if (direct) {
        ScoresOf<Format>(count, query, c.head_dim, keys, vectors, score);
      } else {
        ScoresOf<F32Cache>(count, query, c.head_dim, keys, vectors, score);
      }
    });
  }
}

// ---- Weights -----------------------------------------------------------------------------------------------------------

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

// ---- Values ------------------------------------------------------------------------------------------------------------

// Rows of the positions [begin, end) of the chunk at `start`, all in one page, and their scales.
template <class Format>
ValueRows FindRows(const AttentionCall& c, const Queries& q, int64_t start, int64_t begin, int64_t end, Scratch* s) {
  constexpr KvFormat f = Format::kFormat;
  const int64_t token = (start + begin) % c.page_tokens, count = end - begin;
  const uint8_t* plane = HeadValues(c, q.pages[(start + begin) / c.page_tokens], q.kv_head);
  for (int64_t block = 0; InBlocks(f) && block < c.v_dim / kKvBlock; ++block) {
    const uint8_t* from = plane + KvRowScaleAt(f, c.page_tokens, c.v_dim, token, block);
    float* to = s->scale + block * kBlockPositions;
    int64_t j = 0;
    for (; j + kLanes <= count; j += kLanes) Store(to + j, FromHalf(from + j * 2));
    for (; j < count; ++j) to[j] = FloatOfHalf(from + j * 2);
  }
  const int64_t stride = KvCodeBytes(f, c.v_dim), next = start + begin + kKeyChunk;
  const uint8_t* rows = plane + token * stride;
  const uint8_t* ahead = rows;
  if (next < q.prefetch_end) {
    ahead = HeadKeys(c, q.pages[next / c.page_tokens], q.kv_head) + next % c.page_tokens * KvRowBytes(f, c.head_dim);
  }
  return {rows, stride, s->scale, ahead};
}

// The same as floats, with zeros up to whole registers; in as many pages as they are.
template <class Format>
ValueRows ConvertRows(const AttentionCall& c, const Queries& q, int64_t start, int64_t begin, int64_t end, Scratch* s) {
  for (int64_t j = begin; j < end; ++j) {
    const int64_t p = start + j;
    float* row = s->converted + (j - begin) * s->columns;
    ConvertRow<Format>(c, HeadValues(c, q.pages[p / c.page_tokens], q.kv_head), c.v_dim, p % c.page_tokens, row, 1);
    for (int64_t d = c.v_dim; d < s->columns; ++d) row[d] = 0;
  }
  const auto* rows = reinterpret_cast<const uint8_t*>(s->converted);
  return {rows, s->columns * 4, s->scale, rows};
}

// Weighted values of the positions [begin, end) of a chunk.
template <class Format>
void WeighRows(const Queries& q, const ValueRows& rows, int64_t begin, int64_t end, const Scratch& s) {
  const auto run = [&](int64_t first, int64_t count, int64_t from, int64_t to) {
    if (from >= to) return;
    ValuesOf<Format>(count, rows, s.columns, s.score + first * kKeyChunk + begin, from - begin, to - begin, from == 0,
                     s.part + first * s.columns);
  };
  ForEachGroup(q.count, [&](int64_t first, int64_t count) {
    // Together as far as all of them see, then each alone: no query may touch a value behind its own position.
    int64_t common = end;
    for (int64_t i = first; i < first + count; ++i) common = q.counts[i] < common ? q.counts[i] : common;
    run(first, count, begin, common);
    for (int64_t i = first; i < first + count; ++i) {
      run(i, 1, common > begin ? common : begin, q.counts[i] < end ? q.counts[i] : end);
    }
  });
}

template <class Format>
void WeighValues(const AttentionCall& c, const Queries& q, int64_t start, Scratch* s) {
  const bool direct = c.v_dim == s->columns && (q.count <= kQueryGroup || Format::kFormat == KvFormat::kF32);
  for (int64_t begin = 0, end; begin < q.longest; begin = end) {
    end = begin + kBlockPositions < q.longest ? begin + kBlockPositions : q.longest;
    if (direct) {
      const int64_t left = c.page_tokens - (start + begin) % c.page_tokens;
      end = end - begin < left ? end : begin + left;
      WeighRows<Format>(q, FindRows<Format>(c, q, start, begin, end, s), begin, end, *s);
    } else {
      WeighRows<F32Cache>(q, ConvertRows<Format>(c, q, start, begin, end, s), begin, end, *s);
    }
  }
}

// ---- One chunk, and the merge ------------------------------------------------------------------------------------------

// Scores, weights and weighted values of the chunk at `start`.
template <class Format>
void RunChunkOf(const AttentionCall& c, const Queries& q, int64_t start, Scratch* s, SoftmaxPart* out) {
  ChunkScores<Format>(c, q, start, s);
  for (int64_t i = 0; i < q.count; ++i) {
    if (q.counts[i] > 0) out[i] = Weigh(s->score + i * kKeyChunk, q.counts[i]);
  }
  WeighValues<Format>(c, q, start, s);
}

void RunChunk(const AttentionCall& c, const Queries& q, int64_t start, Scratch* s, SoftmaxPart* out) {
  switch (c.format) {
    case KvFormat::kF32: return RunChunkOf<F32Cache>(c, q, start, s, out);
    case KvFormat::kF16: return RunChunkOf<F16Cache>(c, q, start, s, out);
    case KvFormat::kBF16: return RunChunkOf<Bf16Cache>(c, q, start, s, out);
    case KvFormat::kQ8_0: return RunChunkOf<Q80Cache>(c, q, start, s, out);
    case KvFormat::kQ4_0: return RunChunkOf<Q40Cache>(c, q, start, s, out);
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

void Attend(const AttentionCall& c, const int32_t* pages, int64_t first, int64_t count, int64_t head, int64_t heads,
            void* scratch) {
  Scratch s = Carve(c, scratch);
  PrepareQueries(c, first, count, head, heads, &s);
  Queries q;
  q.pages = pages;
  q.kv_head = head / (c.n_heads / c.n_kv_heads);
  q.count = count * heads;
  q.prefetch_end = 0;
  for (int64_t t = first; t < first + count; ++t) {
    q.prefetch_end = c.position[t] >= q.prefetch_end ? c.position[t] + int64_t{1} : q.prefetch_end;
  }
  SoftmaxPart part[kMaxQueries], total[kMaxQueries];
  for (int64_t start = 0;; start += kKeyChunk) {
    for (int64_t i = 0; i < q.count; ++i) q.See(i, static_cast<int64_t>(c.position[first + i / heads]) + 1 - start);
    if (q.longest == 0) break;
    RunChunk(c, q, start, &s, part);
    for (int64_t i = 0; i < q.count; ++i) {
      float* values = s.total + i * s.columns;
      if (start == 0) {
        total[i] = part[i];
        std::memcpy(values, s.part + i * s.columns, static_cast<size_t>(c.v_dim) * 4);
      } else if (q.counts[i] > 0) {
        Merge(&total[i], values, part[i], s.part + i * s.columns, c.v_dim);
      }
    }
  }
  for (int64_t i = 0; i < q.count; ++i) {
    float* y = c.y + ((first + i / heads) * c.n_heads + head + i % heads) * c.v_dim;
    Divide(s.total + i * s.columns, total[i].sum, c.v_dim, y);
  }
}

void AttendChunks(const AttentionCall& c, const int32_t* pages, int64_t token, int64_t head, int64_t heads,
                  int64_t chunk_begin, int64_t chunk_end, float* parts, int64_t part_stride, void* scratch) {
  Scratch s = Carve(c, scratch);
  PrepareQueries(c, token, 1, head, heads, &s);
  Queries q;
  q.pages = pages;
  q.kv_head = head / (c.n_heads / c.n_kv_heads);
  q.count = heads;
  q.prefetch_end = static_cast<int64_t>(c.position[token]) + 1;
  if (chunk_end * kKeyChunk < q.prefetch_end) q.prefetch_end = chunk_end * kKeyChunk;
  SoftmaxPart part[kMaxQueries];
  for (int64_t chunk = chunk_begin; chunk < chunk_end; ++chunk) {
    for (int64_t i = 0; i < heads; ++i) q.See(i, static_cast<int64_t>(c.position[token]) + 1 - chunk * kKeyChunk);
    RunChunk(c, q, chunk * kKeyChunk, &s, part);
    for (int64_t i = 0; i < heads; ++i) {
      float* to = parts + i * part_stride + chunk * (c.v_dim + 2);
      to[0] = part[i].largest;
      to[1] = part[i].sum;
      std::memcpy(to + 2, s.part + i * s.columns, static_cast<size_t>(c.v_dim) * 4);
    }
  }
}

void MergeChunks(const AttentionCall& c, int64_t token, int64_t head, const float* parts) {
  const int64_t chunks = c.position[token] / kKeyChunk + 1, part_floats = c.v_dim + 2;
  float* y = c.y + (token * c.n_heads + head) * c.v_dim;
  SoftmaxPart total = {parts[0], parts[1]};
  std::memcpy(y, parts + 2, static_cast<size_t>(c.v_dim) * 4);
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    const float* p = parts + chunk * part_floats;
    Merge(&total, y, {p[0], p[1]}, p + 2, c.v_dim);
  }
  Divide(y, total.sum, c.v_dim, y);
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA
