// From a file's blocks to what is packed: the codes of a row's elements, one byte each, and the scales of its chunk as
// layout.h has them. Scalar: it runs once, at load. (The formats that are packed as stored are in grid.h.)
// Source of the blocks' fields: motley/dequant.hpp.
#pragma once

#include <cstring>

#include "plugins/cpu_avx512/kernels/layout.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

inline uint16_t Load16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}
inline void Store16(uint8_t* p, uint16_t v) { std::memcpy(p, &v, 2); }

// ---- Codes -----------------------------------------------------------------------------------------------------------

// Element j of `half` * 2 is a low nibble, element j + half the high one of the same byte.
inline void SplitNibbles(const uint8_t* q, int half, uint8_t* out) {
  for (int j = 0; j < half; ++j) {
    out[j] = q[j] & 15;
    out[j + half] = q[j] >> 4;
  }
}

// Blocks of 32 that end in 16 bytes of nibbles; the fifth bits, where there are any, are the four bytes before.
inline void NibbleBlocks(const uint8_t* p, int64_t elems, int block_bytes, bool fifth, uint8_t* out) {
  for (int64_t b = 0; b < elems / 32; ++b, p += block_bytes, out += 32) {
    SplitNibbles(p + block_bytes - 16, 16, out);
    if (!fifth) continue;
    const uint8_t* bits = p + block_bytes - 20;
    for (int j = 0; j < 32; ++j) out[j] |= (bits[j / 8] >> (j % 8) & 1) << 4;
  }
}

// Two bits a plane: 128 elements share 32 bytes.
inline void TwoBits(const uint8_t* q, uint8_t* out) {
  for (int e = 0; e < 256; ++e) out[e] = q[e / 128 * 32 + e % 32] >> (e % 128 / 32 * 2) & 3;
}

// `elems` (a chunk: at most 256) elements of one row.
inline void StoredToCodes(WeightFormat f, const uint8_t* p, int64_t elems, uint8_t* out) {
  switch (f) {
    case WeightFormat::kQ8_0:
      for (int64_t b = 0; b < elems / 32; ++b) {
        for (int i = 0; i < 32; ++i) out[b * 32 + i] = p[b * 34 + 2 + i] ^ 0x80;  // + 128
      }
      return;
    case WeightFormat::kQ4_0:
    case WeightFormat::kQ4_1:
    case WeightFormat::kIQ4_NL:
    case WeightFormat::kMXFP4: return NibbleBlocks(p, elems, StoredBlockOf(f).bytes, false, out);
    case WeightFormat::kQ5_0:
    case WeightFormat::kQ5_1: return NibbleBlocks(p, elems, StoredBlockOf(f).bytes, true, out);
    case WeightFormat::kNVFP4:
      for (int64_t group = 0; group < elems / 16; ++group) {
        SplitNibbles(p + group / 4 * 36 + 4 + group % 4 * 8, 8, out + group * 16);
      }
      return;
    case WeightFormat::kIQ4_XS:
      for (int b = 0; b < 8; ++b) SplitNibbles(p + 8 + b * 16, 16, out + b * 32);
      return;
    case WeightFormat::kQ2_K: return TwoBits(p + 16, out);
    case WeightFormat::kQ3_K:
      TwoBits(p + 32, out);
      for (int e = 0; e < 256; ++e) out[e] |= (p[e % 32] >> (e / 32) & 1) << 2;
      return;
    case WeightFormat::kQ4_K:
      for (int c = 0; c < 4; ++c) SplitNibbles(p + 16 + c * 32, 32, out + c * 64);
      return;
    case WeightFormat::kQ5_K:
      for (int c = 0; c < 4; ++c) SplitNibbles(p + 48 + c * 32, 32, out + c * 64);
      for (int e = 0; e < 256; ++e) out[e] |= (p[16 + e % 32] >> (e / 32) & 1) << 4;
      return;
    case WeightFormat::kQ6_K:
      for (int half = 0; half < 2; ++half) {
        const uint8_t *low = p + half * 64, *high = p + 128 + half * 32;
        SplitNibbles(low, 64, out + half * 128);
        for (int e = 0; e < 128; ++e) out[half * 128 + e] |= (high[e % 32] >> (e / 32 * 2) & 3) << 4;
      }
      return;
    default: return;
  }
}

