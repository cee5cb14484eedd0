// Linear over quantised weights with AVX512_VNNI.
#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

template <int bits>
inline __m512i Dot(__m512i acc, __m512i weights, __m512i activations) {
  return _mm512_dpbusd_epi32(acc, weights, activations);
}

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA

#include "plugins/cpu_avx512/kernels/linear_int8.inc"

void motley::cpu::MOTLEY_CPU_ISA::LinearVnni(const motley::cpu::LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  LinearAny(c, t0, t1, r0, r1, scratch);
}
