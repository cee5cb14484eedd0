// How fast this machine's cores read memory: the limit that `bench` puts beside every speed.
#pragma once

#include <cstdint>

namespace motley {

struct Bandwidth {
  double bytes_per_s = 0;  // 0 = could not be measured (no memory for the buffer)
  uint64_t buffer_bytes = 0;
  uint32_t threads = 0;
  uint32_t streams = 0;  // that each thread read at once
  bool avx512 = false;
};

// Reads a buffer of about `buffer_bytes` over and over from `threads` threads, each in several streams, for
// about `seconds`; the best pass of the best number of streams counts. A buffer that would take more than a
// third of the memory that is left is made smaller: beyond the caches the rate is the same.
Bandwidth MeasureReadBandwidth(uint64_t buffer_bytes, uint32_t threads, double seconds = 0.5);

}  // namespace motley
