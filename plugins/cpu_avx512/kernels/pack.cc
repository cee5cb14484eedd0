// Stored bytes to tiles (layout.h), and rows of tiles back to floats.
#include <cstring>

#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

using F = WeightFormat;

float Half(uint16_t bits) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits))); }
uint16_t Load16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}
void Store16(uint8_t* p, uint16_t v) { std::memcpy(p, &v, 2); }

// ---- From stored blocks to one byte a weight -----------------------------------------------------------------------

// The weights of `elems` (a chunk: at most 256) elements of one row, unsigned, zero point not taken out.
void StoredToBytes(F f, const uint8_t* p, int64_t elems, uint8_t* out) {
  switch (f) {
    case F::kQ8_0:
      for (int64_t b = 0; b < elems / 32; ++b) {
        for (int i = 0; i < 32; ++i) out[b * 32 + i] = p[b * 34 + 2 + i] ^ 0x80;  // + 128
      }
      return;
    case F::kQ4_0:
    case F::kQ4_1: {
      const int block_bytes = f == F::kQ4_0 ? 18 : 20;
      for (int64_t b = 0; b < elems / 32; ++b) {
        const uint8_t* q = p + b * block_bytes + block_bytes - 16;
        for (int i = 0; i < 16; ++i) {
          out[b * 32 + i] = q[i] & 15;
          out[b * 32 + 16 + i] = q[i] >> 4;
        }
      }
      return;
    }
    case F::kQ4_K:
      for (int c = 0; c < 4; ++c) {
        const uint8_t* q = p + 16 + c * 32;
        for (int i = 0; i < 32; ++i) {
          out[c * 64 + i] = q[i] & 15;
          out[c * 64 + 32 + i] = q[i] >> 4;
        }
      }
      return;
    case F::kQ6_K:
      for (int half = 0; half < 2; ++half) {
        const uint8_t* low = p + half * 64;
        const uint8_t* high = p + 128 + half * 32;
        for (int i = 0; i < 32; ++i) {
          uint8_t* o = out + half * 128 + i;
          o[0] = (low[i] & 15) | (high[i] & 3) << 4;
          o[32] = (low[i + 32] & 15) | (high[i] >> 2 & 3) << 4;
          o[64] = (low[i] >> 4) | (high[i] >> 4 & 3) << 4;
          o[96] = (low[i + 32] >> 4) | (high[i] >> 6) << 4;
        }
      }
      return;
    default: return;
  }
}

// Scale and minimum of sub-block j of a Q4_K block, six bits each.
void Q4KScale(const uint8_t* p, int j, uint8_t* scale, uint8_t* min) {
  const uint8_t* s = p + 4;
  if (j < 4) {
    *scale = s[j] & 63;
    *min = s[j + 4] & 63;
  } else {
    *scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
    *min = (s[j + 4] >> 4) | (s[j] >> 6) << 4;
  }
}

// The header of a chunk, for one lane.
void PackHeader(F f, const uint8_t* p, int64_t blocks, int lane, uint8_t* header) {
  switch (f) {
    case F::kQ8_0:
      for (int64_t b = 0; b < blocks; ++b) Store16(header + b * 32 + lane * 2, Load16(p + b * 34));
      return;
    case F::kQ4_0:
      for (int64_t b = 0; b < blocks; ++b) Store16(header + b * 32 + lane * 2, Load16(p + b * 18));
      return;
    case F::kQ4_1:
      for (int64_t b = 0; b < blocks; ++b) {
        Store16(header + b * 32 + lane * 2, Load16(p + b * 20));
        Store16(header + (blocks + b) * 32 + lane * 2, Load16(p + b * 20 + 2));
      }
      return;
    case F::kQ4_K:
      Store16(header + lane * 2, Load16(p));
      Store16(header + 32 + lane * 2, Load16(p + 2));
      for (int j = 0; j < 8; ++j) Q4KScale(p, j, header + 64 + j * 16 + lane, header + 192 + j * 16 + lane);
      return;
    case F::kQ6_K:
      Store16(header + lane * 2, Load16(p + 208));
      for (int j = 0; j < 16; ++j) header[64 + j * 16 + lane] = p[192 + j];
      return;
    default: return;
  }
}

// ---- Bytes of 16 rows to the data of a chunk ------------------------------------------------------------------------

using Rows = uint8_t[kTileRows][kChunkElems];

// [lane][4] of k-group g.
__m512i Group(const Rows& rows, int64_t g) {
  const __m512i offsets = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                             _mm512_set1_epi32(kChunkElems));
  return _mm512_i32gather_epi32(offsets, reinterpret_cast<const int*>(&rows[0][g * 4]), 1);
}

void PackBlock(F f, const Rows& rows, int64_t block, uint8_t* to) {
  const int64_t g = block * 8;
  const __m512i nibble = _mm512_set1_epi8(15);
  if (f == F::kQ8_0) {
    for (int i = 0; i < 8; ++i) _mm512_store_si512(to + i * 64, Group(rows, g + i));
  } else if (f == F::kQ6_K) {
    for (int s = 0; s < 2; ++s, to += 192) {
      __m512i q[4], high = _mm512_setzero_si512();
      for (int i = 0; i < 4; ++i) {
        q[i] = Group(rows, g + s * 4 + i);
        const __m512i two = _mm512_and_si512(_mm512_srli_epi16(q[i], 4), _mm512_set1_epi8(3));
        high = _mm512_or_si512(high, _mm512_slli_epi16(two, static_cast<unsigned>(2 * i)));
        q[i] = _mm512_and_si512(q[i], nibble);
      }
      _mm512_store_si512(to, _mm512_or_si512(q[0], _mm512_slli_epi16(q[1], 4)));
      _mm512_store_si512(to + 64, _mm512_or_si512(q[2], _mm512_slli_epi16(q[3], 4)));
      _mm512_store_si512(to + 128, high);
    }
  } else {
    for (int i = 0; i < 4; ++i) {
      const __m512i low = Group(rows, g + 2 * i), high = Group(rows, g + 2 * i + 1);
      _mm512_store_si512(to + i * 64, _mm512_or_si512(low, _mm512_slli_epi16(high, 4)));
    }
  }
}

