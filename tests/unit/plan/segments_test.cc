#include "core/plan/segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/graph/builder.h"

namespace motley {
namespace {

// Adds over earlier tensors: node i reads sources[i] (tensor 0 is the input, tensor i + 1 the output of node i).
Graph AddGraph(const std::vector<std::pair<uint32_t, uint32_t>>& sources) {
  GraphBuilder builder({4, 1, 1, 1, 2});
  std::vector<TensorId> made = {builder.Input("x", {DimOf(Symbol::kTokens), 2})};
  for (const auto& [a, b] : sources) made.push_back(builder.Add(Op::kADD, "n", {made[a], made[b]}));
  return *std::move(builder).Finish();
}

// Every node once, in one segment of its device; no segment reads what a later one makes.
void ExpectLegal(const Graph& graph, const std::vector<uint32_t>& device, const std::vector<Segment>& segments) {
  std::vector<int64_t> segment_of(graph.nodes.size(), -1);
  for (size_t s = 0; s < segments.size(); ++s) {
    for (uint32_t n : segments[s].nodes) {
      EXPECT_EQ(segment_of[n], -1);
      EXPECT_EQ(device[n], segments[s].device);
      segment_of[n] = static_cast<int64_t>(s);
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    ASSERT_GE(segment_of[n], 0);
    for (TensorId id : graph.nodes[n].in) {
      for (size_t m = 0; m < graph.nodes.size(); ++m) {
        if (graph.nodes[m].out[0] == id) { EXPECT_LE(segment_of[m], segment_of[n]); }
      }
    }
  }
}

TEST(CutSegments, OneDeviceIsOneSegment) {
  const Graph graph = AddGraph({{0, 0}, {1, 1}, {2, 2}});
  EXPECT_EQ(CutSegments(graph, std::vector<uint32_t>{0, 0, 0}).size(), 1u);
}

TEST(CutSegments, ThereAndBackIsThree) {
  const Graph graph = AddGraph({{0, 0}, {1, 1}, {2, 2}});
  EXPECT_EQ(CutSegments(graph, std::vector<uint32_t>{0, 1, 0}).size(), 3u);
}

TEST(CutSegments, WorkThatDoesNotWaitJoinsTheSegmentBefore) {
  // Node 2 is on device 0 and needs nothing from device 1.
  const Graph graph = AddGraph({{0, 0}, {1, 1}, {1, 0}});
  EXPECT_EQ(CutSegments(graph, std::vector<uint32_t>{0, 1, 0}).size(), 2u);
}

TEST(CutSegments, RandomGraphsAndPlacementsStayAcyclic) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const size_t n = 2 + random() % 24;
    std::vector<std::pair<uint32_t, uint32_t>> sources;
    std::vector<uint32_t> device;
    for (uint32_t i = 0; i < n; ++i) {
      sources.push_back({static_cast<uint32_t>(random() % (i + 1)), static_cast<uint32_t>(random() % (i + 1))});
      device.push_back(random() % 3);
    }
    const Graph graph = AddGraph(sources);
    ExpectLegal(graph, device, CutSegments(graph, device));
  }
}

}  // namespace
}  // namespace motley
