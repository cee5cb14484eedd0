// Segments: a placed graph cut into maximal runs on one device each. Pure functions over plain data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace motley {

struct Segment {
  uint32_t device = 0;          // as in node_device
  std::vector<uint32_t> nodes;  // indices in graph.nodes, ascending
};

// node_device: one a node. The graph of segments has no cycle (each segment is convex), and the result is in an
// order in which the segments can run.
std::vector<Segment> CutSegments(const Graph& graph, std::span<const uint32_t> node_device);

}  // namespace motley
