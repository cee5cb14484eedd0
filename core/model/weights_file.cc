#include "core/model/weights_file.h"

#include <algorithm>
#include <numeric>

namespace motley {

const StoredTensor* WeightsFile::FindTensor(std::string_view name) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name, [this](uint32_t i, std::string_view n) {
    return tensors_[i].name < n;
  });
  return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

StatusOr<const StoredTensor*> WeightsFile::GetTensor(std::string_view name) const {
  if (const StoredTensor* tensor = FindTensor(name)) return tensor;
  return NotFoundError(metadata_.origin() + ": tensor " + std::string(name) + " is missing");
}

void WeightsFile::IndexTensors() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::sort(by_name_.begin(), by_name_.end(),
            [this](uint32_t a, uint32_t b) { return tensors_[a].name < tensors_[b].name; });
  tensor_bytes_ = 0;
  for (const StoredTensor& tensor : tensors_) tensor_bytes_ += tensor.bytes;
}

}  // namespace motley
