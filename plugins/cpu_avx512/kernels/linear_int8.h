// Linear over quantised weights: u8 weights times s8 activations, summed in int32 within a block, in f32 over blocks.
//
// Two ways give the same bits (panel.h): at most kGroupRows rows go directly over the packed bytes, several tiles at a
// time as streams; more rows go over a panel of two tiles that is unpacked once for all of them. Formats that are
// packed as stored always go over a panel.
#pragma once

#include "plugins/cpu_avx512/kernels/dot.h"
#include "plugins/cpu_avx512/kernels/panel.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

MOTLEY_CPU_INLINE __m512i Broadcast4(const int8_t* q) {
  int32_t four;
  __builtin_memcpy(&four, q, 4);
  return _mm512_set1_epi32(four);
}

template <Product p>
MOTLEY_CPU_INLINE __m512i DotStart(const ActivationBlock& x, int half) {
  constexpr Product kAsSigned = {p.parts, p.has_min, 0, p.bits};
  if constexpr (Dot<p.bits>::kSigned) return Start<kAsSigned>(x, half);
  else return Start<p>(x, half);
}

constexpr int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- Few rows: straight over the packed bytes --------------------------------------------------------------------

// How far ahead of use a stream is fetched; about the bytes that one core reads in a memory latency.
constexpr int kPrefetchBytes = 2048;

inline void Prefetch(const uint8_t* from, int64_t bytes) {
  for (int64_t o = 0; o < bytes; o += 64) {
    _mm_prefetch(reinterpret_cast<const char*>(from + kPrefetchBytes + o), _MM_HINT_T0);
  }
}

// Integer sums of part `half` of one block.
template <F f, int kRows, int kTiles>
MOTLEY_CPU_INLINE void DirectDots(const uint8_t* const (&data)[kTiles], const ActivationBlock* x, int half,
                       __m512i (&sum)[kRows][kTiles]) {
  constexpr Product kProduct = ProductOf(f);
  using D = Dot<kProduct.bits>;
  constexpr int kPairs = 4 / kProduct.parts;  // of k-groups
  constexpr int kRun = D::kRun < 2 * kPairs ? D::kRun : 2 * kPairs;
  __m512i part[kRows][kTiles];
#pragma GCC unroll 4
  for (int i = 0; i < kPairs; ++i) {
    const int pair = half * kPairs + i;
    __m512i w[2][kTiles];
    for (int t = 0; t < kTiles; ++t) LoadWeights<f>(data[t], pair, &w[0][t], &w[1][t]);
    for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 2
      for (int g = 0; g < 2; ++g) {
        const __m512i a = Broadcast4(x[m].q + pair * 8 + g * 4);
        for (int t = 0; t < kTiles; ++t) {
          if ((2 * i + g) % kRun == 0) part[m][t] = D::Begin(sum[m][t]);
          part[m][t] = D::Multiply(part[m][t], w[g][t], a);
          if ((2 * i + g + 1) % kRun == 0) sum[m][t] = D::End(sum[m][t], part[m][t]);
        }
      }
    }
  }
}

// `tiles`: how many there are; the others repeat the first.
template <F f, int kRows, int kTiles>
void DirectTiles(const LinearCall& c, int64_t tile, int tiles, int64_t row) {
  constexpr Product kProduct = ProductOf(f);
  const int64_t blocks = c.n_in / 32, tile_bytes = TileBytes(f, c.n_in);
  const uint8_t* header[kTiles];
  for (int t = 0; t < kTiles; ++t) header[t] = c.weight + (tile + (t < tiles ? t : 0)) * tile_bytes;
  __m512 acc[kRows][kTiles];
  for (int m = 0; m < kRows; ++m) {
    for (int t = 0; t < kTiles; ++t) acc[m][t] = _mm512_setzero_ps();
  }
  for (int64_t done = 0; done < blocks; done += kChunkBlocks) {
    const int64_t here = blocks - done < kChunkBlocks ? blocks - done : kChunkBlocks;
    const ActivationBlock* x = c.blocks + done * c.rows + row * here;
    const uint8_t* data[kTiles];
    for (int t = 0; t < kTiles; ++t) {
      data[t] = header[t] + HeaderBytes(f, here);
      Prefetch(header[t], HeaderBytes(f, 8));
    }
    for (int64_t b = 0; b < here; ++b, x += kRows) {
#pragma GCC unroll 2
      for (int half = 0; half < kProduct.parts; ++half) {
        __m512i sum[kRows][kTiles];
        for (int m = 0; m < kRows; ++m) {
          for (int t = 0; t < kTiles; ++t) sum[m][t] = DotStart<kProduct>(x[m], half);
        }
        DirectDots<f, kRows, kTiles>(data, x, half, sum);
        Scales s[kTiles];
        for (int t = 0; t < kTiles; ++t) s[t] = LoadScales<f>(header[t], here, b * kProduct.parts + half);
        for (int m = 0; m < kRows; ++m) {
          for (int t = 0; t < kTiles; ++t) acc[m][t] = Accumulate<kProduct>(acc[m][t], sum[m][t], x[m], half, s[t]);
        }
      }
      for (int t = 0; t < kTiles; ++t) {
        Prefetch(data[t], BlockDataBytes(f));
        data[t] += BlockDataBytes(f);
      }
    }
    for (int t = 0; t < kTiles; ++t) header[t] += ChunkBytes(f, here);
  }
  for (int t = 0; t < tiles; ++t) {
    for (int m = 0; m < kRows; ++m) Finish(c, acc[m][t], tile + t, row + m);
  }
}

