#include "plugins/cpu_avx512/stages.h"

#include <algorithm>

namespace motley::cpu {
namespace {

using plugin::CheckedGraph;
using plugin::GraphNode;

constexpr size_t kNowhere = ~size_t{0};

class Planner {
 public:
  explicit Planner(const CheckedGraph& graph)
      : graph_(graph), readers_(graph.tensors.size()), done_(graph.nodes.size(), false),
        made_(graph.tensors.size(), kNowhere) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const uint32_t id : graph.nodes[n].in) {
        if (id != kNone) readers_[id].push_back(n);
      }
    }
  }

  std::vector<Stage> Plan() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (done_[n] || FusedIntoLinears(n)) continue;
      AddStage(n);
    }
    return std::move(stages_);
  }

 private:
  static Op OpOf(const GraphNode& node) { return node.schema->op; }

  // Whether a stage of now may read it: weights, inputs, and what stages before have made.
  bool Ready(uint32_t tensor) const {
    const uint32_t role = graph_.tensors[tensor].role;
    return (role != MOTLEY_ROLE_TEMP && role != MOTLEY_ROLE_OUTPUT) || made_[tensor] != kNowhere;
  }

  // Whether this rms_norm or swiglu is done inside the stage of the linears that read it.
  bool FusedIntoLinears(size_t n) const {
    const GraphNode& node = graph_.nodes[n];
    if (OpOf(node) != Op::kRMS_NORM && OpOf(node) != Op::kSWIGLU) return false;
    const uint32_t y = node.out[0];
    if (graph_.tensors[y].role != MOTLEY_ROLE_TEMP || readers_[y].empty()) return false;
    for (const size_t reader : readers_[y]) {
      if (OpOf(graph_.nodes[reader]) != Op::kLINEAR) return false;
    }
    return true;
  }

  size_t MakerOf(uint32_t tensor) const {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const uint32_t id : graph_.nodes[n].out) {
        if (id == tensor) return n;
      }
    }
    return kNowhere;
  }

  void AddStage(size_t n) {
    const GraphNode& node = graph_.nodes[n];
    Stage stage{};
    stage.node = n;
    stage.a = node.in[0];
    stage.b = node.in.size() > 1 ? node.in[1] : kNone;
    stage.y = node.out[0];
    stage.width = graph_.tensors[node.in[0]].dims.back();
    switch (OpOf(node)) {
      case Op::kLINEAR: AddLinears(&stage); break;
      case Op::kATTENTION: stage.kind = StageKind::kAttention; break;
      case Op::kEMBED:
        stage.kind = StageKind::kEmbed;
        stage.width = graph_.tensors[stage.y].dims.back();
        break;
      case Op::kRMS_NORM:
        stage.kind = StageKind::kRmsNorm;
        stage.eps = node.F64("eps");
        break;
      case Op::kSWIGLU: stage.kind = StageKind::kSwiglu; break;
      case Op::kADD: stage.kind = StageKind::kAdd; break;
      case Op::kGATHER_ROWS: stage.kind = StageKind::kGatherRows; break;
    }
    done_[n] = true;
    if (stage.kind != StageKind::kLinear) made_[stage.y] = stages_.size();
    stages_.push_back(std::move(stage));
  }

  // All linears that read x.
  void AddLinears(Stage* stage) {
    stage->kind = StageKind::kLinear;
    const uint32_t x = stage->a;
    if (const size_t maker = MakerOf(x); maker != kNowhere && !done_[maker] && FusedIntoLinears(maker)) {
      const GraphNode& before = graph_.nodes[maker];
      const bool norm = OpOf(before) == Op::kRMS_NORM;
      stage->before = norm ? Stage::Before::kRmsNorm : Stage::Before::kSwiglu;
      stage->a = before.in[0];
      stage->b = before.in[1];
      stage->eps = norm ? before.F64("eps") : 0;
      done_[maker] = true;
    } else {
      stage->b = kNone;
    }
    stage->y = kNone;
    for (const size_t reader : readers_[x]) {
      if (!done_[reader] && OpOf(graph_.nodes[reader]) == Op::kLINEAR && graph_.nodes[reader].in[0] == x) {
        AddPart(reader, stage);
      }
    }
    for (const LinearPart& part : stage->parts) made_[part.y] = stages_.size();
  }

  void AddPart(size_t n, Stage* stage) {
    const GraphNode& node = graph_.nodes[n];
    LinearPart part{node.in[1], node.in[2], kNone, node.out[0], {}, 0};
    const plugin::GraphTensor& weight = graph_.tensors[part.weight];
    part.format = static_cast<WeightFormat>(weight.dtype);
    part.n_out = weight.dims[0];
    (IsQuantised(part.format) ? stage->quantised : stage->floats) = true;
    done_[n] = true;
    // The add behind it: float addition commutes, so the order of its operands does not matter.
    const std::vector<size_t>& after = readers_[part.y];
    const bool one_reader = after.size() == 1 && graph_.tensors[part.y].role == MOTLEY_ROLE_TEMP;
    if (one_reader && OpOf(graph_.nodes[after[0]]) == Op::kADD) {
      const GraphNode& add = graph_.nodes[after[0]];
      const uint32_t other = add.in[0] == part.y ? add.in[1] : add.in[0];
      if (other != part.y && Ready(other)) {
        part.residual = other;
        part.y = add.out[0];
        done_[after[0]] = true;
      }
    }
    stage->parts.push_back(part);
  }

  const CheckedGraph& graph_;
  std::vector<std::vector<size_t>> readers_;  // nodes, by tensor
  std::vector<bool> done_;                    // nodes that are in a stage
  std::vector<size_t> made_;                  // the stage that writes a tensor
  std::vector<Stage> stages_;
};

