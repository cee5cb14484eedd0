// WeightDesc: a stored tensor as the ABI describes a weight, with the factor that the file holds beside it.
#pragma once

#include <motley/plugin.h>

#include <string>

#include "core/model/weights_file.h"

namespace motley {

// Owns what weight() points to; `file` must outlive it. Not copyable: the spans point inside.
class WeightDesc {
 public:
  WeightDesc(const WeightsFile& file, const StoredTensor& tensor);
  WeightDesc(const WeightDesc&) = delete;
  WeightDesc& operator=(const WeightDesc&) = delete;

  const motley_weight& weight() const { return weight_; }
  const motley_range& range() const { return parts_[0].src; }
  // Whether the range alone is the weight: only then can it be used in place.
  bool whole() const { return weight_.parts.count == 1; }

  // To be called when a plugin is done with the tensor's range, as motley_range.released says.
  void OnReleased(void (*released)(void* arg), void* arg);

 private:
  void SetPart(const WeightsFile& file, const StoredTensor& tensor, uint32_t role);

  std::string paths_[2], name_;
  motley_part parts_[2] = {};  // DATA, SCALE2
  motley_weight weight_{};
};

}  // namespace motley
