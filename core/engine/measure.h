// Measuring on machines that others use too: a thing is repeated until its median is known, or its time is
// up.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/figure.h"
#include "core/base/status.h"

namespace motley {

struct MeasureLimits {
  double seconds = 0.3;   // of all runs together, about: no run begins after it
  uint32_t min_runs = 5;  // though a run that alone takes longer than `seconds` is not repeated
  uint32_t max_runs = 10'000;
  double tolerance = 0.005;  // enough: ErrorOfMedian at most this
};

// `once` does the thing and says how many seconds it took, or why it can't; its first run warms up and is not
// counted, unless it took so long that there is time for no other. The figure is in seconds.
StatusOr<Figure> Measure(const MeasureLimits& limits, const std::function<StatusOr<double>()>& once);

}  // namespace motley
