#include "device.h"

namespace vendor {
namespace {

// y = a + b, shared out by rows.
Fault Add(const NodeRun& run) {
  const int64_t width = run.Columns(run.node.in[0]);
  const float* a = run.args.As<float>(run.node.in[0]);  // [n_tokens, width]
  const float* b = run.args.As<float>(run.node.in[1]);  // [n_tokens, width]
  float* y = run.args.As<float>(run.node.out[0]);       // [n_tokens, width]
  run.team.Run([&](uint32_t member, uint32_t members) {
    const auto [begin, end] = motley::plugin::Share(run.Rows(run.node.in[0]), member, members);
    for (int64_t i = begin * width; i < end * width; ++i) y[i] = a[i] + b[i];
  });
  return {};
}

}  // namespace

Fault CheckNode(const CheckedGraph& /*graph*/, const GraphNode& node) {
  if (node.schema->op == Op::kADD) return {};
  return Fail(MOTLEY_UNIMPLEMENTED, "op %.*s is not supported", MOTLEY_TEXT(node.schema->name));
}

uint64_t ScratchBytes(const CheckedGraph& /*graph*/, const GraphNode& /*node*/, uint32_t /*threads*/) {
  return 0;
}

Fault RunNode(const NodeRun& run) {
  switch (run.node.schema->op) {
    case Op::kADD: return Add(run);
    default: return Fail(MOTLEY_INTERNAL, "a node was compiled that CheckNode refuses");
  }
}

}  // namespace vendor
