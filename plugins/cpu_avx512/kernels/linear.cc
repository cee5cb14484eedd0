// Linear over quantised weights: finds the family of a format.
#include "plugins/cpu_avx512/kernels/functions.h"

namespace motley::cpu::MOTLEY_CPU_ISA::MOTLEY_CPU_DOT {

void Linear(const LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  static_cast<void>(LinearBlocks(c, t0, t1, r0, r1, scratch) || LinearK(c, t0, t1, r0, r1, scratch) ||
                    LinearCodebook(c, t0, t1, r0, r1, scratch) || LinearGrid(c, t0, t1, r0, r1, scratch));
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA::MOTLEY_CPU_DOT
