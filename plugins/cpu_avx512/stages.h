// A graph as this plugin runs it: stages, each of one or several nodes, one after the other with a barrier between.
//
// Fused are: all linears of one x (q, k, v; gate, up); the rms_norm or swiglu before them, where nobody else reads
// its result; the add behind one of them.
#pragma once

#include <motley/graph_check.hpp>
#include <motley/workspace.hpp>

#include <vector>

#include "plugins/cpu_avx512/kernels/layout.h"

namespace motley::cpu {

constexpr uint32_t kNone = MOTLEY_NO_TENSOR;

// y = x weight^T + bias + residual. Tensor ids.
struct LinearPart {
  uint32_t weight, bias, residual, y;
  WeightFormat format;
  int64_t n_out;
};

enum class StageKind { kLinear, kAttention, kEmbed, kRmsNorm, kSwiglu, kAdd, kGatherRows };

struct Stage {
  StageKind kind;
  size_t node;                     // the first of its nodes
  // Row ops: a, b are the operands in the table's order. Linear: x, and what is done to it first.
  uint32_t a = kNone, b = kNone, y = kNone;
  double eps = 0;
  int64_t width = 0;               // of a row of a (embed: of y)
  enum class Before { kNothing, kRmsNorm, kSwiglu } before = Before::kNothing;
  std::vector<LinearPart> parts;
  bool quantised = false, floats = false;  // formats among the parts
};

struct StagePlan {
  std::vector<Stage> stages;
  plugin::WorkspacePlan temps;     // where TEMPs lie; all tensors of one stage are apart
};

StagePlan PlanStages(const plugin::CheckedGraph& graph);

}  // namespace motley::cpu
