// The AVX-512 intrinsics that the kernels use, in terms of AVX2: a 512-bit register is two of 256 bits.
//
// So one source of kernels serves both: on a CPU with AVX2 alone they run, more slowly, with the same bits; and every
// test of them runs on any machine. A kernel that needs a further intrinsic adds it here, with the semantics that
// Intel's Intrinsics Guide states, NaN operands and saturation included (simd_test.cc checks each of them against
// scalar code, on AVX-512 too).
//
// The names are those of <immintrin.h>: inside motley::cpu::avx2 these hide the global ones. Where a compiler has
// macros in their place, they are undefined first.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#undef _mm512_cvtepi32_ps
#undef _mm512_extractf32x8_ps
#undef _mm512_extractf64x4_pd
#undef _mm512_i32gather_epi32
#undef _mm512_insertf32x8
#undef _mm512_mask_i32scatter_ps
#undef _mm512_roundscale_ps
#undef _mm512_slli_epi16
#undef _mm512_slli_epi32
#undef _mm512_srli_epi16
#undef _mm512_srli_epi32

namespace motley::cpu::avx2 {
namespace {

struct Register512 {
  __m256 low, high;
};
struct Register512d {
  __m256d low, high;
};
struct Register512i {
  __m256i low, high;
};
using __m512 = Register512;
using __m512d = Register512d;
using __m512i = Register512i;
using __mmask16 = uint16_t;

// Functions of whole registers, half by half. `inline` and unnamed: a file that uses half of them gets no warning.
#define MOTLEY_HALVES_1(name, type, half) \
  inline type name(type a) { return {half(a.low), half(a.high)}; }
#define MOTLEY_HALVES_2(name, type, half) \
  inline type name(type a, type b) { return {half(a.low, b.low), half(a.high, b.high)}; }
#define MOTLEY_HALVES_3(name, type, half) \
  inline type name(type a, type b, type c) { return {half(a.low, b.low, c.low), half(a.high, b.high, c.high)}; }
#define MOTLEY_HALVES_SHIFT(name, half) \
  inline __m512i name(__m512i a, unsigned bits) { return {half(a.low, int(bits)), half(a.high, int(bits))}; }
#define MOTLEY_BOTH(name, type, half, argument) \
  inline type name(argument v) { return {half(v), half(v)}; }

MOTLEY_HALVES_2(_mm512_add_ps, __m512, _mm256_add_ps)
MOTLEY_HALVES_2(_mm512_sub_ps, __m512, _mm256_sub_ps)
MOTLEY_HALVES_2(_mm512_mul_ps, __m512, _mm256_mul_ps)
MOTLEY_HALVES_2(_mm512_div_ps, __m512, _mm256_div_ps)
MOTLEY_HALVES_2(_mm512_max_ps, __m512, _mm256_max_ps)
MOTLEY_HALVES_2(_mm512_min_ps, __m512, _mm256_min_ps)
MOTLEY_HALVES_3(_mm512_fmadd_ps, __m512, _mm256_fmadd_ps)
MOTLEY_HALVES_3(_mm512_fnmadd_ps, __m512, _mm256_fnmadd_ps)
MOTLEY_HALVES_2(_mm512_add_pd, __m512d, _mm256_add_pd)
MOTLEY_HALVES_2(_mm512_mul_pd, __m512d, _mm256_mul_pd)
MOTLEY_HALVES_3(_mm512_fmadd_pd, __m512d, _mm256_fmadd_pd)

MOTLEY_HALVES_2(_mm512_add_epi32, __m512i, _mm256_add_epi32)
MOTLEY_HALVES_2(_mm512_sub_epi32, __m512i, _mm256_sub_epi32)
MOTLEY_HALVES_2(_mm512_add_epi8, __m512i, _mm256_add_epi8)
MOTLEY_HALVES_2(_mm512_sub_epi8, __m512i, _mm256_sub_epi8)
MOTLEY_HALVES_2(_mm512_and_si512, __m512i, _mm256_and_si256)
MOTLEY_HALVES_2(_mm512_andnot_si512, __m512i, _mm256_andnot_si256)
MOTLEY_HALVES_2(_mm512_or_si512, __m512i, _mm256_or_si256)
MOTLEY_HALVES_2(_mm512_xor_si512, __m512i, _mm256_xor_si256)
MOTLEY_HALVES_2(_mm512_madd_epi16, __m512i, _mm256_madd_epi16)
MOTLEY_HALVES_2(_mm512_maddubs_epi16, __m512i, _mm256_maddubs_epi16)
MOTLEY_HALVES_2(_mm512_add_epi16, __m512i, _mm256_add_epi16)
MOTLEY_HALVES_1(_mm512_abs_epi8, __m512i, _mm256_abs_epi8)
MOTLEY_HALVES_2(_mm512_max_epi32, __m512i, _mm256_max_epi32)
MOTLEY_HALVES_2(_mm512_srlv_epi32, __m512i, _mm256_srlv_epi32)
MOTLEY_HALVES_2(_mm512_max_epu32, __m512i, _mm256_max_epu32)
MOTLEY_HALVES_2(_mm512_mullo_epi32, __m512i, _mm256_mullo_epi32)
MOTLEY_HALVES_2(_mm512_shuffle_epi8, __m512i, _mm256_shuffle_epi8)  // within each 16 bytes
MOTLEY_HALVES_SHIFT(_mm512_slli_epi16, _mm256_slli_epi16)
MOTLEY_HALVES_SHIFT(_mm512_slli_epi32, _mm256_slli_epi32)
MOTLEY_HALVES_SHIFT(_mm512_srli_epi16, _mm256_srli_epi16)
MOTLEY_HALVES_SHIFT(_mm512_srli_epi32, _mm256_srli_epi32)

#define MOTLEY_HALVES_COUNT(name, half) \
  inline __m512i name(__m512i a, __m128i bits) { return {half(a.low, bits), half(a.high, bits)}; }
MOTLEY_HALVES_COUNT(_mm512_sll_epi16, _mm256_sll_epi16)
MOTLEY_HALVES_COUNT(_mm512_srl_epi16, _mm256_srl_epi16)
#undef MOTLEY_HALVES_COUNT

MOTLEY_BOTH(_mm512_set1_ps, __m512, _mm256_set1_ps, float)
MOTLEY_BOTH(_mm512_set1_pd, __m512d, _mm256_set1_pd, double)
MOTLEY_BOTH(_mm512_set1_epi8, __m512i, _mm256_set1_epi8, char)
MOTLEY_BOTH(_mm512_set1_epi16, __m512i, _mm256_set1_epi16, short)
MOTLEY_BOTH(_mm512_set1_epi32, __m512i, _mm256_set1_epi32, int)
MOTLEY_BOTH(_mm512_broadcast_i32x4, __m512i, _mm256_broadcastsi128_si256, __m128i)

#undef MOTLEY_HALVES_1
#undef MOTLEY_HALVES_2
#undef MOTLEY_HALVES_3
#undef MOTLEY_HALVES_SHIFT
#undef MOTLEY_BOTH

inline __m512 _mm512_setzero_ps() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline __m512d _mm512_setzero_pd() { return {_mm256_setzero_pd(), _mm256_setzero_pd()}; }
inline __m512i _mm512_setzero_si512() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
inline __m512i _mm512_set_epi32(int a15, int a14, int a13, int a12, int a11, int a10, int a9, int a8, int a7, int a6,
                                int a5, int a4, int a3, int a2, int a1, int a0) {
  return {_mm256_set_epi32(a7, a6, a5, a4, a3, a2, a1, a0), _mm256_set_epi32(a15, a14, a13, a12, a11, a10, a9, a8)};
}

// ---- Loads and stores ----------------------------------------------------------------------------------------------

inline __m512i _mm512_loadu_si512(const void* p) {
  const auto* from = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
}
inline __m512i _mm512_load_si512(const void* p) { return _mm512_loadu_si512(p); }
inline void _mm512_storeu_si512(void* p, __m512i a) {
  auto* to = static_cast<__m256i*>(p);
  _mm256_storeu_si256(to, a.low);
  _mm256_storeu_si256(to + 1, a.high);
}
inline void _mm512_store_si512(void* p, __m512i a) { _mm512_storeu_si512(p, a); }
inline __m512 _mm512_loadu_ps(const void* p) {
  const auto* from = static_cast<const float*>(p);
  return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
}
inline __m512 _mm512_load_ps(const void* p) { return _mm512_loadu_ps(p); }
inline void _mm512_storeu_ps(void* p, __m512 a) {
  auto* to = static_cast<float*>(p);
  _mm256_storeu_ps(to, a.low);
  _mm256_storeu_ps(to + 8, a.high);
}
inline void _mm512_store_ps(void* p, __m512 a) { _mm512_storeu_ps(p, a); }

// All bits of a lane set where its bit of the mask is.
inline __m512i LanesOf(__mmask16 mask) {
  const __m256i bits = _mm256_set1_epi32(mask);
  const __m256i low = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i high = _mm256_slli_epi32(low, 8);
  return {_mm256_cmpeq_epi32(_mm256_and_si256(bits, low), low), _mm256_cmpeq_epi32(_mm256_and_si256(bits, high), high)};
}
inline __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const void* p) {
  const auto* from = static_cast<const float*>(p);
  if (mask == 0xffff) return _mm512_loadu_ps(p);
  const __m512i lanes = LanesOf(mask);
  return {_mm256_maskload_ps(from, lanes.low), _mm256_maskload_ps(from + 8, lanes.high)};
}
inline void _mm512_mask_storeu_ps(void* p, __mmask16 mask, __m512 a) {
  auto* to = static_cast<float*>(p);
  if (mask == 0xffff) return _mm512_storeu_ps(p, a);
  const __m512i lanes = LanesOf(mask);
  _mm256_maskstore_ps(to, lanes.low, a.low);
  _mm256_maskstore_ps(to + 8, lanes.high, a.high);
}
inline __m256i _mm256_maskz_loadu_epi16(__mmask16 mask, const void* p) {
  alignas(32) uint16_t lanes[16] = {};
  for (int i = 0; i < 16; ++i) {
    if (mask >> i & 1) std::memcpy(&lanes[i], static_cast<const uint8_t*>(p) + i * 2, 2);
  }
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes));
}
inline __m512i _mm512_i32gather_epi32(__m512i index, const void* base, int scale) {
  alignas(32) int32_t at[16], got[16];
  _mm512_storeu_si512(at, index);
  for (int i = 0; i < 16; ++i) std::memcpy(&got[i], static_cast<const uint8_t*>(base) + int64_t{at[i]} * scale, 4);
  return _mm512_loadu_si512(got);
}
inline void _mm512_mask_i32scatter_ps(void* base, __mmask16 mask, __m512i index, __m512 a, int scale) {
  alignas(32) int32_t at[16];
  alignas(32) float from[16];
  _mm512_storeu_si512(at, index);
  _mm512_storeu_ps(from, a);
  for (int i = 0; i < 16; ++i) {
    if (mask >> i & 1) std::memcpy(static_cast<uint8_t*>(base) + int64_t{at[i]} * scale, &from[i], 4);
  }
}

