// The functions behind the tables of kernels.h, for the files that define them. Each of these files is compiled once
// an instruction set, with MOTLEY_CPU_ISA = avx512 or avx2: the namespace keeps the two apart.
#pragma once

#include "plugins/cpu_avx512/kernels/kernels.h"

namespace motley::cpu {

// Values of stored blocks (motley/dequant.hpp), in baseline code.
void DequantiseStored(WeightFormat format, const uint8_t* from, int64_t count, float* to);

}  // namespace motley::cpu

namespace motley::cpu::MOTLEY_CPU_ISA {

void LinearAmx(const LinearCall&, int64_t, int64_t, int64_t, int64_t, void*);
// With each of the two ways to sum products of bytes (dot.h). The families return whether they have the format.
#define MOTLEY_CPU_LINEAR(dot)                                                             \
  namespace dot {                                                                          \
  void Linear(const LinearCall&, int64_t, int64_t, int64_t, int64_t, void*);               \
  bool LinearBlocks(const LinearCall&, int64_t, int64_t, int64_t, int64_t, void*);         \
  bool LinearK(const LinearCall&, int64_t, int64_t, int64_t, int64_t, void*);              \
  bool LinearCodebook(const LinearCall&, int64_t, int64_t, int64_t, int64_t, void*);       \
  bool LinearGrid(const LinearCall&, int64_t, int64_t, int64_t, int64_t, void*);           \
  }
MOTLEY_CPU_LINEAR(vnni)
MOTLEY_CPU_LINEAR(bw)
#undef MOTLEY_CPU_LINEAR
void LinearFloat(const LinearCall&, int64_t, int64_t, int64_t, int64_t, void*);
void QuantiseRows(const float* x, int64_t x_stride, int64_t rows, int64_t k, int64_t row_begin, int64_t row_end,
                  ActivationBlock* out);
void PackTiles(WeightFormat format, const uint8_t* rows, int64_t n_out, int64_t k, int64_t tile_begin,
               int64_t tile_end, uint8_t* packed);
void UnpackRow(WeightFormat format, const uint8_t* packed, int64_t k, int64_t row, float* out);
void ConvertToFloat(WeightFormat format, const uint8_t* from, int64_t count, float* to);
void RmsNormRow(const float* x, const float* weight, int64_t k, double eps, float* y);
void SwigluRow(const float* gate, const float* up, int64_t k, float* y);
void AddRow(const float* a, const float* b, int64_t k, float* y);
// One head of q or k: rms_norm where there is a weight, then the rotation of its first dims.
void PrepareHead(const AttentionCall&, const float* in, const float* norm, int64_t token, float* out);
void WriteKv(const AttentionCall&, int64_t token, int64_t kv_head, void* scratch);
void Attend(const AttentionCall&, const int32_t* pages, int64_t first, int64_t count, int64_t head, int64_t heads,
            void* scratch);
void AttendChunks(const AttentionCall&, const int32_t* pages, int64_t token, int64_t head, int64_t heads,
                  int64_t chunk_begin, int64_t chunk_end, float* parts, int64_t part_stride, void* scratch);
void MergeChunks(const AttentionCall&, int64_t token, int64_t head, const float* parts);

}  // namespace motley::cpu::MOTLEY_CPU_ISA
