// Planning: from a configuration and the devices that were found to a placed and compiled model, with no weight read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend/registry.h"
#include "core/base/status.h"
#include "core/engine/config.h"
#include "core/engine/plan_times.h"
#include "core/model/model.h"
#include "core/plan/device_profile.h"
#include "core/plan/placement.h"
#include "core/plan/segment_work.h"
#include "core/sched/compiled_graph.h"

namespace motley {

class LostDevices;

// What `motley plan` prints. Bytes.
struct PlanReport {
  struct DeviceLine {
    std::string name, pool;
    uint64_t weight_bytes = 0, kv_bytes = 0, workspace_bytes = 0;
    uint64_t margin_bytes = 0;    // of the pool; on the first device of each pool
    uint64_t capacity_bytes = 0;  // free in the pool now
    std::string unused;           // why nothing is placed here; "" = something is
  };
  struct HostLine {               // the host's own memory: step data, results, what goes from plugin to plugin
    std::string pool;             // "" = not counted
    uint64_t bytes = 0;
  };
  struct PinLine {
    std::string selector, device;
    uint32_t matches = 0;
  };
  std::vector<DeviceLine> devices;
  HostLine host;
  std::vector<PlacementLine> placement;
  std::vector<PinLine> pins;
  std::vector<std::string> notices;  // a context that was lowered, a fallback
  int64_t context = 0;               // tokens a sequence
  PlanTimes times;
};

struct PlannedModel {
  GraphLimits limits;
  std::unique_ptr<ModelGraph> graph;
  std::vector<DeviceProfile> profiles;  // of the devices in compiled->devices()
  std::vector<uint32_t> node_device;    // index in the same
  std::unique_ptr<CompiledGraph> compiled;
  std::vector<SegmentWork> segment_work;      // a segment of compiled: what it reads and multiplies
  PlanReport report;
};

struct PlanningOptions {
  int64_t max_outputs = 0;  // rows of logits a step; 0 = one a sequence
  const ProbeProfile* profile = nullptr;  // of this machine, for times; nullptr = there is none
  const LostDevices* lost = nullptr;      // are left out, with the pins that name them; nullptr = none
};

// RESOURCE_EXHAUSTED where the model does not fit; without a context in the configuration, the largest that fits is
// taken and a notice given. UNAVAILABLE where every device was lost.
StatusOr<std::unique_ptr<PlannedModel>> MakePlan(const Config& config, const Model& model, const WeightsFile& file,
                                                  const Backends& backends, const PlanningOptions& options);

// The devices that the configuration allows, in order of preference. INVALID_ARGUMENT names one that is not there.
StatusOr<std::vector<Device*>> CandidateDevices(const Config& config, const Backends& backends);

}  // namespace motley
