// Linear over quantised weights with AVX512BW alone; the integers, and so all bits, are those of linear_vnni.cc.
#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

template <int bits>
inline __m512i Dot(__m512i acc, __m512i weights, __m512i activations) {
  const __m512i ones = _mm512_set1_epi16(1);
  if constexpr (bits == 8) {
    // vpmaddubsw saturates at 16 bits: 255 * 127 * 2 is too much, 127 * 127 * 2 and 128 * -128 * 2 are not.
    const __m512i low = _mm512_and_si512(weights, _mm512_set1_epi8(0x7f));
    const __m512i top = _mm512_andnot_si512(_mm512_set1_epi8(0x7f), weights);
    acc = _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maddubs_epi16(top, activations), ones));
    return _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maddubs_epi16(low, activations), ones));
  } else {
    return _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maddubs_epi16(weights, activations), ones));
  }
}

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA

#include "plugins/cpu_avx512/kernels/linear_int8.inc"

void motley::cpu::MOTLEY_CPU_ISA::LinearBw(const motley::cpu::LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  LinearAny(c, t0, t1, r0, r1, scratch);
}