// ---- Conversions -----------------------------------------------------------------------------------------------------

inline __m256 _mm512_castps512_ps256(__m512 a) { return a.low; }
inline __m512 _mm512_castps256_ps512(__m256 a) { return {a, _mm256_setzero_ps()}; }  // the high half is undefined
inline __m256d _mm512_castpd512_pd256(__m512d a) { return a.low; }
inline __m512 _mm512_castsi512_ps(__m512i a) { return {_mm256_castsi256_ps(a.low), _mm256_castsi256_ps(a.high)}; }
inline __m512i _mm512_castps_si512(__m512 a) { return {_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)}; }
inline __m256 _mm512_extractf32x8_ps(__m512 a, int half) { return half == 0 ? a.low : a.high; }
inline __m256d _mm512_extractf64x4_pd(__m512d a, int half) { return half == 0 ? a.low : a.high; }
inline __m512 _mm512_insertf32x8(__m512 a, __m256 b, int half) {
  return half == 0 ? __m512{b, a.high} : __m512{a.low, b};
}
inline float _mm512_cvtss_f32(__m512 a) { return _mm256_cvtss_f32(a.low); }
inline __m512 _mm512_cvtph_ps(__m256i a) {
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(a)), _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1))};
}
inline __m512d _mm512_cvtps_pd(__m256 a) {
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))};
}
inline __m256 _mm512_cvtpd_ps(__m512d a) { return _mm256_set_m128(_mm256_cvtpd_ps(a.high), _mm256_cvtpd_ps(a.low)); }
inline __m512 _mm512_cvtepi32_ps(__m512i a) { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }
inline __m512i _mm512_cvtps_epi32(__m512 a) { return {_mm256_cvtps_epi32(a.low), _mm256_cvtps_epi32(a.high)}; }
inline __m512i _mm512_cvtepu8_epi32(__m128i a) {
  return {_mm256_cvtepu8_epi32(a), _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(a, a))};
}
inline __m512i _mm512_cvtepi8_epi32(__m128i a) {
  return {_mm256_cvtepi8_epi32(a), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(a, a))};
}
inline __m512i _mm512_cvtepu16_epi32(__m256i a) {
  return {_mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)), _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1))};
}
inline __m128i _mm512_cvtsepi32_epi8(__m512i a) {  // saturates
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.low, a.high), 0xd8);
  return _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

