// Linear over quantised weights: the K-quants.
#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/linear_int8.h"

namespace motley::cpu::MOTLEY_CPU_ISA::MOTLEY_CPU_DOT {

bool LinearK(const LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  return LinearOneOf<F::kQ2_K, F::kQ3_K, F::kQ4_K, F::kQ5_K, F::kQ6_K>(
      c, t0, t1, r0, r1, scratch);
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA::MOTLEY_CPU_DOT