void PackQuantisedTile(F f, const uint8_t* rows, int lanes, int64_t k, uint8_t* packed) {
  const int64_t row_bytes = StoredRowBytes(f, k);
  alignas(64) Rows bytes;
  std::memset(bytes, 0, sizeof(bytes));
  for (int64_t e = 0; e < k; e += kChunkElems) {
    const int64_t elems = k - e < kChunkElems ? k - e : kChunkElems, blocks = elems / 32;
    std::memset(packed, 0, static_cast<size_t>(HeaderBytes(f, blocks)));
    for (int lane = 0; lane < lanes; ++lane) {
      const uint8_t* p = rows + lane * row_bytes + StoredRowBytes(f, e);
      StoredToBytes(f, p, elems, bytes[lane]);
      PackHeader(f, p, blocks, lane, packed);
    }
    packed += HeaderBytes(f, blocks);
    for (int64_t b = 0; b < blocks; ++b, packed += BlockDataBytes(f)) PackBlock(f, bytes, b, packed);
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

// Value = scale * (byte - zero) + min, with at most one rounding: the products are exact in f32.
struct LaneScale {
  float scale, min;
  int zero;
};

LaneScale ReadScale(F f, const uint8_t* header, int64_t blocks, int64_t i, int lane) {
  switch (f) {
    case F::kQ8_0: return {Half(Load16(header + i * 32 + lane * 2)), 0, 128};
    case F::kQ4_0: return {Half(Load16(header + i * 32 + lane * 2)), 0, 8};
    case F::kQ4_1:
      return {Half(Load16(header + i * 32 + lane * 2)), Half(Load16(header + (blocks + i) * 32 + lane * 2)), 0};
    case F::kQ4_K:
      return {Half(Load16(header + lane * 2)) * header[64 + i * 16 + lane],
              -(Half(Load16(header + 32 + lane * 2)) * header[192 + i * 16 + lane]), 0};
    default:
      return {Half(Load16(header + lane * 2)) * static_cast<int8_t>(header[64 + i * 16 + lane]), 0, 32};
  }
}

int ReadByte(F f, const uint8_t* data, int i, int lane) {
  const int group = i / 4, j = lane * 4 + i % 4;
  if (f == F::kQ8_0) return data[group * 64 + j];
  if (f != F::kQ6_K) {
    const int both = data[group / 2 * 64 + j];
    return group % 2 == 0 ? both & 15 : both >> 4;
  }
  const uint8_t* sub_block = data + group / 4 * 192;
  const int both = sub_block[group % 4 / 2 * 64 + j];
  return (group % 2 == 0 ? both & 15 : both >> 4) | (sub_block[128 + j] >> (2 * (group % 4)) & 3) << 4;
}

void UnpackQuantisedRow(F f, const uint8_t* tile, int64_t k, int lane, float* out) {
  for (int64_t e = 0; e < k; e += kChunkElems) {
    const int64_t elems = k - e < kChunkElems ? k - e : kChunkElems, blocks = elems / 32;
    const uint8_t* data = tile + HeaderBytes(f, blocks);
    const int64_t step = f == F::kQ6_K ? 16 : 32;  // elements a scale
    for (int64_t i = 0; i < elems; i += step) {
      const LaneScale s = ReadScale(f, tile, blocks, i / step, lane);
      const uint8_t* block = data + i / 32 * BlockDataBytes(f);
      for (int64_t j = 0; j < step; ++j) {
        const int byte = ReadByte(f, block, static_cast<int>(i % 32 + j), lane);
        out[e + i + j] = f == F::kQ4_1 || f == F::kQ4_K ? s.scale * static_cast<float>(byte) + s.min
                                                        : s.scale * static_cast<float>(byte - s.zero);
      }
    }
    tile += ChunkBytes(f, blocks);
  }
}

}  // namespace

void PackTiles(F format, const uint8_t* rows, int64_t n_out, int64_t k, int64_t tile_begin, int64_t tile_end,
               uint8_t* packed) {
  for (int64_t t = tile_begin; t < tile_end; ++t) {
    const int64_t left = n_out - t * kTileRows;
    const int lanes = left < kTileRows ? static_cast<int>(left) : kTileRows;
    const uint8_t* from = rows + (t - tile_begin) * kTileRows * StoredRowBytes(format, k);
    uint8_t* to = packed + t * TileBytes(format, k);
    if (IsQuantised(format)) {
      PackQuantisedTile(format, from, lanes, k, to);
    } else {
      PackFloatTile(format, from, lanes, k, to);
    }
  }
}

void UnpackRow(F format, const uint8_t* packed, int64_t k, int64_t row, float* out) {
  const uint8_t* tile = packed + row / kTileRows * TileBytes(format, k);
  const int lane = static_cast<int>(row % kTileRows);
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
