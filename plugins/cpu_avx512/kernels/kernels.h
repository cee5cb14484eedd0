// The kernels of this plugin as plain functions, and the tables by which the best of them is chosen.
//
// Only declarations: a file compiled without AVX-512 may include this. Call a kernel only after its features were
// found present (probe.h). All of them are pure functions of their arguments, take no lock and allocate nothing.
// Row r of an output depends on row r of the inputs alone, bit for bit, however rows and tiles are cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/cpu_avx512/kernels/layout.h"

namespace motley::cpu {

// y[rows, n_out] = x[rows, n_in] weight^T (+ bias) (+ residual).
struct LinearCall {
  WeightFormat format;
  const uint8_t* weight;           // packed
  int64_t n_out, n_in;
  const float* x;                  // float formats: [rows], x_stride apart
  int64_t x_stride;
  const ActivationBlock* blocks;   // quantised formats: see ActivationIndex
  int64_t rows;                    // all of them: the form of the groups depends on it
  float* y;
  int64_t y_stride;
  const float* bias;               // [n_out] or null
  const float* residual;           // [rows], residual_stride apart, or null; may be y itself
  int64_t residual_stride;
};

// Computes rows [row_begin, row_end) of tiles [tile_begin, tile_end). row_begin is a multiple of kGroupRows, row_end
// too or all rows.
// `scratch`: the thread's own kLinearScratchBytes, 64-byte aligned.
using LinearFn = void (*)(const LinearCall&, int64_t tile_begin, int64_t tile_end, int64_t row_begin,
                          int64_t row_end, void* scratch);
constexpr int64_t kLinearScratchBytes = 160 << 10;
constexpr int64_t kMaxRowsPerCall = 504;  // a multiple of kGroupRows; bounds the scratch

// Rows that one call should be given at most, so that its activations (two bytes a value) stay in the L2 cache: a
// multiple of kGroupRows. Fewer rows a call mean that weights are unpacked more often.
constexpr int64_t RowsPerCall(int64_t n_in) {
  const int64_t rows = (1 << 20) / (n_in * 2) / kGroupRows * kGroupRows;
  return rows < 48 ? 48 : rows > kMaxRowsPerCall ? kMaxRowsPerCall : rows;
}

void LinearVnni(const LinearCall&, int64_t, int64_t, int64_t, int64_t, void*);   // quantised, AVX512_VNNI
void LinearBw(const LinearCall&, int64_t, int64_t, int64_t, int64_t, void*);     // quantised, the same bits
void LinearFloat(const LinearCall&, int64_t, int64_t, int64_t, int64_t, void*);  // F32, F16, BF16

// Rounds rows [row_begin, row_end) of x to int8 in blocks of 32. k is a multiple of 32.
void QuantiseRows(const float* x, int64_t x_stride, int64_t rows, int64_t k, int64_t row_begin, int64_t row_end,
                  ActivationBlock* out);

// Packs tiles [tile_begin, tile_end) from stored rows; `rows` points at the first row of tile_begin.
void PackTiles(WeightFormat format, const uint8_t* rows, int64_t n_out, int64_t k, int64_t tile_begin,
               int64_t tile_end, uint8_t* packed);
// Row `row` of a packed weight, dequantised: the same values as from the stored bytes.
void UnpackRow(WeightFormat format, const uint8_t* packed, int64_t k, int64_t row, float* out);

// `count` stored F32, F16 or BF16 values, as floats.
void ConvertToFloat(WeightFormat format, const uint8_t* from, int64_t count, float* to);

void RmsNormRow(const float* x, const float* weight, int64_t k, double eps, float* y);  // y may be x
void SwigluRow(const float* gate, const float* up, int64_t k, float* y);
void AddRow(const float* a, const float* b, int64_t k, float* y);

}  // namespace motley::cpu
