// SegmentGraph: some nodes of a graph in the ABI's flat form, as a plugin sees them in supports() and compile().
// Owns all that its view() points to; immutable; any thread.
#pragma once

#include <motley/plugin.h>

#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace motley {

// What a device's plans add to the graph's own description of a tensor.
struct TensorDetail {
  uint32_t layout = 0;          // weights: as loaded there; states: the KV plan's
  int64_t state_page_bytes = 0;  // states: the KV plan's; 0 = leave the dim as it is
};

class SegmentGraph {
 public:
  // `nodes`: indices in graph.nodes, ascending. `details`: one a tensor of the graph, or empty. A tensor made here
  // and read by other nodes of the graph is an OUTPUT, one made elsewhere an INPUT.
  SegmentGraph(const Graph& graph, std::span<const uint32_t> nodes, std::span<const TensorDetail> details);
  SegmentGraph(const SegmentGraph&) = delete;
  SegmentGraph& operator=(const SegmentGraph&) = delete;
  SegmentGraph(SegmentGraph&&) = default;

  const motley_graph& view() const { return view_; }

  // The graph's tensors in the order of view().tensors, and the roles that they have here.
  std::span<const TensorId> tensor_ids() const { return tensor_ids_; }
  Role role(size_t i) const { return static_cast<Role>(tensors_[i].role); }

 private:
  uint32_t LocalTensor(const Graph& graph, TensorId id, std::span<const TensorDetail> details);

  std::vector<TensorId> tensor_ids_;
  std::vector<uint32_t> local_of_;  // by TensorId
  std::vector<std::string> names_;  // by local tensor; reserved up front, so that data() stays
  std::vector<motley_tensor> tensors_;
  std::vector<motley_node> nodes_;
  std::vector<uint32_t> refs_;
  std::vector<motley_value> attrs_;
  std::vector<motley_dim> dims_;
  motley_graph view_{};
};

}  // namespace motley
