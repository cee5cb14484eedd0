// A chunk of two tiles of quantised weights, unpacked once for many rows; and how an output is made of integer dot
// products, whatever the kernel: the same bits by every way.
//
//   acc = 0; for each part of k in order: acc = fma(scale_x * dot, scale_w, acc); acc = fma(min_w, sum_x, acc)
//
// A part is what has scales of its own: a block of 32 k, or half of one. So an output has one chain of f32 operations.
#pragma once

#include "plugins/cpu_avx512/kernels/grid.h"
#include "plugins/cpu_avx512/kernels/kernels.h"
#include "plugins/cpu_avx512/kernels/load.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

// What the multiplication must know of a format; many formats share one.
struct Product {
  int parts;  // a block
  bool has_min;
  int zero, bits;
};
constexpr Product ProductOf(F f) {
  return {RowOf(f).scales_per_block, HasMin(f), RowOf(f).product_zero, RowOf(f).bits};
}

constexpr int kPanelTiles = 2;

// [block][k-group][tile][16][4], then [part][tile][16]. min only where the product has it.
struct alignas(64) Panel {
  uint8_t weights[8 * 8 * kPanelTiles * 64];
  float scale[16 * kPanelTiles * 16];
  float min[16 * kPanelTiles * 16];
};

template <F f>
void UnpackStoredTile(const uint8_t* chunk, int t, Panel* out) {
  for (int lane = 0; lane < kTileRows; ++lane) {
    const LaneOut to = {out->weights + t * 64 + lane * 4, kPanelTiles * 64, out->scale + t * 16 + lane, kPanelTiles * 16};
    DecodeLane<f>(chunk + lane * StoredBlockOf(f).bytes, to);
  }
}

template <F f>
void UnpackTile(const uint8_t* chunk, int64_t blocks, int t, Panel* out) {
  constexpr Product kProduct = ProductOf(f);
  const uint8_t* data = chunk + HeaderBytes(f, blocks);
  for (int64_t b = 0; b < blocks; ++b, data += BlockDataBytes(f)) {
    uint8_t* to = out->weights + (b * 8 * kPanelTiles + t) * 64;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i, to += 2 * kPanelTiles * 64) {
      __m512i first, second;
      LoadWeights<f>(data, i, &first, &second);
      _mm512_store_si512(to, first);
      _mm512_store_si512(to + kPanelTiles * 64, second);
    }
#pragma GCC unroll 2
    for (int half = 0; half < kProduct.parts; ++half) {
      const int64_t i = b * kProduct.parts + half;
      const Scales s = LoadScales<f>(chunk, blocks, i);
      _mm512_store_ps(out->scale + (i * kPanelTiles + t) * 16, s.scale);
      if constexpr (kProduct.has_min) _mm512_store_ps(out->min + (i * kPanelTiles + t) * 16, s.min);
    }
  }
}

// `tiles`: how many of the two there are; the other one repeats the first.
template <F f>
void UnpackPanel(const uint8_t* chunk, int64_t tile_bytes, int tiles, int64_t blocks, Panel* out) {
  for (int t = 0; t < kPanelTiles; ++t) {
    const uint8_t* from = chunk + (t < tiles ? t : 0) * tile_bytes;
    if constexpr (RowOf(f).data == Data::kStored) {
      UnpackStoredTile<f>(from, t, out);
    } else {
      UnpackTile<f>(from, blocks, t, out);
    }
  }
}

// What the integer sum of part `half` of a block starts at, so that it becomes kMagic + the dot product.
template <Product p>
MOTLEY_CPU_INLINE __m512i Start(const ActivationBlock& x, int half) {
  switch (p.zero) {
    case 8: return _mm512_set1_epi32(x.start_8);
    case 32: return _mm512_set1_epi32(p.parts == 1 ? x.start_32 : half == 0 ? x.start_32_low : x.start_32_high);
    case 64: {  // magic - 64 sum = 2 (magic - 32 sum) - magic
      const __m512i start = _mm512_set1_epi32(p.parts == 1 ? x.start_32 : half == 0 ? x.start_32_low : x.start_32_high);
      return _mm512_sub_epi32(_mm512_slli_epi32(start, 1), _mm512_set1_epi32(kMagicBits));
    }
    case 128: return _mm512_set1_epi32(x.start_128);
    default: return _mm512_set1_epi32(kMagicBits);
  }
}

// The next link of the chain.
template <Product p>
MOTLEY_CPU_INLINE __m512 Accumulate(__m512 acc, __m512i dot, const ActivationBlock& x, int half, const Scales& w) {
  const __m512 scale = _mm512_set1_ps(x.scale), minus_magic = _mm512_set1_ps(x.minus_magic);
  acc = _mm512_fmadd_ps(_mm512_fmadd_ps(_mm512_castsi512_ps(dot), scale, minus_magic), w.scale, acc);
  if constexpr (p.has_min && p.parts == 1) {
    acc = _mm512_fmadd_ps(w.min, _mm512_set1_ps(x.sum), acc);
  } else if constexpr (p.has_min) {
    // A start is -32 times the sum of its half, when it is read like any dot product.
    const __m512i sum = _mm512_set1_epi32(half == 0 ? x.start_32_low : x.start_32_high);
    acc = _mm512_fmadd_ps(w.min, _mm512_fmadd_ps(_mm512_castsi512_ps(sum), scale, minus_magic), acc);
  }
  return acc;
}

// Applies the weight's factor, adds bias and residual and stores one row of one tile.
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

// Rows of y are far apart: without this each store of the last chunk waits for its line.
inline void PrefetchOutputs(const LinearCall& c, int64_t tile, int64_t row, int64_t rows) {
  for (int64_t r = row; r < row + rows; ++r) {
    const float* y = c.y + r * c.y_stride + tile * kTileRows;
    _mm_prefetch(reinterpret_cast<const char*>(y), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(y + kTileRows), _MM_HINT_T0);
  }
}

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
