#include "core/graph/builder.h"

#include <gtest/gtest.h>

#include "core/graph/segment_graph.h"

namespace motley {
namespace {

constexpr SymbolValues kMax = {8, 2, 2, 4, 3};

// y = linear(x, w), out = y + y: two nodes, one weight.
StatusOr<Graph> SmallGraph() {
  GraphBuilder builder(kMax);
  const TensorId x = builder.Input("x", {DimOf(Symbol::kTokens), 4});
  builder.SetPart({PartKind::kFfn, 0}, "layers.0.ffn");
  const TensorId y = builder.Add(Op::kLINEAR, "up", {x, builder.Weight("w", Format::kF32, {3, 4}), kNoTensor});
  builder.MarkOutput(builder.Add(Op::kADD, "twice", {y, y}));
  return std::move(builder).Finish();
}

TEST(GraphBuilder, InfersShapesFromTheOpTable) {
  const StatusOr<Graph> graph = SmallGraph();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const Tensor& y = graph->tensors[graph->nodes[0].out[0]];
  EXPECT_EQ(y.dims, (std::vector<int64_t>{DimOf(Symbol::kTokens), 3}));
  EXPECT_EQ(ElementCount(y, kMax), 24);
}

TEST(GraphBuilder, KeepsTheFirstMistakeAndNamesNodeAndTensor) {
  GraphBuilder builder(kMax);
  const TensorId x = builder.Input("x", {DimOf(Symbol::kTokens), 4});
  builder.SetPart({PartKind::kFfn, 0}, "layers.0.ffn");
  const TensorId y = builder.Add(Op::kLINEAR, "up", {x, builder.Weight("w", Format::kF32, {3, 5}), kNoTensor});
  EXPECT_EQ(y, kNoTensor);
  builder.Add(Op::kADD, "later", {y, y});
  const StatusOr<Graph> graph = std::move(builder).Finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().message(), "layers.0.ffn.up (linear): w: K = 4, here 5");
}

TEST(GraphBuilder, RefusesATensorThatOverflows) {
  GraphBuilder builder(kMax);
  builder.Weight("huge", Format::kF32, {int64_t{1} << 40, int64_t{1} << 40});
  const StatusOr<Graph> graph = std::move(builder).Finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("huge"), std::string::npos);
}

TEST(GraphBuilder, GivesOneIdToOneName) {
  GraphBuilder builder(kMax);
  EXPECT_EQ(builder.Weight("w", Format::kF32, {3, 4}), builder.Weight("w", Format::kF32, {3, 4}));
  builder.Weight("w", Format::kF32, {4, 4});
  EXPECT_FALSE(std::move(builder).Finish().ok());
}

TEST(GraphPrint, ShowsOpsShapesAndWeights) {
  const std::string text = Print(*SmallGraph());
  EXPECT_NE(text.find("F32[n_tokens, 3] = linear(@x, @w F32[3, 4], -)  # layers.0.ffn.up"), std::string::npos) << text;
}

TEST(SegmentGraph, GivesTensorsTheRolesOfTheSegment) {
  const StatusOr<Graph> graph = SmallGraph();
  const uint32_t second[] = {1};
  const SegmentGraph segment(*graph, second, {});
  ASSERT_EQ(segment.tensor_ids().size(), 2u);
  EXPECT_EQ(segment.role(0), Role::kInput);   // y, made by the first node
  EXPECT_EQ(segment.role(1), Role::kOutput);
  const uint32_t first[] = {0};
  const SegmentGraph before(*graph, first, {});
  EXPECT_EQ(before.role(before.tensor_ids().size() - 1), Role::kOutput);  // y, read elsewhere
}

TEST(SegmentGraph, TakesLayoutsAndPageBytesFromTheDevice) {
  GraphBuilder builder(kMax);
  const TensorId state = builder.State("kv.0", {7, 1});
  StatusOr<Graph> graph = std::move(builder).Finish();
  // A node that reads the state is not needed to see the detail: one is made by hand.
  graph->nodes.push_back({Op::kATTENTION, {state}, {}, {}, {}, "attention"});
  std::vector<TensorDetail> details(1, {5, 4096});
  const uint32_t nodes[] = {0};
  const SegmentGraph segment(*graph, nodes, details);
  const auto* tensors = static_cast<const motley_tensor*>(segment.view().tensors.data);
  EXPECT_EQ(tensors[0].layout, 5u);
  EXPECT_EQ(tensors[0].dims[1], 4096);
}

}  // namespace
}  // namespace motley
