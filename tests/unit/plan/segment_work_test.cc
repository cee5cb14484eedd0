#include "core/plan/segment_work.h"

#include <gtest/gtest.h>

#include "core/graph/builder.h"

namespace motley {
namespace {

// embed [10, 64] -> two linear nodes [64, 64] of Q8_0 and one of F32 -> rms_norm -> the head over the rows of logits.
struct Example {
  ModelGraph model;
  DeviceProfile profile;
};

Example Make() {
  Example example;
  GraphBuilder builder({512, 2, 2, 4, 3});
  builder.SetPart({PartKind::kEmbed}, "test");
  const TensorId token = builder.Step("token", Format::kI32, {DimOf(Symbol::kTokens)});
  const TensorId rows = builder.Step("out_row", Format::kI32, {DimOf(Symbol::kOut)});
  TensorId x = builder.Add(Op::kEMBED, "embed", {token, builder.Weight("embed", Format::kF32, {10, 64})});
  for (const char* name : {"a", "b"})
    x = builder.Add(Op::kLINEAR, name, {x, builder.Weight(name, Format::kQ8_0, {64, 64}), kNoTensor});
  x = builder.Add(Op::kLINEAR, "c", {x, builder.Weight("c", Format::kF32, {64, 64}), kNoTensor});
  x = builder.Add(Op::kRMS_NORM, "norm", {x, builder.Weight("norm", Format::kF32, {64})}, {{"eps", 1e-5}});
  x = builder.Add(Op::kGATHER_ROWS, "gather", {x, rows});
  x = builder.Add(Op::kLINEAR, "head", {x, builder.Weight("head", Format::kQ8_0, {10, 64}), kNoTensor});
  builder.MarkOutput(x);
  auto graph = std::move(builder).Finish();
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  if (graph.ok()) example.model.graph = *std::move(graph);
  for (const Tensor& tensor : example.model.graph.tensors) {
    uint64_t bytes = 0;
    if (tensor.role == Role::kWeight) bytes = *FormatBytes(tensor.format, ElementCount(tensor, {}));
    example.profile.weight_bytes.push_back(bytes);
  }
  return example;
}

TEST(SegmentWork, EqualLinearNodesAreCountedTogetherAndTheHeadApart) {
  const Example example = Make();
  const uint32_t all[] = {0, 1, 2, 3, 4, 5, 6};
  const SegmentWork work = CountWork(example.model, example.profile, all, 64);
  ASSERT_EQ(work.linears.size(), 3u);
  EXPECT_EQ(work.linears[0].count, 2u);
  EXPECT_EQ(work.linears[0].format, Format::kQ8_0);
  EXPECT_EQ(work.linears[0].weight_bytes, 2u * 64 * 64 / 32 * 34);
  EXPECT_EQ(work.linears[0].operations_a_row(), 2.0 * 2 * 64 * 64);
  EXPECT_FALSE(work.linears[0].outputs_only);
  EXPECT_EQ(work.linears[1].format, Format::kF32);
  EXPECT_TRUE(work.linears[2].outputs_only);
  EXPECT_EQ(work.linears[2].rows, 10);
  EXPECT_EQ(work.nodes, 7u);
}

TEST(SegmentWork, ADecodeStepReadsEveryWeightOnceAndOneRowOfTheEmbedding) {
  const Example example = Make();
  const uint32_t all[] = {0, 1, 2, 3, 4, 5, 6};
  const SegmentWork work = CountWork(example.model, example.profile, all, 64);
  EXPECT_EQ(work.embed_row_bytes, 64u * 4);
  EXPECT_EQ(work.other_weight_bytes, 64u * 4);  // the norm
  const uint64_t linear = 2 * 64 * 64 / 32 * 34 + 64 * 64 * 4 + 10 * 64 / 32 * 34;
  EXPECT_EQ(work.decode_weight_bytes(), linear + 2 * 64 * 4);
}

TEST(SegmentWork, PartsAddUpToTheWhole) {
  const Example example = Make();
  const uint32_t all[] = {0, 1, 2, 3, 4, 5, 6}, front[] = {0, 1}, back[] = {2, 3, 4, 5, 6};
  const SegmentWork whole = CountWork(example.model, example.profile, all, 64);
  SegmentWork sum = CountWork(example.model, example.profile, front, 64);
  AddWork(CountWork(example.model, example.profile, back, 64), &sum);
  EXPECT_EQ(sum.decode_weight_bytes(), whole.decode_weight_bytes());
  EXPECT_EQ(sum.linears.size(), whole.linears.size());
  EXPECT_EQ(sum.linears[0].count, 2u);
  EXPECT_EQ(sum.nodes, whole.nodes);
}

}  // namespace
}  // namespace motley