template <F f, int kRows>
void Direct(const LinearCall& c, int64_t tile_begin, int64_t tile_end, int64_t row) {
  constexpr int kTiles = kRows <= 2 || kDirectTiles < 2 ? kDirectTiles : 2;
  for (int64_t t = tile_begin; t < tile_end; t += kTiles) {
    DirectTiles<f, kRows, kTiles>(c, t, static_cast<int>(Min(kTiles, tile_end - t)), row);
  }
}

// ---- Many rows: over a panel of two unpacked tiles -----------------------------------------------------------------

// Adds one chunk of kTiles tiles, from `tile` of the panel on, to the sums [row][2][16] of kRows rows; `stride`: of x,
// from one block to the next.
template <Product p, int kRows, int kTiles>
void PanelBlock(const Panel& panel, int tile, int64_t blocks, const ActivationBlock* x, int64_t stride, bool first_chunk,
                float* sums) {
  using D = Dot<p.bits>;
  constexpr int kGroups = 8 / p.parts;
  constexpr int kRun = D::kRun < kGroups ? D::kRun : kGroups;
  __m512 acc[kRows][kTiles];
  for (int m = 0; m < kRows; ++m) {
    for (int t = 0; t < kTiles; ++t) {
      acc[m][t] = first_chunk ? _mm512_setzero_ps() : _mm512_load_ps(sums + (m * kPanelTiles + t) * 16);
    }
  }
  const uint8_t* w = panel.weights + tile * 64;
  const float* scale = panel.scale + tile * 16;
  const float* min = panel.min + tile * 16;
  for (int64_t b = 0; b < blocks; ++b, x += stride) {
#pragma GCC unroll 2
    for (int half = 0; half < p.parts; ++half, w += kGroups * kPanelTiles * 64) {
      __m512i sum[kRows][kTiles], part[kRows][kTiles];
      for (int m = 0; m < kRows; ++m) {
        for (int t = 0; t < kTiles; ++t) sum[m][t] = DotStart<p>(x[m], half);
      }
#pragma GCC unroll 8
      for (int g = 0; g < kGroups; g += D::kAtOnce) {
        __m512i v[D::kAtOnce][kTiles];
        for (int i = 0; i < D::kAtOnce; ++i) {
          for (int t = 0; t < kTiles; ++t) v[i][t] = _mm512_load_si512(w + ((g + i) * kPanelTiles + t) * 64);
        }
        for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 2
          for (int i = 0; i < D::kAtOnce; ++i) {
            const __m512i a = Broadcast4(x[m].q + (half * kGroups + g + i) * 4);
            for (int t = 0; t < kTiles; ++t) {
              if ((g + i) % kRun == 0) part[m][t] = D::Begin(sum[m][t]);
              part[m][t] = D::Multiply(part[m][t], v[i][t], a);
              if ((g + i + 1) % kRun == 0) sum[m][t] = D::End(sum[m][t], part[m][t]);
            }
          }
        }
      }
      Scales s[kTiles];
      for (int t = 0; t < kTiles; ++t) {
        s[t] = {_mm512_load_ps(scale + t * 16), p.has_min ? _mm512_load_ps(min + t * 16) : _mm512_setzero_ps()};
      }
      // Rows outside: the values of a row serve all tiles and are then done with.
      for (int m = 0; m < kRows; ++m) {
        for (int t = 0; t < kTiles; ++t) acc[m][t] = Accumulate<p>(acc[m][t], sum[m][t], x[m], half, s[t]);
      }
      scale += kPanelTiles * 16;
      min += kPanelTiles * 16;
    }
  }
  for (int m = 0; m < kRows; ++m) {
    for (int t = 0; t < kTiles; ++t) _mm512_store_ps(sums + (m * kPanelTiles + t) * 16, acc[m][t]);
  }
}

// One chunk for one group of kRows rows, in as many pieces as the registers ask for.
template <Product p, int kRows>
void PanelGroup(const Panel& panel, int64_t blocks, const ActivationBlock* x, bool first_chunk, float* sums) {
  constexpr int kWhole = kRows / kPanelRows * kPanelRows;
  for (int t = 0; t < kPanelTiles; t += kPanelColumns) {
    for (int m = 0; m < kWhole; m += kPanelRows) {
      PanelBlock<p, kPanelRows, kPanelColumns>(panel, t, blocks, x + m, kRows, first_chunk,
                                               sums + (m * kPanelTiles + t) * 16);
    }
    if constexpr (kWhole < kRows) {
      PanelBlock<p, kRows - kWhole, kPanelColumns>(panel, t, blocks, x + kWhole, kRows, first_chunk,
                                                   sums + (kWhole * kPanelTiles + t) * 16);
    }
  }
}

