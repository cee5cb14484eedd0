// Settling: what programs take is known exactly only once they are compiled for a placement, and a placement
// depends on what they take.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/status.h"
#include "core/plan/placement.h"

namespace motley {

// What a placement's programs take in truth.
struct WorkBytes {
  std::vector<uint64_t> device;  // a device of the problem; 0 where nothing is placed
  uint64_t host = 0;
};
using MeasureWork = std::function<StatusOr<WorkBytes>(const Placement& placement)>;

// Places, measures, and places again with what was found out, until a placement fits with what its programs
// take; its `use` has the measured bytes. Where they ask for more each time, more than was measured is set
// aside, and ever more, so that it ends: with a placement, or with RESOURCE_EXHAUSTED. Changes the problem's
// workspace_bytes and host_bytes.
StatusOr<Placement> SettlePlacement(PlacementProblem* problem, const MeasureWork& measure);

}  // namespace motley
