#include "ops.h"

#include "attention.h"
#include "weights.h"

namespace motley::ref {

using plugin::CheckedGraph;
using plugin::Fail;
using plugin::Fault;
using plugin::FindFormatRow;
using plugin::GraphNode;
using plugin::GraphTensor;

plugin::Fault RunNode(const NodeRun& run) {
  switch (run.node->schema->op) {
    case Op::kEMBED: return Embed(run);
    case Op::kRMS_NORM: return RmsNorm(run);
    case Op::kLINEAR: return Linear(run);
    case Op::kATTENTION: return Attention(run);
    case Op::kSWIGLU: return Swiglu(run);
    case Op::kADD: return Add(run);
    case Op::kGATHER_ROWS: return GatherRows(run);
  }
  return Fail(MOTLEY_UNIMPLEMENTED, "op %u is unknown", run.node->op);
}

Fault CheckFormats(const CheckedGraph& graph, const GraphNode& node) {
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!node.Has(i)) continue;
    const GraphTensor& t = graph.tensors[node.in[i]];
    const OperandKind kind = node.schema->inputs[i].kind;
    if (kind == OperandKind::kWEIGHT) MOTLEY_TRY(CheckWeightLayout(t.dtype, 2, MOTLEY_LAYOUT_STORED));
    if (kind == OperandKind::kVECTOR) MOTLEY_TRY(CheckWeightLayout(t.dtype, 1, MOTLEY_LAYOUT_F32));
  }
  if (node.schema->op == Op::kATTENTION) return CheckKvFormat(static_cast<uint32_t>(node.I64("kv_format")));
  return {};
}

Fault CheckLayouts(const CheckedGraph& graph, const GraphNode& node, uint32_t kv_layout) {
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!node.Has(i)) continue;
    const GraphTensor& t = graph.tensors[node.in[i]];
    uint32_t needs = t.layout;
    if (node.schema->inputs[i].kind == OperandKind::kWEIGHT && t.layout != kScaledLayout) needs = MOTLEY_LAYOUT_STORED;
    if (node.schema->inputs[i].kind == OperandKind::kVECTOR) needs = MOTLEY_LAYOUT_F32;
    if (node.schema->inputs[i].kind == OperandKind::kSTATE) needs = kv_layout;
    if (t.layout != needs) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%.*s: tensor %s has layout %u, needs %u",
                  MOTLEY_TEXT(node.schema->name), t.name.c_str(), t.layout, needs);
    }
  }
  if (node.schema->op == Op::kATTENTION) return CheckPageBytes(graph, node, kv_layout);
  return {};
}

uint64_t ScratchBytes(const CheckedGraph& graph, const GraphNode& node, uint32_t threads) {
  if (node.schema->op == Op::kLINEAR) {
    return static_cast<uint64_t>(graph.tensors[node.in[1]].dims[1]) * sizeof(float) * threads;
  }
  if (node.schema->op == Op::kATTENTION)
    return AttentionScratchDoubles(graph, node) * sizeof(double) * threads;
  return 0;
}

uint64_t ReadBytes(const CheckedGraph& graph, const GraphNode& node, const int64_t* at) {
  uint64_t bytes = 0;
  const std::span<const int64_t> dims(at, graph.dims.size());
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!node.Has(i)) continue;
    const GraphTensor& t = graph.tensors[node.in[i]];
    const OperandKind kind = node.schema->inputs[i].kind;
    if (kind == OperandKind::kVECTOR) bytes += graph.Bytes(node.in[i], dims);
    if (kind == OperandKind::kSTATE) {
      bytes += static_cast<uint64_t>(at[MOTLEY_DIM_N_SEQS] * at[MOTLEY_DIM_N_PAGES] *
                                     std::max<int64_t>(t.dims[1], 0));
    }
    if (kind == OperandKind::kWEIGHT) {
      // embed reads its tokens' rows alone.
      const int64_t rows = node.schema->op == Op::kEMBED ? at[MOTLEY_DIM_N_TOKENS] : t.dims[0];
      bytes += static_cast<uint64_t>(rows) * plugin::RowBytes(*FindFormatRow(t.dtype), t.dims[1]);
    }
  }
  return bytes;
}

}  // namespace motley::ref