// ---- Scales ----------------------------------------------------------------------------------------------------------

// Scale and minimum of sub-block j of a Q4_K or Q5_K block, six bits each in 12 bytes.
inline void SixBitScale(const uint8_t* s, int j, uint8_t* scale, uint8_t* min) {
  if (j < 4) {
    *scale = s[j] & 63;
    *min = s[j + 4] & 63;
  } else {
    *scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
    *min = (s[j + 4] >> 4) | (s[j] >> 6) << 4;
  }
}

// A byte of UE4M3 as the kernels read it: the format's NaN stands for 0 (and only without the unused bit).
inline uint8_t Ue4m3(uint8_t stored) { return stored == 0x7f ? 0 : stored & 0x7f; }

// The header of a chunk, for one lane. Bytes that share are zero before.
inline void PackHeader(WeightFormat f, const uint8_t* p, int64_t blocks, int lane, uint8_t* header) {
  const int bytes = StoredBlockOf(f).bytes;
  switch (f) {
    case WeightFormat::kQ8_0:
    case WeightFormat::kQ4_0:
    case WeightFormat::kQ5_0:
    case WeightFormat::kIQ4_NL:
      for (int64_t b = 0; b < blocks; ++b) Store16(header + b * 32 + lane * 2, Load16(p + b * bytes));
      return;
    case WeightFormat::kQ4_1:
    case WeightFormat::kQ5_1:
      for (int64_t b = 0; b < blocks; ++b) {
        Store16(header + b * 32 + lane * 2, Load16(p + b * bytes));
        Store16(header + (blocks + b) * 32 + lane * 2, Load16(p + b * bytes + 2));
      }
      return;
    case WeightFormat::kQ4_K:
    case WeightFormat::kQ5_K:
      Store16(header + lane * 2, Load16(p));
      Store16(header + 32 + lane * 2, Load16(p + 2));
      for (int j = 0; j < 8; ++j) SixBitScale(p + 4, j, header + 64 + j * 16 + lane, header + 192 + j * 16 + lane);
      return;
    case WeightFormat::kQ2_K:
      Store16(header + lane * 2, Load16(p + 80));
      Store16(header + 32 + lane * 2, Load16(p + 82));
      for (int j = 0; j < 16; ++j) header[64 + j * 16 + lane] = p[j];
      return;
    case WeightFormat::kQ3_K:
      // Stored and packed have the low nibbles and the bits above them in different orders.
      Store16(header + lane * 2, Load16(p + 108));
      for (int j = 0; j < 16; ++j) {
        const int low = j < 8 ? p[96 + j] & 15 : p[96 + j - 8] >> 4, high = p[104 + j % 4] >> (j / 4 * 2) & 3;
        header[32 + j / 2 * 16 + lane] |= static_cast<uint8_t>(low << (j % 2 * 4));
        header[160 + j / 4 * 16 + lane] |= static_cast<uint8_t>(high << (j % 4 * 2));
      }
      return;
    case WeightFormat::kQ6_K:
      Store16(header + lane * 2, Load16(p + 208));
      for (int j = 0; j < 16; ++j) header[32 + j * 16 + lane] = p[192 + j];
      return;
    case WeightFormat::kIQ4_XS:
      Store16(header + lane * 2, Load16(p));
      for (int j = 0; j < 8; ++j) {
        const int six = (p[4 + j / 2] >> (j % 2 * 4) & 15) | (Load16(p + 2) >> (2 * j) & 3) << 4;
        header[32 + j * 16 + lane] = static_cast<uint8_t>(six - 32);
      }
      return;
    case WeightFormat::kMXFP4:
      for (int64_t b = 0; b < blocks; ++b) header[b * 16 + lane] = p[b * bytes];
      return;
    case WeightFormat::kNVFP4:
      for (int64_t half = 0; half < blocks * 2; ++half) header[half * 16 + lane] = Ue4m3(p[half / 4 * bytes + half % 4]);
      return;
    default: return;
  }
}

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