void ForEachTensor(const CheckedGraph& graph, const Stage& stage, const auto& visit) {
  for (const uint32_t id : {stage.a, stage.b, stage.y}) visit(id);
  for (const LinearPart& part : stage.parts) {
    visit(part.residual);
    visit(part.y);
  }
  if (stage.kind != StageKind::kAttention) return;
  for (const uint32_t id : graph.nodes[stage.node].in) visit(id);
}

// First fit over the stages in which a tensor is used, both ends included.
plugin::WorkspacePlan PlaceTemps(const CheckedGraph& graph, const std::vector<Stage>& stages) {
  constexpr uint64_t kAlignment = 64;
  struct Block {
    uint64_t begin, end;
    size_t last;
  };
  std::vector<size_t> last(graph.tensors.size(), kNowhere);
  for (size_t s = 0; s < stages.size(); ++s) {
    ForEachTensor(graph, stages[s], [&](uint32_t id) {
      if (id != kNone) last[id] = s;
    });
  }
  plugin::WorkspacePlan plan;
  plan.offsets.assign(graph.tensors.size(), 0);
  std::vector<bool> placed(graph.tensors.size(), false);
  std::vector<Block> live;  // by begin
  const std::vector<int64_t> max_dims = graph.MaxDims();
  for (size_t s = 0; s < stages.size(); ++s) {
    live.erase(std::remove_if(live.begin(), live.end(), [&](const Block& b) { return b.last < s; }), live.end());
    ForEachTensor(graph, stages[s], [&](uint32_t id) {
      if (id == kNone || placed[id] || graph.tensors[id].role != MOTLEY_ROLE_TEMP) return;
      placed[id] = true;
      const uint64_t bytes = (graph.Bytes(id, max_dims) + kAlignment - 1) / kAlignment * kAlignment;
      uint64_t at = 0;
      auto place = live.begin();
      for (; place != live.end() && at + bytes > place->begin; ++place) at = std::max(at, place->end);
      live.insert(place, {at, at + bytes, last[id]});
      plan.offsets[id] = at;
      plan.bytes = std::max(plan.bytes, at + bytes);
    });
  }
  return plan;
}

}  // namespace

StagePlan PlanStages(const CheckedGraph& graph) {
  StagePlan plan;
  plan.stages = Planner(graph).Plan();
  plan.temps = PlaceTemps(graph, plan.stages);
  return plan;
}

}  // namespace motley::cpu