template <Product p>
void PanelRows(int64_t rows, const Panel& panel, int64_t blocks, const ActivationBlock* x, bool first_chunk, float* sums) {
  switch (rows) {
    case 1: return PanelGroup<p, 1>(panel, blocks, x, first_chunk, sums);
    case 2: return PanelGroup<p, 2>(panel, blocks, x, first_chunk, sums);
    case 3: return PanelGroup<p, 3>(panel, blocks, x, first_chunk, sums);
    case 4: return PanelGroup<p, 4>(panel, blocks, x, first_chunk, sums);
    case 5: return PanelGroup<p, 5>(panel, blocks, x, first_chunk, sums);
    default: return PanelGroup<p, kGroupRows>(panel, blocks, x, first_chunk, sums);
  }
}

// Two tiles (`tiles` of them are there) for all rows of [row_begin, row_end).
template <F f>
void PanelTiles(const LinearCall& c, int64_t tile, int tiles, int64_t row_begin, int64_t row_end, void* scratch) {
  Panel* panel = static_cast<Panel*>(scratch);
  float* sums = reinterpret_cast<float*>(panel + 1);  // [row][2][16]
  const int64_t blocks = c.n_in / 32, tile_bytes = TileBytes(f, c.n_in), rows = row_end - row_begin;
  const uint8_t* chunk = c.weight + tile * tile_bytes;
  const uint8_t* end_of_tiles = chunk + kPanelTiles * tile_bytes;
  for (int64_t done = 0; done < blocks; done += kChunkBlocks) {
    const int64_t here = Min(kChunkBlocks, blocks - done);
    UnpackPanel<f>(chunk, tile_bytes, tiles, here, panel);
    // What the next panel is made of comes from memory while this one is multiplied, a few lines a group.
    const uint8_t* next = done + here < blocks ? chunk + ChunkBytes(f, here) : end_of_tiles;
    const int64_t lines = ChunkBytes(f, kChunkBlocks) / 64;
    const int64_t lines_a_group = (lines * kGroupRows + rows - 1) / rows;
    for (int64_t m = 0; m < rows; m += kGroupRows) {
      for (int64_t line = m / kGroupRows * lines_a_group, i = 0; i < lines_a_group && line < lines; ++i, ++line) {
        _mm_prefetch(reinterpret_cast<const char*>(next + line * 64), _MM_HINT_T1);
        _mm_prefetch(reinterpret_cast<const char*>(next + tile_bytes + line * 64), _MM_HINT_T1);
      }
      const int64_t group = Min(kGroupRows, rows - m);
      if (done + here == blocks) PrefetchOutputs(c, tile, row_begin + m, group);
      PanelRows<ProductOf(f)>(group, *panel, here, c.blocks + done * c.rows + (row_begin + m) * here, done == 0,
                              sums + m * kPanelTiles * 16);
    }
    chunk += ChunkBytes(f, here);
  }
  for (int64_t m = 0; m < rows; ++m) {
    for (int t = 0; t < tiles; ++t) {
      Finish(c, _mm512_load_ps(sums + (m * kPanelTiles + t) * 16), tile + t, row_begin + m);
    }
  }
}
static_assert(sizeof(Panel) + kMaxRowsPerCall * kPanelTiles * 16 * 4 <= kLinearScratchBytes);

// Whether it did them: at most kGroupRows rows, of a format that can be read as it lies.
template <F f>
bool DirectRows(const LinearCall& c, int64_t tile_begin, int64_t tile_end, int64_t row, int64_t rows) {
  if constexpr (RowOf(f).data != Data::kStored) {
    switch (rows) {
      case 1: return Direct<f, 1>(c, tile_begin, tile_end, row), true;
      case 2: return Direct<f, 2>(c, tile_begin, tile_end, row), true;
      case 3: return Direct<f, 3>(c, tile_begin, tile_end, row), true;
      case 4: return Direct<f, 4>(c, tile_begin, tile_end, row), true;
      case 5: return Direct<f, 5>(c, tile_begin, tile_end, row), true;
      case 6: return Direct<f, 6>(c, tile_begin, tile_end, row), true;
      default: break;
    }
  }
  return false;
}

template <F f>
void Linear(const LinearCall& c, int64_t tile_begin, int64_t tile_end, int64_t row_begin, int64_t row_end,
            void* scratch) {
  if (row_begin == row_end || DirectRows<f>(c, tile_begin, tile_end, row_begin, row_end - row_begin)) return;
  for (int64_t t = tile_begin; t < tile_end; t += kPanelTiles) {
    PanelTiles<f>(c, t, static_cast<int>(Min(kPanelTiles, tile_end - t)), row_begin, row_end, scratch);
  }
}

// Whether it is one of these formats; then it is done.
template <F... formats>
bool LinearOneOf(const LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  return ((c.format == formats && (Linear<formats>(c, t0, t1, r0, r1, scratch), true)) || ...);
}

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
