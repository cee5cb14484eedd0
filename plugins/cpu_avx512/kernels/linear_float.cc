// Linear over F32, F16 and BF16 weights: converted in registers, f32 fused multiply-add, one chain over k an output:
//   acc = 0; for k in order: acc = fma(x[k], w[k], acc)
// Few rows go straight over the packed tiles, many over panels of four converted tiles; the bits are the same.
#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

using F = WeightFormat;

constexpr int64_t ElemBytes(F f) { return f == F::kF32 ? 4 : 2; }

template <F f>
inline __m512 LoadWeights(const uint8_t* p) {
  if constexpr (f == F::kF32) return _mm512_loadu_ps(p);
  else if constexpr (f == F::kF16) return HalfToFloat(p);
  else return Bf16ToFloat(p);
}

inline void Finish(const LinearCall& c, __m512 acc, int64_t tile, int64_t row) {
  const int64_t column = tile * kTileRows;
  const __mmask16 lanes = FirstLanes(c.n_out - column);
  acc = _mm512_mul_ps(acc, _mm512_set1_ps(c.factor));  // most often 1, which changes no bit
  if (c.bias != nullptr) acc = _mm512_add_ps(acc, _mm512_maskz_loadu_ps(lanes, c.bias + column));
  if (c.residual != nullptr) {
    acc = _mm512_add_ps(acc, _mm512_maskz_loadu_ps(lanes, c.residual + row * c.residual_stride + column));
  }
  _mm512_mask_storeu_ps(c.y + row * c.y_stride + column, lanes, acc);
}

// ---- Few rows ----------------------------------------------------------------------------------------------------

constexpr int kPrefetchBytes = 1024;

template <F f, int kRows, int kTiles>
void DirectTiles(const LinearCall& c, int64_t tile, int64_t row) {
  const int64_t tile_bytes = TileBytes(f, c.n_in);
  const uint8_t* w = c.weight + tile * tile_bytes;
  const float* x = c.x + row * c.x_stride;
  __m512 acc[kRows][kTiles];
  for (int m = 0; m < kRows; ++m) {
    for (int t = 0; t < kTiles; ++t) acc[m][t] = _mm512_setzero_ps();
  }
  for (int64_t k = 0; k < c.n_in; ++k, w += 16 * ElemBytes(f)) {
    __m512 v[kTiles];
    for (int t = 0; t < kTiles; ++t) {
      v[t] = LoadWeights<f>(w + t * tile_bytes);
      _mm_prefetch(reinterpret_cast<const char*>(w + t * tile_bytes + kPrefetchBytes), _MM_HINT_T0);
    }
    for (int m = 0; m < kRows; ++m) {
      const __m512 a = _mm512_set1_ps(x[m * c.x_stride + k]);
      for (int t = 0; t < kTiles; ++t) acc[m][t] = _mm512_fmadd_ps(a, v[t], acc[m][t]);
    }
  }
  for (int m = 0; m < kRows; ++m) {
    for (int t = 0; t < kTiles; ++t) Finish(c, acc[m][t], tile + t, row + m);
  }
}

template <F f, int kRows>
void Direct(const LinearCall& c, int64_t tile_begin, int64_t tile_end, int64_t row) {
  int64_t t = tile_begin;
  for (; t + 4 <= tile_end; t += 4) DirectTiles<f, kRows, 4>(c, t, row);
  for (; t + 2 <= tile_end; t += 2) DirectTiles<f, kRows, 2>(c, t, row);
  for (; t < tile_end; ++t) DirectTiles<f, kRows, 1>(c, t, row);
}

// ---- Many rows -----------------------------------------------------------------------------------------------------

constexpr int kPanelTiles = 4;
constexpr int64_t kPanelK = 64;  // 64 k of four tiles are 16 KiB: half of the smallest L1 cache

// [k][tile][16]
template <F f>
void UnpackPanel(const uint8_t* w, int64_t tile_bytes, int tiles, int64_t count, float* panel) {
  for (int t = 0; t < kPanelTiles; ++t) {
    const uint8_t* from = w + (t < tiles ? t : 0) * tile_bytes;
    for (int64_t k = 0; k < count; ++k) {
      _mm512_store_ps(panel + (k * kPanelTiles + t) * 16, LoadWeights<f>(from + k * 16 * ElemBytes(f)));
    }
  }
}

