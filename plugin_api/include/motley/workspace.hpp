// Places the TEMP tensors of a graph in the workspace: tensors that are never alive together share bytes.
#pragma once

#include <motley/graph_check.hpp>

#include <algorithm>
#include <vector>

namespace motley::plugin {

struct WorkspacePlan {
  std::vector<uint64_t> offsets;  // by tensor id; only TEMPs have one
  uint64_t bytes = 0;
};

// For programs that run their nodes in the graph's order; bytes are those at the dims' max.
inline WorkspacePlan PlanWorkspace(const CheckedGraph& graph, uint64_t alignment) {
  struct Block {
    uint64_t begin, end;
    size_t last_reader;
  };
  WorkspacePlan plan;
  plan.offsets.assign(graph.tensors.size(), 0);
  std::vector<size_t> last_reader(graph.tensors.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const uint32_t id : graph.nodes[n].in) {
      if (id != MOTLEY_NO_TENSOR) last_reader[id] = n;
    }
  }
  const std::vector<int64_t> max_dims = graph.MaxDims();
  std::vector<Block> live;  // by begin
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const uint32_t id : graph.nodes[n].out) {
      if (id == MOTLEY_NO_TENSOR || graph.tensors[id].role != MOTLEY_ROLE_TEMP) continue;
      const uint64_t bytes = (graph.Bytes(id, max_dims) + alignment - 1) / alignment * alignment;
      uint64_t at = 0;
      auto place = live.begin();
      while (place != live.end() && at + bytes > place->begin) {
        at = std::max(at, place->end);
        ++place;
      }
      live.insert(place, {at, at + bytes, std::max(n, last_reader[id])});
      plan.offsets[id] = at;
      plan.bytes = std::max(plan.bytes, at + bytes);
    }
    live.erase(std::remove_if(live.begin(), live.end(), [&](const Block& b) { return b.last_reader <= n; }),
               live.end());
  }
  return plan;
}

}  // namespace motley::plugin
