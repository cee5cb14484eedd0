// bench --op linear: one node on one device, over a weight far larger than the caches, as a segment of its
// own: the path that a model takes.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "tools/motley/launcher.h"

namespace motley {

struct LinearBench {
  std::string format = "Q4_K";
  int64_t rows = 32768, cols = 8192;
  int64_t tokens = 1;  // rows of the activation
};

// On the device that --device names; with none, on the best.
Status RunLinearBench(const LinearBench& bench, Launcher& launcher);

}  // namespace motley