template <int kRows>
void PanelGroup(const float* panel, int64_t count, const float* x, int64_t x_stride, bool first, float* sums) {
  __m512 acc[kRows][kPanelTiles];
  for (int m = 0; m < kRows; ++m) {
    for (int t = 0; t < kPanelTiles; ++t) {
      acc[m][t] = first ? _mm512_setzero_ps() : _mm512_load_ps(sums + (m * kPanelTiles + t) * 16);
    }
  }
  if constexpr (kRows == kGroupRows) {
    // The next group's rows are far away, each a few lines: the core does not see them coming.
    for (int m = 0; m < kRows; ++m) {
      const float* next = x + (kRows + m) * x_stride;
      for (int64_t k = 0; k < count; k += 16) _mm_prefetch(reinterpret_cast<const char*>(next + k), _MM_HINT_T0);
    }
  }
  for (int64_t k = 0; k < count; ++k, panel += kPanelTiles * 16) {
    __m512 v[kPanelTiles];
    for (int t = 0; t < kPanelTiles; ++t) v[t] = _mm512_load_ps(panel + t * 16);
    for (int m = 0; m < kRows; ++m) {
      const __m512 a = _mm512_set1_ps(x[m * x_stride + k]);
      for (int t = 0; t < kPanelTiles; ++t) acc[m][t] = _mm512_fmadd_ps(a, v[t], acc[m][t]);
    }
  }
  for (int m = 0; m < kRows; ++m) {
    for (int t = 0; t < kPanelTiles; ++t) _mm512_store_ps(sums + (m * kPanelTiles + t) * 16, acc[m][t]);
  }
}

void PanelRest(int rows, const float* panel, int64_t count, const float* x, int64_t stride, bool first, float* sums) {
  switch (rows) {
    case 1: return PanelGroup<1>(panel, count, x, stride, first, sums);
    case 2: return PanelGroup<2>(panel, count, x, stride, first, sums);
    case 3: return PanelGroup<3>(panel, count, x, stride, first, sums);
    case 4: return PanelGroup<4>(panel, count, x, stride, first, sums);
    case 5: return PanelGroup<5>(panel, count, x, stride, first, sums);
    default: return PanelGroup<6>(panel, count, x, stride, first, sums);
  }
}

template <F f>
void PanelTiles(const LinearCall& c, int64_t tile, int tiles, int64_t row_begin, int64_t row_end, void* scratch) {
  float* panel = static_cast<float*>(scratch);
  float* sums = panel + kPanelK * kPanelTiles * 16;  // [row][tile][16]
  const int64_t tile_bytes = TileBytes(f, c.n_in), rows = row_end - row_begin;
  const uint8_t* w = c.weight + tile * tile_bytes;
  for (int64_t k = 0; k < c.n_in; k += kPanelK) {
    const int64_t count = c.n_in - k < kPanelK ? c.n_in - k : kPanelK;
    UnpackPanel<f>(w + k * 16 * ElemBytes(f), tile_bytes, tiles, count, panel);
    for (int64_t m = 0; m < rows; m += kGroupRows) {
      const int here = rows - m < kGroupRows ? static_cast<int>(rows - m) : kGroupRows;
      PanelRest(here, panel, count, c.x + (row_begin + m) * c.x_stride + k, c.x_stride, k == 0,
                sums + m * kPanelTiles * 16);
    }
  }
  for (int64_t m = 0; m < rows; ++m) {
    for (int t = 0; t < tiles; ++t) {
      const float* sum = sums + (m * kPanelTiles + t) * 16;
      Finish(c, c.n_in > 0 ? _mm512_load_ps(sum) : _mm512_setzero_ps(), tile + t, row_begin + m);
    }
  }
}
static_assert((kPanelK + kMaxRowsPerCall) * kPanelTiles * 16 * 4 <= kLinearScratchBytes);

template <F f>
void Linear(const LinearCall& c, int64_t tile_begin, int64_t tile_end, int64_t row_begin, int64_t row_end,
            void* scratch) {
  switch (row_end - row_begin) {
    case 0: return;
    case 1: return Direct<f, 1>(c, tile_begin, tile_end, row_begin);
    case 2: return Direct<f, 2>(c, tile_begin, tile_end, row_begin);
    case 3: return Direct<f, 3>(c, tile_begin, tile_end, row_begin);
    case 4: return Direct<f, 4>(c, tile_begin, tile_end, row_begin);
    case 5: return Direct<f, 5>(c, tile_begin, tile_end, row_begin);
    case 6: return Direct<f, 6>(c, tile_begin, tile_end, row_begin);
    default: break;
  }
  for (int64_t t = tile_begin; t < tile_end; t += kPanelTiles) {
    const int tiles = tile_end - t < kPanelTiles ? static_cast<int>(tile_end - t) : kPanelTiles;
    PanelTiles<f>(c, t, tiles, row_begin, row_end, scratch);
  }
}

}  // namespace

void LinearFloat(const LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  switch (c.format) {
    case F::kF32: return Linear<F::kF32>(c, t0, t1, r0, r1, scratch);
    case F::kF16: return Linear<F::kF16>(c, t0, t1, r0, r1, scratch);
    case F::kBF16: return Linear<F::kBF16>(c, t0, t1, r0, r1, scratch);
    default: return;
  }
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA
