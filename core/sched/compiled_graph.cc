#include "core/sched/compiled_graph.h"

#include <algorithm>

namespace motley {
namespace {

constexpr uint32_t kNone = ~0u;
constexpr uint64_t kElementBytes = 4;

void AddOnce(std::vector<TensorId>* list, TensorId id) {
  if (std::find(list->begin(), list->end(), id) == list->end()) list->push_back(id);
}

bool IsBoundary(Role role) { return role == Role::kInput || role == Role::kOutput; }

}  // namespace

StatusOr<CompiledGraph> CompiledGraph::Compile(const PlacedGraph& placed) {
  const Graph& graph = *placed.graph;
  CompiledGraph compiled;
  compiled.graph_ = &graph;
  compiled.devices_ = placed.devices;
  compiled.boundary_.resize(placed.devices.size());
  compiled.workspace_.resize(placed.devices.size(), 0);
  compiled.workspace_alignment_.resize(placed.devices.size(), 1);

  std::vector<uint32_t> made_by(graph.tensors.size(), kNone);  // segment
  for (const Segment& segment : CutSegments(graph, placed.node_device)) {
    const uint32_t d = segment.device;
    const std::vector<TensorDetail> none;
    const auto& details = placed.details.empty() ? none : placed.details[d];
    CompiledSegment out{d, SegmentGraph(graph, segment.nodes, details), {}, {}, segment.nodes};
    MOTLEY_ASSIGN_OR_RETURN(out.program, placed.devices[d]->Compile(out.graph.view()));
    MOTLEY_ASSIGN_OR_RETURN(out.info, out.program.Info());
    compiled.workspace_[d] = std::max(compiled.workspace_[d], out.info.workspace);
    compiled.workspace_alignment_[d] = std::max(compiled.workspace_alignment_[d], out.info.alignment);

    for (size_t i = 0; i < out.graph.tensor_ids().size(); ++i) {
      const TensorId id = out.graph.tensor_ids()[i];
      if (!IsBoundary(out.graph.role(i))) continue;
      if (out.graph.role(i) == Role::kInput && made_by[id] != kNone) {
        const uint32_t from = compiled.segments_[made_by[id]].device;
        const bool known = std::any_of(compiled.transfers_.begin(), compiled.transfers_.end(),
                                       [&](const Transfer& t) { return t.tensor == id && t.to == d; });
        if (from != d && !known) compiled.transfers_.push_back({id, made_by[id], from, d});
      }
      AddOnce(&compiled.boundary_[d], id);
    }
    for (uint32_t n : segment.nodes) {
      for (TensorId id : graph.nodes[n].out) made_by[id] = static_cast<uint32_t>(compiled.segments_.size());
    }
    compiled.segments_.push_back(std::move(out));
  }
  std::stable_sort(compiled.transfers_.begin(), compiled.transfers_.end(),
                   [](const Transfer& a, const Transfer& b) { return a.after < b.after; });
  return compiled;
}

uint64_t CompiledGraph::TensorBytes(TensorId tensor, const SymbolValues& values) const {
  return static_cast<uint64_t>(ElementCount(graph_->tensors[tensor], values)) * kElementBytes;
}

uint64_t CompiledGraph::host_bytes() const {
  uint64_t bytes = 0;
  for (TensorId id = 0; id < graph_->tensors.size(); ++id) {
    if (graph_->tensors[id].role == Role::kOutput) bytes += TensorBytes(id, graph_->max);
  }
  for (const Transfer& transfer : transfers_) {
    if (!devices_[transfer.from]->SameInstance(*devices_[transfer.to])) bytes += TensorBytes(transfer.tensor, graph_->max);
  }
  return bytes;
}

uint64_t CompiledGraph::work_bytes(uint32_t device) const {
  uint64_t bytes = workspace_[device];
  for (TensorId id : boundary_[device]) bytes += TensorBytes(id, graph_->max);  // far from 2^63, both
  return bytes;
}

}  // namespace motley
