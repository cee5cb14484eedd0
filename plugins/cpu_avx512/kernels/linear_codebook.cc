// Linear over quantised weights: 4-bit codes of a table of values.
#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/linear_int8.h"

namespace motley::cpu::MOTLEY_CPU_ISA::MOTLEY_CPU_DOT {

bool LinearCodebook(const LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  return LinearOneOf<F::kIQ4_NL, F::kIQ4_XS, F::kMXFP4, F::kNVFP4>(
      c, t0, t1, r0, r1, scratch);
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA::MOTLEY_CPU_DOT
