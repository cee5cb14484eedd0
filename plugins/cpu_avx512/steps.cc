#include "plugins/cpu_avx512/steps.h"

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

  std::vector<Step> Plan() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (done_[n] || FusedIntoLinears(n)) continue;
      AddStep(n);
    }
    return std::move(steps_);
  }

 private:
  static Op OpOf(const GraphNode& node) { return node.schema->op; }

  // Whether a step of now may read it: weights, inputs, and what steps before have made.
  bool Ready(uint32_t tensor) const {
    const uint32_t role = graph_.tensors[tensor].role;
    return (role != MOTLEY_ROLE_TEMP && role != MOTLEY_ROLE_OUTPUT) || made_[tensor] != kNowhere;
  }

  // Whether this rms_norm or swiglu is done inside the step of the linears that read it.
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

  void AddStep(size_t n) {
    const GraphNode& node = graph_.nodes[n];
    Step step{};
    step.node = n;
    step.a = node.in[0];
    step.b = node.in.size() > 1 ? node.in[1] : kNone;
    step.y = node.out[0];
    step.width = graph_.tensors[node.in[0]].dims.back();
    switch (OpOf(node)) {
      case Op::kLINEAR: AddLinears(&step); break;
      case Op::kATTENTION: step.kind = StepKind::kAttention; break;
      case Op::kEMBED:
        step.kind = StepKind::kEmbed;
        step.width = graph_.tensors[step.y].dims.back();
        break;
      case Op::kRMS_NORM:
        step.kind = StepKind::kRmsNorm;
        step.eps = node.F64("eps");
        break;
      case Op::kSWIGLU: step.kind = StepKind::kSwiglu; break;
      case Op::kADD: step.kind = StepKind::kAdd; break;
      case Op::kGATHER_ROWS: step.kind = StepKind::kGatherRows; break;
    }
    done_[n] = true;
    if (step.kind != StepKind::kLinear) made_[step.y] = steps_.size();
    steps_.push_back(std::move(step));
  }

  // All linears that read x.
  void AddLinears(Step* step) {
    step->kind = StepKind::kLinear;
    const uint32_t x = step->a;
    if (const size_t maker = MakerOf(x); maker != kNowhere && !done_[maker] && FusedIntoLinears(maker)) {
      const GraphNode& before = graph_.nodes[maker];
      const bool norm = OpOf(before) == Op::kRMS_NORM;
      step->before = norm ? Step::Before::kRmsNorm : Step::Before::kSwiglu;
      step->a = before.in[0];
      step->b = before.in[1];
      step->eps = norm ? before.F64("eps") : 0;
      done_[maker] = true;
    } else {
      step->b = kNone;
    }
    step->y = kNone;
    for (const size_t reader : readers_[x]) {
      if (!done_[reader] && OpOf(graph_.nodes[reader]) == Op::kLINEAR && graph_.nodes[reader].in[0] == x) {
        AddPart(reader, step);
      }
    }
    for (const LinearPart& part : step->parts) made_[part.y] = steps_.size();
  }

  void AddPart(size_t n, Step* step) {
    const GraphNode& node = graph_.nodes[n];
    LinearPart part{node.in[1], node.in[2], kNone, node.out[0], {}, 0};
    const plugin::GraphTensor& weight = graph_.tensors[part.weight];
    part.format = static_cast<WeightFormat>(weight.dtype);
    part.n_out = weight.dims[0];
    (IsQuantised(part.format) ? step->quantised : step->floats) = true;
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
    step->parts.push_back(part);
  }

  const CheckedGraph& graph_;
  std::vector<std::vector<size_t>> readers_;  // nodes, by tensor
  std::vector<bool> done_;                    // nodes that are in a step
  std::vector<size_t> made_;                  // the step that writes a tensor
  std::vector<Step> steps_;
};

void ForEachTensor(const CheckedGraph& graph, const Step& step, const auto& visit) {
  for (const uint32_t id : {step.a, step.b, step.y}) visit(id);
  for (const LinearPart& part : step.parts) {
    visit(part.residual);
    visit(part.y);
  }
  if (step.kind != StepKind::kAttention) return;
  for (const uint32_t id : graph.nodes[step.node].in) visit(id);
}

// First fit over the steps in which a tensor is used, both ends included.
plugin::WorkspacePlan PlaceTemps(const CheckedGraph& graph, const std::vector<Step>& steps) {
  constexpr uint64_t kAlignment = 64;
  struct Block {
    uint64_t begin, end;
    size_t last;
  };
  std::vector<size_t> last(graph.tensors.size(), kNowhere);
  for (size_t s = 0; s < steps.size(); ++s) {
    ForEachTensor(graph, steps[s], [&](uint32_t id) {
      if (id != kNone) last[id] = s;
    });
  }
  plugin::WorkspacePlan plan;
  plan.offsets.assign(graph.tensors.size(), 0);
  std::vector<bool> placed(graph.tensors.size(), false);
  std::vector<Block> live;  // by begin
  const std::vector<int64_t> max_dims = graph.MaxDims();
  for (size_t s = 0; s < steps.size(); ++s) {
    live.erase(std::remove_if(live.begin(), live.end(), [&](const Block& b) { return b.last < s; }), live.end());
    ForEachTensor(graph, steps[s], [&](uint32_t id) {
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

StepPlan PlanSteps(const CheckedGraph& graph) {
  StepPlan plan;
  plan.steps = Planner(graph).Plan();
  plan.temps = PlaceTemps(graph, plan.steps);
  return plan;
}

}  // namespace motley::cpu
