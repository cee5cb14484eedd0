#include "plugins/cpu_avx512/program.h"

#include <algorithm>

namespace motley::cpu {

using plugin::Fail;
using plugin::Fault;
using plugin::GraphNode;
using plugin::RunArgs;

namespace {

constexpr int kPhases = 3;  // that a stage may have
constexpr uint64_t kLine = 64;

// Parts of one row of attention: kernels/attention.h.
int64_t PartBytes(const AttentionStage& a) {
  return a.max_chunks * a.call.n_heads * (a.call.v_dim + 2) * static_cast<int64_t>(sizeof(float));
}
uint64_t Lines(uint64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

CpuProgram::CpuProgram(plugin::CheckedGraph graph, StagePlan plan, plugin::Team* team, const KernelChoice* kernels)
    : HostProgram(std::move(graph), std::move(plan.temps)), team_(team), kernels_(kernels), stages_(std::move(plan.stages)) {
  attention_.resize(stages_.size());
  for (size_t s = 0; s < stages_.size(); ++s) {
    if (stages_[s].kind == StageKind::kAttention) attention_[s] = MakeAttention(stages_[s].node);
  }
  // All layers read the same step data; each set is checked once.
  for (size_t n = 0; n < this->graph().nodes.size(); ++n) {
    const GraphNode& node = this->graph().nodes[n];
    if (node.schema->op != Op::kATTENTION) continue;
    const auto same = [&](size_t other) {
      const GraphNode& o = this->graph().nodes[other];
      // position, slot; row_start, kv_len, seq_row, pages, counts; and the number of pages.
      return std::equal(node.in.begin() + 5, node.in.begin() + 7, o.in.begin() + 5) &&
             std::equal(node.in.begin() + 8, node.in.begin() + 13, o.in.begin() + 8) &&
             node.I64("page_tokens") == o.I64("page_tokens") &&
             this->graph().tensors[node.in[13]].dims[0] == this->graph().tensors[o.in[13]].dims[0];
    };
    if (std::none_of(checked_attention_.begin(), checked_attention_.end(), same)) checked_attention_.push_back(n);
  }
  PlanScratch();
  notes_ = std::to_string(this->graph().nodes.size()) + " nodes in " + std::to_string(stages_.size()) + " stages, " +
           std::to_string(team_->threads()) + " threads; " + kernels_->notes;
}

AttentionStage CpuProgram::MakeAttention(size_t index) const {
  const GraphNode& node = graph().nodes[index];
  AttentionStage stage{};
  stage.node = index;
  stage.page_tokens = node.I64("page_tokens");
  AttentionCall& c = stage.call;
  c.n_heads = node.I64("n_heads");
  c.n_kv_heads = node.I64("n_kv_heads");
  c.head_dim = node.I64("head_dim");
  c.v_dim = node.I64("v_dim");
  c.rotary_dim = node.I64("rotary_dim");
  c.rope_style = node.I64("rope_style");
  c.page_tokens = stage.page_tokens;
  c.format = static_cast<KvFormat>(node.I64("kv_format"));
  c.scale = static_cast<float>(node.F64("scale"));
  c.norm_eps = node.F64("qk_norm_eps");
  const int64_t group = c.n_heads / c.n_kv_heads;
  stage.heads_per_item = std::min(group, kMaxQueries);
  while (group % stage.heads_per_item != 0) --stage.heads_per_item;
  stage.items_per_row = c.n_heads / stage.heads_per_item;
  const std::vector<int64_t> max = graph().MaxDims();
  const int64_t pages = plugin::CheckedGraph::Extent(graph().tensors[node.in[11]].dims[1], max);
  stage.max_chunks = (pages * stage.page_tokens + kKeyChunk - 1) / kKeyChunk;
  // With more rows there are items enough. One thread shares nothing.
  constexpr int64_t kItemsAThread = 4, kMostPartBytes = 32 << 20;
  const int64_t threads = team_->threads(), row_bytes = std::max<int64_t>(1, PartBytes(stage));
  if (threads > 1) {
    stage.split_rows = std::clamp<int64_t>(kItemsAThread * threads / stage.items_per_row, 1,
                                          std::max<int64_t>(1, kMostPartBytes / row_bytes));
  }
  return stage;
}

void CpuProgram::PlanScratch() {
  const std::vector<int64_t> max = graph().MaxDims();
  uint64_t blocks = 0, floats = 0, parts = 0, own_blocks = 0, own_floats = 0, kernel = kLinearScratchBytes;
  for (size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = stages_[s];
    if (stage.kind == StageKind::kLinear) {
      const uint64_t width = static_cast<uint64_t>(stage.width);
      const uint64_t rows = static_cast<uint64_t>(
          plugin::CheckedGraph::Extent(graph().tensors[stage.a].dims[0], max));
      const uint64_t row_blocks = width / 32 * sizeof(ActivationBlock), row_floats = Lines(width * sizeof(float));
      if (stage.quantised) {
        blocks = std::max(blocks, rows * row_blocks);
        own_blocks = std::max(own_blocks, kOwnRows * row_blocks);
      }
      if (stage.before != Stage::Before::kNothing) {
        if (stage.floats) floats = std::max(floats, rows * row_floats);
        own_floats = std::max(own_floats, kOwnRows * row_floats);
      }
    } else if (stage.kind == StageKind::kAttention) {
      const AttentionStage& a = attention_[s];
      kernel = std::max<uint64_t>(kernel, static_cast<uint64_t>(AttentionScratchBytes(a.call.head_dim, a.call.v_dim)));
      parts = std::max(parts, static_cast<uint64_t>(a.split_rows * PartBytes(a)));
    }
  }
  Layout& l = layout_;
  l.blocks = stages_.size() * kPhases * sizeof(Phase);
  l.floats = l.blocks + Lines(blocks);
  l.parts = l.blocks;  // never needed at once with the activations of a linear
  l.own = l.blocks + std::max(Lines(blocks) + Lines(floats), Lines(parts));
  l.own_blocks = Lines(kernel);
  l.own_floats = l.own_blocks + Lines(own_blocks);
  // A page apart and a line more, so that threads meet neither in a line nor in a cache set.
  l.own_bytes = (l.own_floats + Lines(own_floats) + 4095) / 4096 * 4096 + kLine;
  l.bytes = l.own + l.own_bytes * team_->threads();
}

uint64_t CpuProgram::ScratchBytes() const { return layout_.bytes; }

uint64_t CpuProgram::WeightBytes(uint32_t tensor) const {
  const plugin::GraphTensor& t = graph().tensors[tensor];
  if (t.dims.size() == 1) return static_cast<uint64_t>(t.dims[0]) * sizeof(float);  // as PlanWeight has it
  return static_cast<uint64_t>(PackedBytes(static_cast<WeightFormat>(t.dtype), t.dims[0], t.dims[1]) +
                               (HasFactor(t.layout) ? kFactorBytes : 0));
}

float CpuProgram::FactorOf(const RunArgs& args, uint32_t weight) const {
  const plugin::GraphTensor& t = graph().tensors[weight];
  if (!HasFactor(t.layout)) return 1;
  float factor;
  std::memcpy(&factor, args.As<uint8_t>(weight) + WeightBytes(weight) - kFactorBytes, sizeof factor);
  return factor;
}

Phase& CpuProgram::PhaseOf(const RunArgs& args, size_t stage, int phase) const {
  return reinterpret_cast<Phase*>(args.scratch)[stage * kPhases + static_cast<size_t>(phase)];
}

// ---- Step data: all of it, before anything is written ------------------------------------------------------------

Fault CpuProgram::CheckStepData(const RunArgs& args) const {
  for (const Stage& stage : stages_) {
    const bool embed = stage.kind == StageKind::kEmbed;
    if (!embed && stage.kind != StageKind::kGatherRows) continue;
    const uint32_t index = embed ? stage.a : stage.b, table = embed ? stage.b : stage.a;
    Fault fault = plugin::CheckIndices(embed ? "token" : "row", args.As<int32_t>(index), Rows(args, index),
                                       Rows(args, table));
    if (fault.ok()) continue;
    fault.node = static_cast<int64_t>(stage.node);
    return fault;
  }
  for (const size_t n : checked_attention_) {
    Fault fault = CheckAttentionData(graph().nodes[n], args);
    if (fault.ok()) continue;
    fault.node = static_cast<int64_t>(n);
    return fault;
  }
  return {};
}

Fault CpuProgram::CheckAttentionData(const GraphNode& node, const RunArgs& args) const {
  MOTLEY_TRY(plugin::CheckCounts(args.As<int32_t>(node.in[12]), args.dims, args.dim_count));
  plugin::AttentionStep step;
  step.n_tokens = Rows(args, node.in[0]);
  step.n_seqs = Rows(args, node.in[9]);
  step.position = args.As<int32_t>(node.in[5]);
  step.slot = args.As<int32_t>(node.in[6]);
  step.row_start = args.As<int32_t>(node.in[8]);
  step.kv_len = args.As<int32_t>(node.in[9]);
  step.seq_row = args.As<int32_t>(node.in[10]);
  step.pages = args.As<int32_t>(node.in[11]);
  step.max_seqs = Rows(args, node.in[11]);
  step.max_pages = args.Extent(graph().tensors[node.in[11]].dims[1]);
  step.kv_pages = Rows(args, node.in[13]);
  step.page_tokens = node.I64("page_tokens");
  return plugin::CheckAttentionStep(step);
}

// ---- The run -------------------------------------------------------------------------------------------------------

Fault CpuProgram::Run(const RunArgs& args) {
  MOTLEY_TRY(CheckStepData(args));
  for (size_t s = 0; s < stages_.size(); ++s) {
    for (int phase = 0; phase < kPhases; ++phase) PhaseOf(args, s, phase).Reset();
  }
  team_->Run([&](uint32_t i, uint32_t n) {
    const Member m{&args, n, args.scratch + layout_.own + i * layout_.own_bytes};
    for (size_t s = 0; s < stages_.size(); ++s) RunStage(s, m);
  });
  return {};
}

void CpuProgram::RunStage(size_t stage, const Member& m) const {
  switch (stages_[stage].kind) {
    case StageKind::kLinear: return RunLinear(stage, m);
    case StageKind::kAttention: return RunAttention(stage, m);
    default: return RunRows(stage, m);
  }
}

void CpuProgram::RunRows(size_t index, const Member& m) const {
  const auto& kernels = *kernels_->table;
  const Stage& stage = stages_[index];
  const RunArgs& args = *m.args;
  const int64_t w = stage.width, rows = Rows(args, stage.y);
  const auto* a = args.As<float>(stage.a);
  const auto* b = args.As<float>(stage.b);
  const float factor = stage.kind == StageKind::kEmbed ? FactorOf(args, stage.b) : 1;
  PhaseOf(args, index, 0).Run(rows, std::max<int64_t>(1, rows / (m.n * 4)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* to = args.As<float>(stage.y) + r * w;
      switch (stage.kind) {
        case StageKind::kEmbed:
          kernels.unpack_row(static_cast<WeightFormat>(graph().tensors[stage.b].dtype), args.As<uint8_t>(stage.b), w,
                             args.As<int32_t>(stage.a)[r], to);
          if (factor != 1) std::transform(to, to + w, to, [&](float v) { return v * factor; });
          break;
        case StageKind::kRmsNorm: kernels.rms_norm_row(a + r * w, b, w, stage.eps, to); break;
        case StageKind::kSwiglu: kernels.swiglu_row(a + r * w, b + r * w, w, to); break;
        case StageKind::kAdd: kernels.add_row(a + r * w, b + r * w, w, to); break;
        case StageKind::kGatherRows:
          std::memcpy(to, a + args.As<int32_t>(stage.b)[r] * w, static_cast<size_t>(w) * sizeof(float));
          break;
        default: break;
      }
    }
  });
}

}  // namespace motley::cpu
