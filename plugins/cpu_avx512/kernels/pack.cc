// Stored bytes to tiles (layout.h), and rows of tiles back to floats.
#include <cstring>

#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/simd.h"
#include "plugins/cpu_avx512/kernels/stored.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

using F = WeightFormat;

float Half(uint16_t bits) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits))); }

// ---- Codes of 16 rows to the data of a chunk ------------------------------------------------------------------------

using Rows = uint8_t[kTileRows][kChunkElems];

// [lane][4] of k-group g.
__m512i Group(const Rows& rows, int64_t g) {
  const __m512i offsets = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                             _mm512_set1_epi32(kChunkElems));
  return _mm512_i32gather_epi32(offsets, reinterpret_cast<const int*>(&rows[0][g * 4]), 1);
}

// Bits [from, from + width) of each code of 8 / width k-groups, one group above the other in a byte.
void Collect(const Rows& rows, int64_t first_group, int from, int width, uint8_t* to) {
  __m512i all = _mm512_setzero_si512();
  const __m512i mask = _mm512_set1_epi8(static_cast<char>((1 << width) - 1));
  for (int i = 0; i < 8 / width; ++i) {
    const __m512i codes = Group(rows, first_group + i);
    const __m512i bits = _mm512_and_si512(_mm512_srl_epi16(codes, _mm_cvtsi32_si128(from)), mask);
    all = _mm512_or_si512(all, _mm512_sll_epi16(bits, _mm_cvtsi32_si128(width * i)));
  }
  _mm512_store_si512(to, all);
}

void PackBlock(Data data, const Rows& rows, int64_t block, uint8_t* to) {
  const int64_t g = block * 8;
  switch (data) {
    case Data::kBytes:
      for (int i = 0; i < 8; ++i) _mm512_store_si512(to + i * 64, Group(rows, g + i));
      return;
    case Data::kNibbles:
    case Data::kNibblesAndBit:
      for (int i = 0; i < 4; ++i) Collect(rows, g + 2 * i, 0, 4, to + i * 64);
      if (data == Data::kNibblesAndBit) Collect(rows, g, 4, 1, to + 256);
      return;
    case Data::kNibblesAndTwo:
      for (int half = 0; half < 2; ++half) {
        for (int i = 0; i < 2; ++i) Collect(rows, g + half * 4 + i * 2, 0, 4, to + half * 192 + i * 64);
        Collect(rows, g + half * 4, 4, 2, to + half * 192 + 128);
      }
      return;
    case Data::kTwo:
    case Data::kTwoAndBit:
      for (int half = 0; half < 2; ++half) Collect(rows, g + half * 4, 0, 2, to + half * 64);
      if (data == Data::kTwoAndBit) Collect(rows, g, 2, 1, to + 128);
      return;
    default: return;
  }
}

void PackQuantisedTile(F f, const uint8_t* rows, int lanes, int64_t k, uint8_t* packed) {
  const int64_t row_bytes = StoredRowBytes(f, k);
  alignas(64) Rows codes;
  std::memset(codes, 0, sizeof(codes));
  for (int64_t e = 0; e < k; e += kChunkElems) {
    const int64_t elems = k - e < kChunkElems ? k - e : kChunkElems, blocks = elems / 32;
    std::memset(packed, 0, static_cast<size_t>(HeaderBytes(f, blocks)));
    for (int lane = 0; lane < lanes; ++lane) {
      const uint8_t* p = rows + lane * row_bytes + StoredRowBytes(f, e);
      StoredToCodes(f, p, elems, codes[lane]);
      PackHeader(f, p, blocks, lane, packed);
    }
    packed += HeaderBytes(f, blocks);
    for (int64_t b = 0; b < blocks; ++b, packed += BlockDataBytes(f)) PackBlock(RowOf(f).data, codes, b, packed);
  }
}

// [chunk][lane] of stored blocks.
void PackStoredTile(F f, const uint8_t* rows, int lanes, int64_t k, uint8_t* packed) {
  const int64_t row_bytes = StoredRowBytes(f, k), block_bytes = StoredBlockOf(f).bytes;
  std::memset(packed, 0, static_cast<size_t>(TileBytes(f, k)));
  for (int64_t at = 0; at < row_bytes; at += block_bytes) {
    for (int lane = 0; lane < lanes; ++lane) {
      std::memcpy(packed + at * kTileRows + lane * block_bytes, rows + lane * row_bytes + at,
                  static_cast<size_t>(block_bytes));
    }
  }
}

void PackFloatTile(F f, const uint8_t* rows, int lanes, int64_t k, uint8_t* packed) {
  const int64_t row_bytes = StoredRowBytes(f, k), elem = f == F::kF32 ? 4 : 2;
  std::memset(packed, 0, static_cast<size_t>(TileBytes(f, k)));
  // A few k at a time, so that the lines written stay in cache while the lanes come by.
  for (int64_t e = 0; e < k; e += 16) {
    const int64_t end = e + 16 < k ? e + 16 : k;
    for (int lane = 0; lane < lanes; ++lane) {
      const uint8_t* p = rows + lane * row_bytes;
      if (elem == 4) {
        for (int64_t i = e; i < end; ++i) std::memcpy(packed + i * 64 + lane * 4, p + i * 4, 4);
      } else {
        for (int64_t i = e; i < end; ++i) std::memcpy(packed + i * 32 + lane * 2, p + i * 2, 2);
      }
    }
  }
}

// ---- Back: one lane of one block of 32 ------------------------------------------------------------------------------

// Value = scale * (code - zero) - min, with at most one rounding: the products are exact in f32.
struct LaneScale {
  float scale, min;
};

