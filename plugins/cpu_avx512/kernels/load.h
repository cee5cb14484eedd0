// From the packed bytes of quantised weights (layout.h) to what is multiplied: unsigned bytes, and scales in f32.
// A load is a few instructions a register; each format's are chosen by its row of formats.h when it is compiled.
#pragma once

#include "plugins/cpu_avx512/kernels/layout.h"
#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

using F = WeightFormat;

// ---- Bits ------------------------------------------------------------------------------------------------------------

// Each 16-bit half of v shifted left by -6 .. 5; below 0 that is right. A switch, since compilers want a literal in the instruction.
MOTLEY_CPU_INLINE __m512i Shift(__m512i v, int left) {
  switch (left) {
    case 5: return _mm512_slli_epi16(v, 5);
    case 4: return _mm512_slli_epi16(v, 4);
    case 3: return _mm512_slli_epi16(v, 3);
    case 2: return _mm512_slli_epi16(v, 2);
    case 1: return _mm512_slli_epi16(v, 1);
    case 0: return v;
    case -1: return _mm512_srli_epi16(v, 1);
    case -2: return _mm512_srli_epi16(v, 2);
    case -3: return _mm512_srli_epi16(v, 3);
    case -4: return _mm512_srli_epi16(v, 4);
    case -5: return _mm512_srli_epi16(v, 5);
    default: return _mm512_srli_epi16(v, 6);
  }
}
// `count` bits of each byte, from bit `from` on, moved to bit `to`; the others 0.
MOTLEY_CPU_INLINE __m512i Bits(__m512i v, int count, int from, int to) {
  return _mm512_and_si512(Shift(v, to - from), _mm512_set1_epi8(static_cast<char>(((1 << count) - 1) << to)));
}

// k-groups 2 i and 2 i + 1 (8 k) of a block, [lane][4] bytes each, as they are multiplied: see FormatRow.
template <F f>
MOTLEY_CPU_INLINE void LoadWeights(const uint8_t* data, int i, __m512i* first, __m512i* second) {
  constexpr FormatRow kRow = RowOf(f);
  constexpr int kShift = kRow.shift;
  if constexpr (kRow.data == Data::kBytes) {
    *first = _mm512_loadu_si512(data + i * 128);
    *second = _mm512_loadu_si512(data + i * 128 + 64);
  } else if constexpr (kRow.data == Data::kTwo || kRow.data == Data::kTwoAndBit) {
    const __m512i two = _mm512_loadu_si512(data + i / 2 * 64);
    *first = Bits(two, 2, i % 2 * 4, kShift);
    *second = Bits(two, 2, i % 2 * 4 + 2, kShift);
    if constexpr (kRow.data == Data::kTwoAndBit) {
      const __m512i bit = _mm512_loadu_si512(data + 128);
      *first = _mm512_or_si512(*first, Bits(bit, 1, 2 * i, 2 + kShift));
      *second = _mm512_or_si512(*second, Bits(bit, 1, 2 * i + 1, 2 + kShift));
    }
  } else if constexpr (kRow.data == Data::kNibblesAndTwo) {
    const uint8_t* half = data + i / 2 * 192;
    const __m512i low = _mm512_loadu_si512(half + i % 2 * 64), high = _mm512_loadu_si512(half + 128);
    *first = _mm512_or_si512(Bits(low, 4, 0, 0), Bits(high, 2, i % 2 * 4, 4));
    *second = _mm512_or_si512(Bits(low, 4, 4, 0), Bits(high, 2, i % 2 * 4 + 2, 4));
  } else {
    const __m512i both = _mm512_loadu_si512(data + i * 64);
    *first = Bits(both, 4, 0, kShift);
    *second = Bits(both, 4, 4, kShift);
    if constexpr (kRow.data == Data::kNibblesAndBit) {
      const __m512i bit = _mm512_loadu_si512(data + 256);
      *first = _mm512_or_si512(*first, Bits(bit, 1, 2 * i, 4 + kShift));
      *second = _mm512_or_si512(*second, Bits(bit, 1, 2 * i + 1, 4 + kShift));
    }
    if constexpr (HasCodebook(f)) {
      alignas(16) static constexpr auto kTable = [] {
        struct { uint8_t byte[16]; } table{};
        for (int c = 0; c < 16; ++c) table.byte[c] = static_cast<uint8_t>(ValueOfCode(f, c) + RowOf(f).product_zero);
        return table;
      }();
      const __m512i table = _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(kTable.byte)));
      *first = _mm512_shuffle_epi8(table, *first);
      *second = _mm512_shuffle_epi8(table, *second);
    }
  }
}

// ---- Scales ----------------------------------------------------------------------------------------------------------

