// DeviceProfile: what one device says of one model - which nodes it runs, in which layouts it wants the weights, how
// large its KV pages are. Asked once, before anything large is read.
#pragma once

#include <string>
#include <vector>

#include "core/backend/device.h"
#include "core/base/status.h"
#include "core/graph/segment_graph.h"
#include "core/model/model.h"

namespace motley {

struct DeviceProfile {
  Device* device = nullptr;
  std::vector<motley_verdict> verdicts;  // a node of the graph
  std::vector<WeightPlan> weights;       // a tensor of the graph; layout MOTLEY_LAYOUT_NONE: no weight, or refused
  std::vector<uint64_t> weight_bytes;    // a tensor: what it takes in the device's pool, imported bytes included
  std::vector<uint64_t> kv_page_bytes;   // an entry of ModelGraph::kv
  std::vector<uint64_t> kv_alignment;    // likewise
  std::vector<TensorDetail> details;     // a tensor: for SegmentGraph
  std::string kv_refusal;                // why it keeps no keys and values so, nor runs what needs them; "" = it does
};

// Errors are a plugin's faults (INTERNAL and the like); what a device does not support is in the profile.
StatusOr<DeviceProfile> ProfileDevice(Device& device, const ModelGraph& model, const WeightsFile& file,
                                      const GraphLimits& limits);

}  // namespace motley
