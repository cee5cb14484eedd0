// The kernels of this plugin as tables of plain functions, one table an instruction set.
//
// Only declarations: a file compiled without AVX-512 may include this. Call a kernel only after its features were
// found present (probe.h). All of them are pure functions of their arguments, take no lock and allocate nothing.
// Row r of an output depends on row r of the inputs alone, bit for bit, however rows and tiles are cut, and every
// table gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/cpu_avx512/kernels/attention.h"
#include "plugins/cpu_avx512/kernels/layout.h"

namespace motley::cpu {

// y[rows, n_out] = x[rows, n_in] weight^T * factor (+ bias) (+ residual).
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
  float factor = 1;                // of the whole weight
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
MOTLEY_CPU_FOLDED int64_t RowsPerCall(int64_t n_in) {
  const int64_t rows = (1 << 20) / (n_in * 2) / kGroupRows * kGroupRows;
  return rows < 48 ? 48 : rows > kMaxRowsPerCall ? kMaxRowsPerCall : rows;
}

struct Kernels {
  const char* name;  // "avx512", "avx2"

  LinearFn linear_amx;    // quantised weights, AMX_INT8 (many rows) and AVX512_VNNI; in avx2 a slow model, for tests
  LinearFn linear_vnni;   // quantised weights, AVX512_VNNI; in the table avx2 a slow model of it, for tests
  LinearFn linear_bw;     // quantised weights, without it
  LinearFn linear_float;  // F32, F16, BF16

  // Rounds rows [row_begin, row_end) of x to int8 in blocks of 32. k is a multiple of 32.
  void (*quantise_rows)(const float* x, int64_t x_stride, int64_t rows, int64_t k, int64_t row_begin, int64_t row_end,
                        ActivationBlock* out);

  // Packs tiles [tile_begin, tile_end) from stored rows; `rows` points at the first row of tile_begin.
  void (*pack_tiles)(WeightFormat format, const uint8_t* rows, int64_t n_out, int64_t k, int64_t tile_begin,
                     int64_t tile_end, uint8_t* packed);
  // Row `row` of a packed weight, dequantised: the same values as from the stored bytes.
  void (*unpack_row)(WeightFormat format, const uint8_t* packed, int64_t k, int64_t row, float* out);
  // `count` stored F32, F16 or BF16 values, as floats.
  void (*convert_to_float)(WeightFormat format, const uint8_t* from, int64_t count, float* to);

  void (*rms_norm_row)(const float* x, const float* weight, int64_t k, double eps, float* y);  // y may be x
  void (*swiglu_row)(const float* gate, const float* up, int64_t k, float* y);
  void (*add_row)(const float* a, const float* b, int64_t k, float* y);

  // Attention: attention.h says what these do.
  WriteKvFn write_kv;
  AttendFn attend;
  AttendChunksFn attend_chunks;
  MergeChunksFn merge_chunks;
};

namespace avx512 {
extern const Kernels kKernels;  // needs AVX-512 F, BW, VL, DQ, FMA, F16C; linear_vnni also VNNI, linear_amx AMX too
}
namespace avx2 {
extern const Kernels kKernels;  // needs AVX2, FMA, F16C
}

}  // namespace motley::cpu