// Number `i` of a chunk.
LaneScale ReadScale(Scale scale, const uint8_t* header, int64_t blocks, int64_t i, int lane) {
  const auto half = [&](int64_t at) { return Half(Load16(header + at + lane * 2)); };
  const auto byte = [&](int64_t at) { return int{header[at + lane]}; };
  switch (scale) {
    case Scale::kHalf: return {half(i * 32), 0};
    case Scale::kHalfAndMin: return {half(i * 32), half((blocks + i) * 32)};  // added
    case Scale::kSixAndMin:
      return {half(0) * static_cast<float>(byte(64 + i * 16)), half(32) * static_cast<float>(byte(192 + i * 16))};
    case Scale::kFourAndMin:
      return {half(0) * static_cast<float>(byte(64 + i * 16) & 15), half(32) * static_cast<float>(byte(64 + i * 16) >> 4)};
    case Scale::kSix: {
      const int low = byte(32 + i / 2 * 16) >> (i % 2 * 4) & 15, high = byte(160 + i / 4 * 16) >> (i % 4 * 2) & 3;
      return {half(0) * static_cast<float>((low | high << 4) - 32), 0};
    }
    case Scale::kInt8: return {half(0) * static_cast<float>(static_cast<int8_t>(byte(32 + i * 16))), 0};
    case Scale::kE8m0: {
      const int e = byte(i * 16);
      const uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23;
      float value;
      std::memcpy(&value, &bits, 4);
      return {value, 0};
    }
    case Scale::kUe4m3: return {Half(static_cast<uint16_t>(byte(i * 16) << 7)) * 128.0f, 0};
    default: return {0, 0};
  }
}

// Of element i of a block.
int ReadCode(Data data, const uint8_t* block, int i, int lane) {
  const int group = i / 4, j = lane * 4 + i % 4;
  const auto bits = [&](int at, int width, int nth) {
    return block[at + j] >> (nth * width) & ((1 << width) - 1);
  };
  switch (data) {
    case Data::kBytes: return block[group * 64 + j];
    case Data::kNibbles: return bits(group / 2 * 64, 4, group % 2);
    case Data::kNibblesAndBit: return bits(group / 2 * 64, 4, group % 2) | bits(256, 1, group) << 4;
    case Data::kNibblesAndTwo: {
      const int half = group / 4 * 192;
      return bits(half + group % 4 / 2 * 64, 4, group % 2) | bits(half + 128, 2, group % 4) << 4;
    }
    case Data::kTwo: return bits(group / 4 * 64, 2, group % 4);
    case Data::kTwoAndBit: return bits(group / 4 * 64, 2, group % 4) | bits(128, 1, group) << 2;
    default: return 0;
  }
}

void UnpackQuantisedRow(F f, const uint8_t* tile, int64_t k, int lane, float* out) {
  const FormatRow& row = RowOf(f);
  const int64_t part = 32 / row.scales_per_block;  // elements a scale
  for (int64_t e = 0; e < k; e += kChunkElems) {
    const int64_t elems = k - e < kChunkElems ? k - e : kChunkElems, blocks = elems / 32;
    const uint8_t* data = tile + HeaderBytes(f, blocks);
    for (int64_t i = 0; i < elems; i += part) {
      const LaneScale s = ReadScale(row.scale, tile, blocks, i / part, lane);
      const uint8_t* block = data + i / 32 * BlockDataBytes(f);
      for (int64_t j = i; j < i + part; ++j) {
        const int code = ReadCode(row.data, block, static_cast<int>(j % 32), lane);
        const float product = s.scale * static_cast<float>(HasCodebook(f) ? ValueOfCode(f, code) : code - row.zero);
        out[e + j] = !HasMin(f) ? product : row.scale == Scale::kHalfAndMin ? product + s.min : product - s.min;
      }
    }
    tile += ChunkBytes(f, blocks);
  }
}

}  // namespace

void PackTiles(F format, const uint8_t* rows, int64_t n_out, int64_t k, int64_t tile_begin, int64_t tile_end,
               uint8_t* packed) {
  const auto pack = RowOf(format).data == Data::kStored ? PackStoredTile
                    : IsQuantised(format)               ? PackQuantisedTile
                                                        : PackFloatTile;
  for (int64_t t = tile_begin; t < tile_end; ++t) {
    const int64_t left = n_out - t * kTileRows;
    const int lanes = left < kTileRows ? static_cast<int>(left) : kTileRows;
    pack(format, rows + (t - tile_begin) * kTileRows * StoredRowBytes(format, k), lanes, k, packed + t * TileBytes(format, k));
  }
}

void UnpackRow(F format, const uint8_t* packed, int64_t k, int64_t row, float* out) {
  const uint8_t* tile = packed + row / kTileRows * TileBytes(format, k);
  const int lane = static_cast<int>(row % kTileRows);
  if (RowOf(format).data == Data::kStored) {
    const int64_t block_bytes = StoredBlockOf(format).bytes;
    for (int64_t e = 0; e < k; e += kChunkElems, tile += kTileRows * block_bytes) {
      DequantiseStored(format, tile + lane * block_bytes, kChunkElems, out + e);
    }
    return;
  }
  if (IsQuantised(format)) return UnpackQuantisedRow(format, tile, k, lane, out);
  const int64_t elem = format == F::kF32 ? 4 : 2;
  for (int64_t i = 0; i < k; ++i) ConvertToFloat(format, tile + (i * kTileRows + lane) * elem, 1, out + i);
}

void ConvertToFloat(F format, const uint8_t* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    if (format == F::kF32) {
      std::memcpy(to + i, from + i * 4, 4);
    } else if (format == F::kF16) {
      to[i] = Half(Load16(from + i * 2));
    } else {
      const uint32_t wide = static_cast<uint32_t>(Load16(from + i * 2)) << 16;
      std::memcpy(to + i, &wide, 4);
    }
  }
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA
