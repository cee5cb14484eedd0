// A compiled segment: stages, one after the other, each shared by the members of the device's team in one team_run.
#pragma once

#include <motley/host_device.hpp>
#include <motley/step_check.hpp>

#include <string>
#include <vector>

#include "plugins/cpu_avx512/kernel_table.h"
#include "plugins/cpu_avx512/kernels/attention.h"
#include "plugins/cpu_avx512/stages.h"
#include "plugins/cpu_avx512/sync.h"

namespace motley::cpu {

// Layouts of weights: 256 + the stored format. Of pages: kernels/kv_layout.h.
constexpr uint32_t kPackedLayout = 256;
// 512 + the stored format: with a factor of the whole weight (F32) behind the packed bytes.
constexpr uint32_t kFactorLayout = 512;
constexpr int64_t kFactorBytes = 64;
inline bool HasFactor(uint32_t layout) { return layout >= kFactorLayout; }

// Up to so many rows every thread prepares the activations of a linear for itself, which saves waiting once.
constexpr int64_t kOwnRows = 4;

// The attributes and tensors of an attention node.
struct AttentionStage {
  size_t node;
  int64_t page_tokens;
  int64_t heads_per_item;     // query heads that one call of Attend takes
  int64_t items_per_row;      // n_heads / heads_per_item
  int64_t split_rows;         // with at most so many rows in the stage, threads share rows by chunks
  int64_t max_chunks;
  AttentionCall call;         // with null pointers
};

class CpuProgram : public plugin::HostProgram {
 public:
  // The graph's nodes, formats and layouts are supported (device.cc checks).
  CpuProgram(plugin::CheckedGraph graph, StagePlan plan, plugin::Team* team, const KernelChoice* kernels);

  plugin::Fault Run(const plugin::RunArgs& args) override;
  uint64_t ScratchBytes() const override;
  uint32_t Kernels() const override { return static_cast<uint32_t>(stages_.size()); }
  std::string_view Notes() const override { return notes_; }
  uint64_t WeightBytes(uint32_t tensor) const override;

 private:
  // Memory behind the TEMPs: phases, [parts of attention | activations], then each thread's own.
  struct Layout {
    uint64_t blocks, floats, parts, own;            // offsets; phases are at 0
    uint64_t own_bytes;
    uint64_t own_blocks, own_floats;                // in a thread's own memory; kernel scratch is at 0
    uint64_t bytes;
  };
  // One member's view of a run.
  struct Member {
    const plugin::RunArgs* args;
    uint32_t n;  // of members
    std::byte* own;
  };

  void PlanScratch();
  AttentionStage MakeAttention(size_t node) const;
  plugin::Fault CheckStepData(const plugin::RunArgs& args) const;
  plugin::Fault CheckAttentionData(const plugin::GraphNode& node, const plugin::RunArgs& args) const;

  void RunStage(size_t stage, const Member& m) const;
  void RunLinear(size_t stage, const Member& m) const;
  void PrepareRows(const Stage& stage, const Member& m, int64_t rows, int64_t begin, int64_t end,
                   ActivationBlock* blocks, float* floats) const;
  void RunAttention(size_t stage, const Member& m) const;
  void RunRows(size_t stage, const Member& m) const;
  // What the values of a weight are multiplied by.
  float FactorOf(const plugin::RunArgs& args, uint32_t weight) const;
  Phase& PhaseOf(const plugin::RunArgs& args, size_t stage, int phase) const;
  int64_t Rows(const plugin::RunArgs& args, uint32_t tensor) const {
    return args.Extent(graph().tensors[tensor].dims[0]);
  }

  plugin::Team* const team_;
  const KernelChoice* const kernels_;
  std::vector<Stage> stages_;
  std::vector<AttentionStage> attention_;   // by stage; only those of attention
  std::vector<size_t> checked_attention_;  // nodes with step data unlike those of any other
  Layout layout_{};
  std::string notes_;
};

}  // namespace motley::cpu
