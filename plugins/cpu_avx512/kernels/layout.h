// How weights and quantised activations lie in memory. Plain data: no AVX here, any file may include it.
//
// A packed weight is a row of tiles; a tile is 16 output rows, so that one zmm register holds one k of float weights
// or 4 k of int8 weights for all 16. Float tiles are [k][16]. Others are a row of chunks of 256 k (the last may be
// shorter); a chunk is a header (scales, minima) and data, both multiples of 64 bytes. For each of 16 rows ("[16]")
// the header has, by Scale of the format's row (formats.h):
//
//   kHalf        [block][16] f16 d
//   kHalfAndMin  [block][16] f16 d, then [block][16] f16 m
//   kSixAndMin   [16] f16 d, [16] f16 dmin, [8][16] u8 scale, [8][16] u8 min
//   kFourAndMin  [16] f16 d, [16] f16 dmin, [16][16] nibbles: scale low, min high
//   kSix         [16] f16 d, [8][16] low nibbles (even half block low), [4][16] the two bits above (from bit 0 up)
//   kInt8        [16] f16 d, [8 or 16][16] i8 scale
//   kE8m0        [block][16] u8         kUe4m3  [half block][16] u8 (bit 7 clear; 0x7f is a number)
//
// and the data of a block of 32 k are, by Data:
//
//   kBytes          [8][16][4] u8
//   kNibbles        [4][16][4]: byte [i][lane][j] has k = 8 i + j in its low half and k = 8 i + 4 + j in its high half
//   kNibblesAndBit  kNibbles, then [16][4]: byte [lane][j] has the fifth bit of k = 4 g + j as bit g
//   kNibblesAndTwo  [half block]{[2][16][4] nibbles, kTwo of what is above them}
//   kTwo            [half block][16][4]: byte [lane][j] has those of k = j, 4 + j, 8 + j, 12 + j from bit 0 up
//   kTwoAndBit      kTwo, then [16][4] as of kNibblesAndBit
//
// A chunk of kStored is [16] stored blocks, and has no header. Lanes past the last row of a weight are zero, scales too.
#pragma once

#include "plugins/cpu_avx512/kernels/formats.h"

namespace motley::cpu {

constexpr int kTileRows = 16;
constexpr int kChunkElems = 256;
constexpr int kChunkBlocks = kChunkElems / 32;

MOTLEY_CPU_FOLDED int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Bytes of the header of a chunk with `blocks` blocks of 32 (8, or fewer in the last chunk).
MOTLEY_CPU_FOLDED int64_t HeaderBytes(WeightFormat f, int64_t blocks) { return RoundUp(RowOf(f).header_bytes * blocks, 64); }

// Bytes of the data of one block of 32 k.
MOTLEY_CPU_FOLDED int64_t BlockDataBytes(WeightFormat f) {
  switch (RowOf(f).data) {
    case Data::kF32: return 2048;
    case Data::kHalf:
    case Data::kBf16: return 1024;
    case Data::kBytes: return 512;
    case Data::kNibbles: return 256;
    case Data::kNibblesAndBit: return 320;
    case Data::kNibblesAndTwo: return 384;
    case Data::kTwo: return 128;
    case Data::kTwoAndBit: return 192;
    case Data::kStored: return StoredBlockOf(f).bytes * kTileRows / kChunkBlocks;
  }
  return 0;
}
MOTLEY_CPU_FOLDED int64_t ChunkBytes(WeightFormat f, int64_t blocks) {
  return HeaderBytes(f, blocks) + blocks * BlockDataBytes(f);
}
MOTLEY_CPU_FOLDED int64_t TileBytes(WeightFormat f, int64_t k) {
  if (!IsQuantised(f)) return RoundUp(k / 32 * BlockDataBytes(f) + k % 32 * (BlockDataBytes(f) / 32), 64);
  const int64_t whole = k / kChunkElems, rest = k % kChunkElems / 32;
  return RoundUp(whole * ChunkBytes(f, 8) + (rest != 0 ? ChunkBytes(f, rest) : 0), 64);
}
MOTLEY_CPU_FOLDED int64_t Tiles(int64_t n_out) { return (n_out + kTileRows - 1) / kTileRows; }
MOTLEY_CPU_FOLDED int64_t PackedBytes(WeightFormat f, int64_t n_out, int64_t k) { return Tiles(n_out) * TileBytes(f, k); }

// Activations of one row and one block of 32 k, rounded to int8, with all that the kernels want to know of it.
// Integer accumulators start at kMagicBits - zero point * sum, so that read as a float they are kMagic + the
// signed dot product, exactly: taking `- kMagic` out costs no instruction of its own (it is in the next fma).
struct alignas(64) ActivationBlock {
  int8_t q[32];
  float scale;                // value = scale * q; its two lowest mantissa bits are 0, so that kMagic * scale is exact
  float minus_magic;          // -kMagic * scale
  float sum;                  // scale * (q[0] + ... + q[31])
  int32_t start_8;            // kMagicBits - 8 * (q[0] + ... + q[31])
  int32_t start_32;
  int32_t start_32_low;       // ... - 32 * (q[0] + ... + q[15])
  int32_t start_32_high;      // ... - 32 * (q[16] + ... + q[31])
  int32_t start_128;
};
static_assert(sizeof(ActivationBlock) == 64);

constexpr float kMagic = 12582912.0f;         // 3 * 2^22: floats next to it are 1 apart, for +- 2^22
constexpr int32_t kMagicBits = 0x4b400000;

// Rows of activations lie chunk by chunk, so that what meets one chunk of weights is one stretch of memory; in a
// chunk in groups of six rows, a group as [block][row in group]: what one micro kernel reads, in order. The last
// group has the rows that are left.
constexpr int kGroupRows = 6;

MOTLEY_CPU_FOLDED int64_t ActivationIndex(int64_t row, int64_t block, int64_t rows, int64_t blocks) {
  const int64_t first = row / kGroupRows * kGroupRows, begin = block / kChunkBlocks * kChunkBlocks;
  const int64_t size = rows - first < kGroupRows ? rows - first : kGroupRows;
  const int64_t here = blocks - begin < kChunkBlocks ? blocks - begin : kChunkBlocks;
  return begin * rows + first * here + (block - begin) * size + (row - first);
}

}  // namespace motley::cpu
