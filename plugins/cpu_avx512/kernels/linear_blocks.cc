// Linear over quantised weights: formats of blocks of 32 with an f16 scale each.
#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/linear_int8.h"

namespace motley::cpu::MOTLEY_CPU_ISA::MOTLEY_CPU_DOT {

bool LinearBlocks(const LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  return LinearOneOf<F::kQ8_0, F::kQ4_0, F::kQ4_1, F::kQ5_0, F::kQ5_1>(
      c, t0, t1, r0, r1, scratch);
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA::MOTLEY_CPU_DOT
