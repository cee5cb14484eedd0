#include "core/plan/weight_desc.h"

#include "core/model/weight_scale.h"

namespace motley {

WeightDesc::WeightDesc(const WeightsFile& file, const StoredTensor& tensor) : name_(tensor.name) {
  SetPart(file, tensor, MOTLEY_PART_DATA);
  const StoredTensor* scale = FindWeightScale(file, tensor.name);
  if (scale != nullptr) SetPart(file, *scale, MOTLEY_PART_SCALE2);

  weight_.size = sizeof(motley_weight);
  weight_.format = static_cast<uint32_t>(tensor.format);
  weight_.rank = parts_[0].rank;
  for (size_t i = 0; i < tensor.dims.size() && i < 3; ++i) weight_.dims[i] = tensor.dims[i];
  weight_.parts = {parts_, scale == nullptr ? 1u : 2u, sizeof(motley_part), 0};
  weight_.name = {name_.data(), name_.size()};
}

void WeightDesc::SetPart(const WeightsFile& file, const StoredTensor& tensor, uint32_t role) {
  const size_t index = role == MOTLEY_PART_DATA ? 0 : 1;
  std::string& path = paths_[index];
  path = file.paths()[tensor.file];
  motley_part& part = parts_[index];
  part.role = role;
  part.dtype = static_cast<uint32_t>(tensor.format);
  part.expert = -1;
  part.rank = static_cast<uint32_t>(tensor.dims.size());
  for (size_t i = 0; i < tensor.dims.size(); ++i) part.dims[i] = tensor.dims[i];
  part.src.size = sizeof(motley_range);
  part.src.base = tensor.data;
  part.src.bytes = tensor.bytes;
  part.src.fd = tensor.fd;
  part.src.fd_offset = tensor.offset;
  part.src.path = {path.data(), path.size()};
}

void WeightDesc::OnReleased(void (*released)(void* arg), void* arg) {
  parts_[0].src.released = released;
  parts_[0].src.arg = arg;
}

}  // namespace motley
