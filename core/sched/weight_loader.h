// Loads weights into devices, each in the layout that the device chose, and makes room for its KV pages.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/model/model.h"
#include "core/plan/device_profile.h"
#include "core/sched/arena.h"

namespace motley {

// done and total bytes of the file; return false to cancel.
using LoadProgress = std::function<bool(uint64_t done_bytes, uint64_t total_bytes)>;

// What stays on one device from step to step. Immutable once loaded.
struct ResidentTensors {
  std::vector<motley_slice> slices;  // a tensor of the graph: weights and states; others are empty
  Arena weights, kv;
  std::vector<Buffer> imports;       // ranges used in place
};

struct LoadRequest {
  const ModelGraph* model = nullptr;
  const WeightsFile* file = nullptr;
  const GraphLimits* limits = nullptr;
  std::vector<const DeviceProfile*> devices;
  std::vector<uint32_t> node_device;  // a node: index in devices
};

// One ResidentTensors a device. In file order; what waits to be packed stays within max(64 MiB, 5 % of the weights).
StatusOr<std::vector<std::unique_ptr<ResidentTensors>>> LoadTensors(const LoadRequest& request,
                                                                    const LoadProgress& progress);

}  // namespace motley
