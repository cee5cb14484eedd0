// Compiled for any CPU: what motley/dequant.hpp has is inline, and must not be linked from a file with AVX.
#include <motley/dequant.hpp>

#include "plugins/cpu_avx512/kernels/functions.h"

namespace motley::cpu {

void DequantiseStored(WeightFormat format, const uint8_t* from, int64_t count, float* to) {
  plugin::FindDequant(static_cast<uint32_t>(format))(reinterpret_cast<const std::byte*>(from), count, to);
}

}  // namespace motley::cpu
