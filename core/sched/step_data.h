// StepData: the tokens of one step, of several sequences, as plugins read them (plugin_api's op table, ATTENTION).
//
// The host's copy of the step block and of the page tables. Filled between steps by one thread; nothing allocates
// after Create. A device has the same block, written by one write a step: the small arrays stand first and `rope`
// last, so that a step of one token writes a few KiB.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/graph/graph.h"
#include "core/model/model.h"

namespace motley {

// Where a step tensor lies in the block, in bytes.
struct StepField {
  TensorId tensor = kNoTensor;
  uint64_t offset = 0;
};

// Cells [begin, begin + count) of the page table changed since they were last sent.
struct PageUpdate {
  uint32_t begin = 0, count = 0;
};

class StepData {
 public:
  enum class Outputs { kNone, kLast, kAll };

  StepData(const GraphLimits& limits, const StepTensors& tensors, const RopeTable& rope);

  // What block() and pages() of such a StepData take, for plans: nothing is allocated.
  static uint64_t Bytes(const GraphLimits& limits, int64_t rotary_dim);

  // ---- Filling a step: Clear, then one AddSequence for each sequence that takes part.
  void Clear();

  // Appends tokens at positions [first_position, + tokens.size()) of the sequence in row `row`, whose pages must reach
  // that far (SetPage). FAILED_PRECONDITION where the step's limits are exceeded; nothing is added then.
  Status AddSequence(uint32_t row, int64_t first_position, std::span<const int32_t> tokens, Outputs outputs);

  int64_t tokens_left() const { return limits_.max_tokens - dims_[static_cast<size_t>(Symbol::kTokens)]; }
  int64_t outputs_left() const { return limits_.max_outputs - dims_[static_cast<size_t>(Symbol::kOut)]; }

  // The `index`-th page of the sequence in row `row`.
  void SetPage(uint32_t row, int64_t index, int32_t page);

  // ---- Reading, for the executor.
  const SymbolValues& dims() const { return dims_; }
  const GraphLimits& limits() const { return limits_; }
  std::span<const StepField> fields() const { return fields_; }
  uint64_t block_bytes() const { return block_.size(); }   // at the limits
  uint64_t used_bytes() const;                             // of this step, from the start of the block
  const std::byte* block() const { return block_.data(); }
  TensorId pages_tensor() const { return pages_tensor_; }
  std::span<const int32_t> pages() const { return pages_; }  // [max_seqs, max_pages]
  // Cells to send before this step; all of them after MarkPagesLost().
  std::span<const PageUpdate> page_updates() const { return updates_; }
  void ClearPageUpdates() { updates_.clear(); }
  void MarkPagesLost();

 private:
  int32_t* Array(uint64_t offset) { return reinterpret_cast<int32_t*>(block_.data() + offset); }
  void WriteCounts();

  GraphLimits limits_;
  const RopeTable& rope_;
  SymbolValues dims_{};
  std::vector<StepField> fields_;
  uint64_t counts_ = 0, row_start_ = 0, kv_len_ = 0, seq_row_ = 0, out_row_ = 0, token_ = 0, position_ = 0, slot_ = 0,
           rope_offset_ = 0;
  std::vector<std::byte> block_;
  TensorId pages_tensor_ = kNoTensor;
  std::vector<int32_t> pages_;
  std::vector<PageUpdate> updates_;
};

}  // namespace motley
