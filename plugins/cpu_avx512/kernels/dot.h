// Integer dot products of unsigned weights and signed activations, four to a lane of 32 bits, exactly; with VNNI
// (MOTLEY_CPU_DOT = vnni) one instruction, without (bw) three at most, fewer where weights have few bits.
//
// An accumulation is: Begin, then kRun times Multiply, End; and again. `bits`: the weights are below 2^bits.
#pragma once

#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

#ifdef MOTLEY_CPU_VNNI

template <int bits>
struct Dot {
  static constexpr bool kSigned = false;  // of the weights
  static constexpr int kRun = 8;          // any number
  static constexpr int kAtOnce = 1;       // k-groups a row should take in turn

  [[gnu::always_inline]] static __m512i Begin(__m512i sum) { return sum; }
  [[gnu::always_inline]] static __m512i Multiply(__m512i part, __m512i weights, __m512i activations) {
    return _mm512_dpbusd_epi32(part, weights, activations);
  }
  [[gnu::always_inline]] static __m512i End(__m512i /*sum*/, __m512i part) { return part; }
};

#else

// Products of pairs in 16 bits, as vpmaddubsw makes them, are added there as long as they cannot overflow:
// |sum| <= kRun * 2 * 127 * (2^bits - 1). (-128 is an activation only in a row with a NaN or an infinity; its sums are
// the same wherever they are made.)
template <int bits>
struct Dot {
  static constexpr bool kSigned = false;
  static constexpr int kRun = bits <= 4 ? 8 : bits == 5 ? 4 : bits == 6 ? 2 : 1;
  static constexpr int kAtOnce = 2;
  static_assert(kRun * 2 * 128 * ((1 << bits) - 1) <= 32768);

  [[gnu::always_inline]] static __m512i Begin(__m512i /*sum*/) { return _mm512_setzero_si512(); }
  [[gnu::always_inline]] static __m512i Multiply(__m512i part, __m512i weights, __m512i activations) {
    return _mm512_add_epi16(part, _mm512_maddubs_epi16(weights, activations));
  }
  [[gnu::always_inline]] static __m512i End(__m512i sum, __m512i part) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(part, _mm512_set1_epi16(1)));
  }
};

// 255 * 127 * 2 does not fit in 16 bits. So these weights become signed again (their zero point is 128), and their
// signs move to the activations: |w| * |a| * 2 is at most 128 * 127 * 2.
template <>
struct Dot<8> {
  static constexpr bool kSigned = true;
  static constexpr int kRun = 1;
  static constexpr int kAtOnce = 1;

  [[gnu::always_inline]] static __m512i Begin(__m512i /*sum*/) { return _mm512_setzero_si512(); }
  [[gnu::always_inline]] static __m512i Multiply(__m512i /*part*/, __m512i weights, __m512i activations) {
    const __m512i w = _mm512_xor_si512(weights, _mm512_set1_epi8(-128));
    return _mm512_maddubs_epi16(_mm512_abs_epi8(w), WithSignOf(activations, w));
  }
  [[gnu::always_inline]] static __m512i End(__m512i sum, __m512i part) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(part, _mm512_set1_epi16(1)));
  }
};

#endif

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
