// The registers of the machine, for the innermost loops of attention: 16 floats with AVX-512, 8 with AVX2. A kernel
// in these fills the 32 or the 16 registers that there are, which pairs of AVX2 registers (avx512_in_avx2.h) cannot.
// Lanes never meet, so a result does not depend on the width. Include only from the kernels.
#pragma once

#include <cstdint>

#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

#ifdef MOTLEY_CPU_AVX2

using Floats = __m256;
constexpr int kLanes = 8, kRegisters = 16;

inline Floats Load(const float* p) { return _mm256_loadu_ps(p); }
inline void Store(float* p, Floats a) { _mm256_storeu_ps(p, a); }
inline Floats Zeros() { return _mm256_setzero_ps(); }
inline Floats All(float x) { return _mm256_set1_ps(x); }
inline Floats Times(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
inline Floats TimesPlus(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline Floats FromHalf(const uint8_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Floats FromBf16(const uint8_t* p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
using Codes = __m128i;  // a byte a lane
inline Codes LoadCodes(const uint8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
inline Floats FromCodes(Codes codes) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)); }

#else

using Floats = __m512;
constexpr int kLanes = 16, kRegisters = 32;

inline Floats Load(const float* p) { return _mm512_loadu_ps(p); }
inline void Store(float* p, Floats a) { _mm512_storeu_ps(p, a); }
inline Floats Zeros() { return _mm512_setzero_ps(); }
inline Floats All(float x) { return _mm512_set1_ps(x); }
inline Floats Times(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats TimesPlus(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
inline Floats FromHalf(const uint8_t* p) { return HalfToFloat(p); }
inline Floats FromBf16(const uint8_t* p) { return Bf16ToFloat(p); }
using Codes = __m128i;
inline Codes LoadCodes(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
inline Floats FromCodes(Codes codes) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes)); }

#endif

// The halves of bytes that hold two codes + 8, as signed codes.
inline Codes LowCodes(Codes pairs) {
  return _mm_sub_epi8(_mm_and_si128(pairs, _mm_set1_epi8(15)), _mm_set1_epi8(8));
}
inline Codes HighCodes(Codes pairs) { return LowCodes(_mm_srli_epi16(pairs, 4)); }

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