// Of a block (or half block) for the 16 rows of a tile. A value is scale * (byte - zero point) + min; where there are
// two a block, min is to be multiplied by -32 times the sum of the activations (panel.h).
struct Scales {
  __m512 scale, min;
};

MOTLEY_CPU_INLINE __m512i LoadBytes(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
MOTLEY_CPU_INLINE __m512 LoadSigned(const uint8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

// 2^(e - 128), denormal for e < 2. As integers the larger of (e - 1) << 23 and (e + 1) << 21 is the float's bits.
MOTLEY_CPU_INLINE __m512 E8m0ToFloat(__m512i e) {
  const __m512i one = _mm512_set1_epi32(1);
  const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, one), 23);
  const __m512i denormal = _mm512_slli_epi32(_mm512_add_epi32(e, one), 21);
  return _mm512_castsi512_ps(_mm512_max_epi32(normal, denormal));
}
// Half of e4m3 without a sign: as f16 with seven more bits of fraction it is 2^-8 of its value.
MOTLEY_CPU_INLINE __m512 HalfOfUe4m3(const uint8_t* p) {
  const __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm512_mul_ps(_mm512_cvtph_ps(_mm256_slli_epi16(wide, 7)), _mm512_set1_ps(128.0f));
}

// Number `i` of a chunk of `blocks` blocks. All products here are exact: f16 has 11 bits, the others at most 8.
template <F f>
MOTLEY_CPU_INLINE Scales LoadScales(const uint8_t* header, int64_t blocks, int64_t i) {
  constexpr FormatRow kRow = RowOf(f);
  const __m512 none = _mm512_setzero_ps();
  const __m512 unit = _mm512_set1_ps(1.0f / (1 << kRow.shift));
  if constexpr (kRow.scale == Scale::kHalf) {
    const __m512 d = HalfToFloat(header + i * 32);
    return {kRow.shift == 0 ? d : _mm512_mul_ps(d, unit), none};
  } else if constexpr (kRow.scale == Scale::kHalfAndMin) {
    return {HalfToFloat(header + i * 32), HalfToFloat(header + (blocks + i) * 32)};
  } else if constexpr (kRow.scale == Scale::kSixAndMin) {
    const __m512 scale = _mm512_cvtepi32_ps(LoadBytes(header + 64 + i * 16));
    const __m512 min = _mm512_cvtepi32_ps(LoadBytes(header + 192 + i * 16));
    return {_mm512_mul_ps(HalfToFloat(header), scale),
            _mm512_mul_ps(_mm512_sub_ps(none, HalfToFloat(header + 32)), min)};
  } else if constexpr (kRow.scale == Scale::kFourAndMin) {
    const __m512i both = LoadBytes(header + 64 + i * 16);
    const __m512 scale = _mm512_cvtepi32_ps(_mm512_and_si512(both, _mm512_set1_epi32(15)));
    const __m512 min = _mm512_cvtepi32_ps(_mm512_srli_epi32(both, 4));
    // -min * sum = (min / 32) * (-32 * sum).
    return {_mm512_mul_ps(HalfToFloat(header), scale),
            _mm512_mul_ps(_mm512_mul_ps(HalfToFloat(header + 32), _mm512_set1_ps(1.0f / 32)), min)};
  } else if constexpr (kRow.scale == Scale::kSix) {
    const __m512i low = LoadBytes(header + 32 + i / 2 * 16), high = LoadBytes(header + 160 + i / 4 * 16);
    const __m512i four = i % 2 == 0 ? _mm512_and_si512(low, _mm512_set1_epi32(15)) : _mm512_srli_epi32(low, 4);
    const __m512i shift = _mm512_set1_epi32(static_cast<int>(i % 4 * 2));
    const __m512i two = _mm512_and_si512(_mm512_srlv_epi32(high, shift), _mm512_set1_epi32(3));
    const __m512i six = _mm512_sub_epi32(_mm512_or_si512(four, _mm512_slli_epi32(two, 4)), _mm512_set1_epi32(32));
    return {_mm512_mul_ps(_mm512_mul_ps(HalfToFloat(header), unit), _mm512_cvtepi32_ps(six)), none};
  } else if constexpr (kRow.scale == Scale::kInt8) {
    return {_mm512_mul_ps(HalfToFloat(header), LoadSigned(header + 32 + i * 16)), none};
  } else if constexpr (kRow.scale == Scale::kE8m0) {
    return {E8m0ToFloat(LoadBytes(header + i * 16)), none};
  } else {
    static_assert(kRow.scale == Scale::kUe4m3);
    return {HalfOfUe4m3(header + i * 16), none};
  }
}

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
