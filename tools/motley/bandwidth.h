// The host's read bandwidth as `run --stats` prints it: one number.
#pragma once

#include <cstdint>

#include "core/base/read_bandwidth.h"

namespace motley {

struct Bandwidth {
  double bytes_per_s = 0;  // 0 = could not be measured (no memory for the buffer)
  uint64_t buffer_bytes = 0;
};

inline Bandwidth MeasureReadBandwidth(uint64_t buffer_bytes, uint32_t threads, double seconds = 0.5) {
  const auto read = MeasureReadBandwidth({buffer_bytes, threads, seconds});
  if (!read.ok()) return {};
  return {read->best_bytes_per_s, read->bytes};
}

}  // namespace motley
