#include "core/sched/step_data.h"

#include <algorithm>

namespace motley {
namespace {

// Fields are slices of a buffer on every device: 256 bytes is the most that a device asks of a slice
// (motley_device_info.alignment; GPUs and the test device do).
constexpr uint64_t kFieldAlignment = 256;
constexpr size_t kMaxPageUpdates = 256;

uint64_t AlignUp(uint64_t bytes) { return (bytes + kFieldAlignment - 1) & ~(kFieldAlignment - 1); }

int64_t& At(SymbolValues& dims, Symbol symbol) { return dims[static_cast<size_t>(symbol)]; }

}  // namespace

StepData::StepData(const GraphLimits& limits, const StepTensors& tensors, const RopeTable& rope)
    : limits_(limits), rope_(rope) {
  uint64_t end = 0;
  auto field = [&](TensorId tensor, int64_t count) {
    const uint64_t offset = end;
    fields_.push_back({tensor, offset});
    end = AlignUp(end + static_cast<uint64_t>(count) * sizeof(int32_t));
    return offset;
  };
  counts_ = field(tensors.counts, 16);
  row_start_ = field(tensors.row_start, limits.max_seqs + 1);
  kv_len_ = field(tensors.kv_len, limits.max_seqs);
  seq_row_ = field(tensors.seq_row, limits.max_seqs);
  out_row_ = field(tensors.out_row, limits.max_outputs);
  token_ = field(tensors.token, limits.max_tokens);
  position_ = field(tensors.position, limits.max_tokens);
  slot_ = field(tensors.slot, limits.max_tokens);
  rope_offset_ = field(tensors.rope, limits.max_tokens * rope.rotary_dim());
  std::erase_if(fields_, [](const StepField& f) { return f.tensor == kNoTensor; });
  block_.resize(end);
  pages_tensor_ = tensors.pages;
  pages_.resize(static_cast<size_t>(limits.max_seqs * limits.max_pages), 0);
  updates_.reserve(kMaxPageUpdates);
  MarkPagesLost();
  Clear();
}

uint64_t StepData::Bytes(const GraphLimits& limits, int64_t rotary_dim) {
  uint64_t bytes = 0;
  for (int64_t count : {int64_t{16}, limits.max_seqs + 1, limits.max_seqs, limits.max_seqs, limits.max_outputs,
                        limits.max_tokens, limits.max_tokens, limits.max_tokens, limits.max_tokens * rotary_dim}) {
    bytes += AlignUp(static_cast<uint64_t>(count) * sizeof(int32_t));
  }
  return bytes + static_cast<uint64_t>(limits.max_seqs * limits.max_pages) * sizeof(int32_t);
}

void StepData::Clear() {
  dims_ = {0, 0, 0, 0, 1};
  Array(row_start_)[0] = 0;
}

Status StepData::AddSequence(uint32_t row, int64_t first_position, std::span<const int32_t> tokens, Outputs outputs) {
  const auto count = static_cast<int64_t>(tokens.size());
  const int64_t rows_out = outputs == Outputs::kAll ? count : outputs == Outputs::kLast ? 1 : 0;
  const int64_t token_base = At(dims_, Symbol::kTokens), seq = At(dims_, Symbol::kSeqs),
                out_base = At(dims_, Symbol::kOut);
  const int64_t end = first_position + count;
  if (count == 0 || count > tokens_left() || seq == limits_.max_seqs || rows_out > outputs_left() ||
      row >= limits_.max_seqs || first_position < 0 || end > limits_.max_pages * limits_.page_tokens) {
    return FailedPreconditionError("step: " + std::to_string(count) + " tokens at position " +
                                   std::to_string(first_position) + " of row " + std::to_string(row) +
                                   " exceed the step's limits");
  }
  const int32_t* pages = pages_.data() + static_cast<int64_t>(row) * limits_.max_pages;
  const int64_t rotary = rope_.rotary_dim();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t position = first_position + i;
    Array(token_)[token_base + i] = tokens[static_cast<size_t>(i)];
    Array(position_)[token_base + i] = static_cast<int32_t>(position);
    Array(slot_)[token_base + i] = static_cast<int32_t>(
        pages[position / limits_.page_tokens] * static_cast<int64_t>(limits_.page_tokens) + position % limits_.page_tokens);
    rope_.Fill(position, reinterpret_cast<float*>(block_.data() + rope_offset_) + (token_base + i) * rotary);
  }
  for (int64_t i = 0; i < rows_out; ++i) {
    Array(out_row_)[out_base + i] = static_cast<int32_t>(token_base + count - rows_out + i);
  }
  Array(kv_len_)[seq] = static_cast<int32_t>(end);
  Array(seq_row_)[seq] = static_cast<int32_t>(row);
  Array(row_start_)[seq + 1] = static_cast<int32_t>(token_base + count);
  At(dims_, Symbol::kTokens) += count;
  At(dims_, Symbol::kSeqs) += 1;
  At(dims_, Symbol::kStarts) += 1;
  At(dims_, Symbol::kOut) += rows_out;
  int64_t& n_pages = At(dims_, Symbol::kPages);
  n_pages = std::max(n_pages, (end + limits_.page_tokens - 1) / limits_.page_tokens);
  WriteCounts();
  return OkStatus();
}

void StepData::SetPage(uint32_t row, int64_t index, int32_t page) {
  const auto cell = static_cast<uint32_t>(row * limits_.max_pages + index);
  pages_[cell] = page;
  if (!updates_.empty() && updates_.back().begin + updates_.back().count == cell) {
    ++updates_.back().count;
  } else if (updates_.size() < kMaxPageUpdates) {
    updates_.push_back({cell, 1});
  } else {
    MarkPagesLost();  // too scattered to list: send the whole table
  }
}

void StepData::MarkPagesLost() {
  updates_.clear();
  updates_.push_back({0, static_cast<uint32_t>(pages_.size())});
}

uint64_t StepData::used_bytes() const {
  return rope_offset_ +
         static_cast<uint64_t>(dims_[static_cast<size_t>(Symbol::kTokens)] * rope_.rotary_dim()) * sizeof(float);
}

void StepData::WriteCounts() {
  for (uint32_t s = 0; s < kSymbolCount; ++s) Array(counts_)[s] = static_cast<int32_t>(dims_[s]);
}

}  // namespace motley
