// WeightDesc: a stored tensor as the ABI describes a weight.
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
  const motley_range& range() const { return part_.src; }

  // To be called when a plugin is done with the range, as motley_range.released says.
  void OnReleased(void (*released)(void* arg), void* arg);

 private:
  std::string path_, name_;
  motley_part part_{};
  motley_weight weight_{};
};

}  // namespace motley