// ---- The rest --------------------------------------------------------------------------------------------------------

inline __m512 _mm512_mask_mov_ps(__m512 from, __mmask16 mask, __m512 a) {
  const __m512 lanes = _mm512_castsi512_ps(LanesOf(mask));
  return {_mm256_blendv_ps(from.low, a.low, lanes.low), _mm256_blendv_ps(from.high, a.high, lanes.high)};
}
inline __m512 _mm512_maskz_mov_ps(__mmask16 mask, __m512 a) {
  return _mm512_mask_mov_ps(_mm512_setzero_ps(), mask, a);
}
inline __m512 _mm512_mask_max_ps(__m512 from, __mmask16 mask, __m512 a, __m512 b) {
  return _mm512_mask_mov_ps(from, mask, _mm512_max_ps(a, b));
}
// Nearest even; only that is used (mode 0: no fraction bits).
inline __m512 _mm512_roundscale_ps(__m512 a, int /*mode*/) {
  return {_mm256_round_ps(a.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
          _mm256_round_ps(a.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
// a * 2^n for whole n in [-252, 254] and |a| of about 1, in two steps of which only the second rounds.
inline __m256 ScaleByPowerOfTwo(__m256 a, __m256 n) {
  const __m256i whole = _mm256_cvtps_epi32(n), first = _mm256_srai_epi32(whole, 1);
  const auto power = [](__m256i e) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(e, _mm256_set1_epi32(127)), 23));
  };
  return _mm256_mul_ps(_mm256_mul_ps(a, power(first)), power(_mm256_sub_epi32(whole, first)));
}
inline __m512 _mm512_scalef_ps(__m512 a, __m512 n) {
  return {ScaleByPowerOfTwo(a.low, n.low), ScaleByPowerOfTwo(a.high, n.high)};
}
// The order of the comparisons decides for NaN: halves, then quarters, as compilers expand the original.
inline float _mm512_reduce_max_ps(__m512 a) {
  const __m256 eight = _mm256_max_ps(a.high, a.low);
  const __m128 four = _mm_max_ps(_mm256_extractf128_ps(eight, 1), _mm256_castps256_ps128(eight));
  const __m128 two = _mm_max_ps(four, _mm_shuffle_ps(four, four, 0x4e));
  return _mm_cvtss_f32(_mm_max_ps(two, _mm_shuffle_ps(two, two, 0xb1)));
}
inline uint32_t _mm512_reduce_max_epu32(__m512i a) {
  const __m256i eight = _mm256_max_epu32(a.high, a.low);
  const __m128i four = _mm_max_epu32(_mm256_extracti128_si256(eight, 1), _mm256_castsi256_si128(eight));
  const __m128i two = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_max_epu32(two, _mm_shuffle_epi32(two, 0xb1))));
}
// u8 times s8, four to a lane, with no saturation between: by way of 16 bits.
inline __m256i DotOfBytes(__m256i acc, __m256i a, __m256i b) {
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(a, _mm256_set1_epi16(0xff)),
                                         _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
  return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
}
inline __m512i _mm512_dpbusd_epi32(__m512i acc, __m512i a, __m512i b) {
  return {DotOfBytes(acc.low, a.low, b.low), DotOfBytes(acc.high, a.high, b.high)};
}

}  // namespace
}  // namespace motley::cpu::avx2
