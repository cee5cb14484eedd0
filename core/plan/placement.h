// Placement: which device each part of a model is on. First version: pins hold; what is free fills the preferred
// device and spills to the next. A planner by time will take the place of Place(), with the same input and output.
//
// Pure functions over plain data, so that any hardware can be described in a test.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/graph/part.h"
#include "core/plan/selector.h"

namespace motley {

// In order of preference: the best first.
struct PlanDevice {
  std::string name;
  std::string pool;
  uint64_t workspace_bytes = 0;  // once anything is placed there
  uint64_t max_alloc_bytes = UINT64_MAX;  // of one buffer, and so of one weight or one layer's cache
};

struct PlanPool {
  std::string name;
  uint64_t free_bytes = 0;  // now
};

// A stored tensor that a part needs; parts that share one (a tied embedding) need it once a device.
struct PlanWeight {
  uint32_t id = 0;
  std::vector<uint64_t> bytes;  // a device
};

struct PlanPart {
  Part part;
  std::vector<uint32_t> weights;      // indices in PlanModel::weights
  std::vector<uint64_t> kv_bytes;     // a device; kKv parts alone
  std::vector<std::string> refusals;  // a device: why it can't run the part; "" = it can
  int32_t pin = -1;                   // index in `pins`, -1 = free
  std::vector<uint64_t> largest;      // a device: bytes of the largest single buffer that it needs; empty = small
};

struct PlanModel {
  std::vector<PlanWeight> weights;
  std::vector<PlanPart> parts;  // in the order of the layers
};

struct PlacementProblem {
  std::vector<PlanDevice> devices;
  std::vector<PlanPool> pools;
  PlanModel model;
  std::vector<Pin> pins;
  uint64_t margin_bytes = 0;  // kept free in each pool
  std::string host_pool;      // the pool of the host's own memory; "" = it is not counted
  uint64_t host_bytes = 0;    // of it that the host takes: step data, results, what goes from plugin to plugin
  std::string model_name;     // of its file, for messages; may be empty
};

struct DeviceUse {
  uint64_t weight_bytes = 0, kv_bytes = 0, workspace_bytes = 0;
  uint64_t total() const { return weight_bytes + kv_bytes + workspace_bytes; }
};

struct Placement {
  std::vector<uint32_t> device;  // a part
  std::vector<DeviceUse> use;    // a device
  uint64_t host_bytes = 0;       // of the host's own pool
};

// RESOURCE_EXHAUSTED says how many bytes are short, in which pool or for which buffer, and what would help; INVALID_ARGUMENT: a pin that
// can't hold, or a part that no device runs.
StatusOr<Placement> Place(const PlacementProblem& problem);

}  // namespace motley
