// SegmentWork: what some nodes of a model read and multiply in a step, so that a time can be predicted from a
// machine's measured rates, and a measured time be put beside what the machine could do. Pure functions over
// plain data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/model/model.h"
#include "core/plan/device_profile.h"

namespace motley {

// Equal linear nodes: y[T, rows] = x[T, cols] weight^T.
struct LinearWork {
  Format format = Format::kF32;
  int64_t rows = 0, cols = 0;
  bool outputs_only = false;  // T: the step's rows of logits, not its tokens
  uint32_t count = 0;
  uint64_t weight_bytes = 0;  // of all of them, as the device holds them

  double operations_a_row() const {  // of all of them, a row of x: a multiplication and an addition a weight
    return 2.0 * static_cast<double>(rows) * static_cast<double>(cols) * count;
  }
};

struct SegmentWork {
  std::vector<LinearWork> linears;
  uint64_t other_weight_bytes = 0;  // norms, biases
  uint64_t embed_row_bytes = 0;     // read a token
  uint64_t kv_bytes_per_token = 0;  // of cached context, read by each sequence of a step
  uint32_t nodes = 0;

  // Every weight once, and a row of the embedding.
  uint64_t decode_weight_bytes() const;
};

// `nodes`: indices in model.graph.nodes, all of them on the profile's device.
SegmentWork CountWork(const ModelGraph& model, const DeviceProfile& profile, std::span<const uint32_t> nodes,
                    uint32_t page_tokens);

// Of several segments together.
void AddWork(const SegmentWork& more, SegmentWork* sum);

}  // namespace motley
