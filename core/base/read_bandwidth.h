// How fast this machine's cores read memory: the limit that is put beside every speed.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/figure.h"
#include "core/base/host_pages.h"
#include "core/base/status.h"

namespace motley {

struct ReadOptions {
  uint64_t bytes =
      0;  // of the working set; made smaller where it is more than a third of the memory that is left
  uint32_t threads = 1;  // each reads its own part
  double seconds = 0.5;  // about
  PageKind pages = PageKind::kTransparent;
};

struct ReadBandwidth {
  Figure bytes_per_s;           // of all threads together, over passes of the best number of streams
  double best_bytes_per_s = 0;  // of one pass: the limit, on a machine that others use too
  uint64_t bytes = 0;           // that were read over and over
  uint32_t threads = 0;
  uint32_t streams = 0;              // that each thread read at once
  PageKind pages = PageKind::kBase;  // in which the memory was
  std::string notice;                // why in those; "" = as asked for
};

// Reads the working set over and over, each thread in 1, 2, 4 and 8 streams. RESOURCE_EXHAUSTED where there
// is no memory for it, or no thread.
StatusOr<ReadBandwidth> MeasureReadBandwidth(const ReadOptions& options);

}  // namespace motley
