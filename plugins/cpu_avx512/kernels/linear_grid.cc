// Linear over quantised weights: the grid-coded formats.
#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/linear_int8.h"

namespace motley::cpu::MOTLEY_CPU_ISA::MOTLEY_CPU_DOT {

bool LinearGrid(const LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  return LinearOneOf<F::kIQ1_S, F::kIQ1_M, F::kIQ2_XXS, F::kIQ2_XS, F::kIQ2_S, F::kIQ3_XXS, F::kIQ3_S>(
      c, t0, t1, r0, r1, scratch);
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA::MOTLEY_CPU_DOT
