// Small helpers over AVX-512 (or its model, avx512_in_avx2.h). Include only from the kernels. Everything is in an anonymous namespace:
// a shared inline function could be linked from such a file into one that must run on any CPU.
#pragma once

#include <cstdint>

#ifdef MOTLEY_CPU_AVX2
#include "plugins/cpu_avx512/kernels/avx512_in_avx2.h"
#else
#include <immintrin.h>
#endif

// Of the small functions that a kernel's registers go through: a call would put them in memory.
#define MOTLEY_CPU_INLINE [[maybe_unused, gnu::always_inline]] inline

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

// What fits in the registers of the integer products (linear_int8.h): 32, or 16 of half the size.
#ifdef MOTLEY_CPU_AVX2
[[maybe_unused]] constexpr int kDirectTiles = 2, kPanelRows = 3, kPanelColumns = 1;
#else
[[maybe_unused]] constexpr int kDirectTiles = 4, kPanelRows = 6, kPanelColumns = 2;
#endif

// The sum of 16 lanes, in one fixed order.
[[maybe_unused]] inline float ReduceAdd(__m512 v) {
  __m256 a = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  b = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
}
[[maybe_unused]] inline double ReduceAdd(__m512d v) {
  __m256d a = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
  __m128d b = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
  return _mm_cvtsd_f64(_mm_add_sd(b, _mm_unpackhi_pd(b, b)));
}

[[maybe_unused]] inline __m512 HalfToFloat(const void* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
[[maybe_unused]] inline __m512 Bf16ToFloat(const void* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

// exp, to about 1 ulp; 0 or a denormal far down, infinity far up, NaN for NaN.
[[maybe_unused]] inline __m512 Exp(__m512 x) {
  // The operand order matters: max and min return the second one where either is NaN.
  x = _mm512_max_ps(_mm512_set1_ps(-104.0f), x);
  x = _mm512_min_ps(_mm512_set1_ps(89.0f), x);
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504088896341f)), 0);
  // ln 2 in two parts; the first has few bits, so that its product with n is exact.
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  // Taylor to degree 7 on |r| <= ln 2 / 2: the next term is below 2^-28.
  __m512 p = _mm512_set1_ps(1.0f / 5040);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 720));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(p, n);
}

// Bytes of a, negated where those of b are negative; where b is 0 either.
MOTLEY_CPU_INLINE __m512i WithSignOf(__m512i a, __m512i b) {
#ifdef MOTLEY_CPU_AVX2
  return {_mm256_sign_epi8(a.low, b.low), _mm256_sign_epi8(a.high, b.high)};
#else
  return _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(b), _mm512_setzero_si512(), a);
#endif
}

// Lanes [0, count) set.
[[maybe_unused]] inline __mmask16 FirstLanes(int64_t count) {
  return count >= 16 ? __mmask16(0xffff) : count <= 0 ? __mmask16(0) : __mmask16((1u << count) - 1);
}

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
