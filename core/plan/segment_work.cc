#include "core/plan/segment_work.h"

#include <algorithm>

namespace motley {
namespace {

void AddLinear(const LinearWork& more, std::vector<LinearWork>* linears) {
  for (LinearWork& known : *linears) {
    if (known.format != more.format || known.rows != more.rows || known.cols != more.cols ||
        known.outputs_only != more.outputs_only)
      continue;
    known.count += more.count;
    known.weight_bytes += more.weight_bytes;
    return;
  }
  linears->push_back(more);
}

bool IsWeight(const Graph& graph, TensorId id) {
  return id != kNoTensor && graph.tensors[id].role == Role::kWeight;
}

void CountNode(const Graph& graph, const DeviceProfile& profile, const Node& node, SegmentWork* work) {
  for (TensorId id : node.in) {
    if (!IsWeight(graph, id)) continue;
    const Tensor& weight = graph.tensors[id];
    const uint64_t bytes = profile.weight_bytes[id];
    if (node.op == Op::kEMBED) {
      work->embed_row_bytes += bytes / static_cast<uint64_t>(weight.dims[0]);
    } else if (node.op == Op::kLINEAR && weight.dims.size() == 2) {
      const std::vector<int64_t>& x = graph.tensors[node.in[0]].dims;
      AddLinear({weight.format, weight.dims[0], weight.dims[1], x[0] == DimOf(Symbol::kOut), 1, bytes},
                &work->linears);
    } else {
      work->other_weight_bytes += bytes;
    }
  }
}

}  // namespace

uint64_t SegmentWork::decode_weight_bytes() const {
  uint64_t bytes = other_weight_bytes + embed_row_bytes;
  for (const LinearWork& linear : linears) bytes += linear.weight_bytes;
  return bytes;
}

SegmentWork CountWork(const ModelGraph& model, const DeviceProfile& profile, std::span<const uint32_t> nodes,
                    uint32_t page_tokens) {
  SegmentWork work;
  work.nodes = static_cast<uint32_t>(nodes.size());
  for (uint32_t n : nodes) {
    const Node& node = model.graph.nodes[n];
    CountNode(model.graph, profile, node, &work);
    if (node.op != Op::kATTENTION) continue;
    for (size_t k = 0; k < model.kv.size() && k < profile.kv_page_bytes.size(); ++k) {
      if (model.kv[k].layer == node.part.layer)
        work.kv_bytes_per_token += profile.kv_page_bytes[k] / page_tokens;
    }
  }
  return work;
}

void AddWork(const SegmentWork& more, SegmentWork* sum) {
  for (const LinearWork& linear : more.linears) AddLinear(linear, &sum->linears);
  sum->other_weight_bytes += more.other_weight_bytes;
  sum->embed_row_bytes += more.embed_row_bytes;
  sum->kv_bytes_per_token += more.kv_bytes_per_token;
  sum->nodes += more.nodes;
}

}  // namespace motley
