// RopeTable: rotary positions, computed by the core in double so that no scaling rule reaches a plugin.
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/model/weights_file.h"

namespace motley {

class RopeTable {
 public:
  // Reads ARCH.rope.* (freq_base, scaling.*) and the tensor rope_freqs.weight, whose values divide the frequencies
  // (llama3 scaling stands only there). rotary_dim: even.
  static StatusOr<RopeTable> Create(const WeightsFile& file, const std::string& arch, int64_t rotary_dim);

  int64_t rotary_dim() const { return 2 * static_cast<int64_t>(inverse_frequency_.size()); }

  // out: f32[2, rotary_dim / 2] = cos[], sin[] of position * inverse frequency, times the attention factor.
  void Fill(int64_t position, float* out) const;

 private:
  std::vector<double> inverse_frequency_;  // [rotary_dim / 2], radians a token
  double attention_factor_ = 1.0;
};

}  // namespace motley
