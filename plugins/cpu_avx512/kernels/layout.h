// How weights and quantised activations lie in memory. Plain data: no AVX-512 here, any file may include it.
//
// A packed weight is a row of tiles; a tile is 16 output rows, so that one zmm register holds one k of float weights
// or 4 k of int8 weights for all 16. A tile is a row of chunks of 256 k (the last may be shorter); a chunk is a
// header (scales, minima) and data, both multiples of 64 bytes:
//
//   F32            data [k][16] f32                   no chunks: K * 64 bytes
//   F16, BF16      data [k][16] 16 bit
//   Q8_0           header [block][16] f16 d           data [block][8][16][4] u8 = q + 128
//   Q4_0           header [block][16] f16 d           data [block][4][16][4] nibbles
//   Q4_1           header [block][16] f16 d, then m   data as Q4_0
//   Q4_K           header [16] f16 d, [16] f16 dmin, [8][16] u8 scale, [8][16] u8 min    data as Q4_0
//   Q6_K           header [16] f16 d, 32 bytes unused, [16][16] i8 scale
//                  data [16 sub-blocks]{[2][16][4] low nibbles, [16][4] two high bits}
//
// Nibbles: byte [i][lane][j] of a block holds k = 8 i + j in its low half and k = 8 i + 4 + j in its high half.
// High bits: byte [lane][j] of a sub-block holds those of k = j, 4 + j, 8 + j, 12 + j from bit 0 up.
// Lanes past the last row of a weight are zero, scales too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace motley::cpu {

// The ids of format_table.inc.
enum class WeightFormat : uint32_t {
  kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ4_1 = 3, kQ8_0 = 8, kQ4_K = 12, kQ6_K = 14, kBF16 = 30,
};

constexpr int kTileRows = 16;
constexpr int kChunkElems = 256;

constexpr bool IsSupported(uint32_t format) {
  return format == 0 || format == 1 || format == 2 || format == 3 || format == 8 || format == 12 || format == 14 ||
         format == 30;
}
constexpr bool IsQuantised(WeightFormat f) {
  return f != WeightFormat::kF32 && f != WeightFormat::kF16 && f != WeightFormat::kBF16;
}
// Elements of K must be a multiple of this.
constexpr int BlockElems(WeightFormat f) {
  return !IsQuantised(f) ? 1 : f == WeightFormat::kQ4_K || f == WeightFormat::kQ6_K ? 256 : 32;
}
constexpr int64_t StoredRowBytes(WeightFormat f, int64_t k) {
  switch (f) {
    case WeightFormat::kF32: return k * 4;
    case WeightFormat::kF16:
    case WeightFormat::kBF16: return k * 2;
    case WeightFormat::kQ4_0: return k / 32 * 18;
    case WeightFormat::kQ4_1: return k / 32 * 20;
    case WeightFormat::kQ8_0: return k / 32 * 34;
    case WeightFormat::kQ4_K: return k / 256 * 144;
    case WeightFormat::kQ6_K: return k / 256 * 210;
  }
  return 0;
}

constexpr int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Bytes of the header of a chunk with `blocks` blocks of 32 (8, or fewer in the last chunk).
constexpr int64_t HeaderBytes(WeightFormat f, int64_t blocks) {
  switch (f) {
    case WeightFormat::kQ4_0:
    case WeightFormat::kQ8_0: return RoundUp(blocks * 32, 64);
    case WeightFormat::kQ4_1: return blocks * 64;
    case WeightFormat::kQ4_K:
    case WeightFormat::kQ6_K: return 320;
    default: return 0;
  }
}
// Bytes of the data of one block of 32 k.
constexpr int64_t BlockDataBytes(WeightFormat f) {
  switch (f) {
    case WeightFormat::kF32: return 2048;
    case WeightFormat::kF16:
    case WeightFormat::kBF16: return 1024;
    case WeightFormat::kQ8_0: return 512;
    case WeightFormat::kQ6_K: return 384;
    default: return 256;
  }
}
constexpr int64_t ChunkBytes(WeightFormat f, int64_t blocks) {
  return HeaderBytes(f, blocks) + blocks * BlockDataBytes(f);
}
constexpr int64_t TileBytes(WeightFormat f, int64_t k) {
  if (f == WeightFormat::kF32) return k * 64;
  if (!IsQuantised(f)) return RoundUp(k * 32, 64);
  const int64_t whole = k / kChunkElems, rest = k % kChunkElems / 32;
  return whole * ChunkBytes(f, 8) + (rest != 0 ? ChunkBytes(f, rest) : 0);
}
constexpr int64_t Tiles(int64_t n_out) { return (n_out + kTileRows - 1) / kTileRows; }
constexpr int64_t PackedBytes(WeightFormat f, int64_t n_out, int64_t k) { return Tiles(n_out) * TileBytes(f, k); }

// Activations of one row and one block of 32 k, rounded to int8, with all that the kernels want to know of it.
// Integer accumulators start at kMagicBits - zero point * sum, so that read as a float they are kMagic + the
// signed dot product, exactly: taking `- kMagic` out costs no instruction of its own (it is in the next fma).
struct alignas(64) ActivationBlock {
  int8_t q[32];
  float scale;                // value = scale * q; its two lowest mantissa bits are 0, so that kMagic * scale is exact
  float minus_magic;          // -kMagic * scale
  float sum;                  // scale * (q[0] + ... + q[31])
  int32_t start_0;            // kMagicBits
  int32_t start_8;            // Q4_0: nibbles - 8
  int32_t start_128;          // Q8_0: bytes - 128
  int32_t start_32_low;       // Q6_K: 6 bits - 32, over q[0..15]
  int32_t start_32_high;      // ... over q[16..31]
};
static_assert(sizeof(ActivationBlock) == 64);

constexpr float kMagic = 12582912.0f;         // 3 * 2^22: floats next to it are 1 apart, for +- 2^22
constexpr int32_t kMagicBits = 0x4b400000;

// Rows of activations lie chunk by chunk, so that what meets one chunk of weights is one stretch of memory; in a
// chunk in groups of six rows, a group as [block][row in group]: what one micro kernel reads, in order. The last
// group has the rows that are left.
constexpr int kGroupRows = 6;
constexpr int kChunkBlocks = kChunkElems / 32;

constexpr int64_t ActivationIndex(int64_t row, int64_t block, int64_t rows, int64_t blocks) {
  const int64_t first = row / kGroupRows * kGroupRows, begin = block / kChunkBlocks * kChunkBlocks;
  const int64_t size = rows - first < kGroupRows ? rows - first : kGroupRows;
  const int64_t here = blocks - begin < kChunkBlocks ? blocks - begin : kChunkBlocks;
  return begin * rows + first * here + (block - begin) * size + (row - first);
}

}  // namespace motley::cpu
