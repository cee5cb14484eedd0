#include "plugins/cpu_avx512/kernels/functions.h"

#define MOTLEY_TEXT_OF(name) #name
#define MOTLEY_NAME_OF(name) MOTLEY_TEXT_OF(name)

namespace motley::cpu::MOTLEY_CPU_ISA {

const Kernels kKernels = {MOTLEY_NAME_OF(MOTLEY_CPU_ISA), LinearAmx, vnni::Linear, bw::Linear, LinearFloat, QuantiseRows, PackTiles,
                          UnpackRow, ConvertToFloat, RmsNormRow, SwigluRow, AddRow, WriteKv, Attend, AttendChunks,
                          MergeChunks};

}  // namespace motley::cpu::MOTLEY_CPU_ISA
