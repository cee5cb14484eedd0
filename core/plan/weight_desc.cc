#include "core/plan/weight_desc.h"

namespace motley {

WeightDesc::WeightDesc(const WeightsFile& file, const StoredTensor& tensor)
    : path_(file.paths()[tensor.file]), name_(tensor.name) {
  part_.role = MOTLEY_PART_DATA;
  part_.dtype = static_cast<uint32_t>(tensor.format);
  part_.expert = -1;
  part_.rank = static_cast<uint32_t>(tensor.dims.size());
  for (size_t i = 0; i < tensor.dims.size(); ++i) part_.dims[i] = tensor.dims[i];
  part_.src.size = sizeof(motley_range);
  part_.src.base = tensor.data;
  part_.src.bytes = tensor.bytes;
  part_.src.fd = tensor.fd;
  part_.src.fd_offset = tensor.offset;
  part_.src.path = {path_.data(), path_.size()};

  weight_.size = sizeof(motley_weight);
  weight_.format = static_cast<uint32_t>(tensor.format);
  weight_.rank = part_.rank;
  for (size_t i = 0; i < tensor.dims.size() && i < 3; ++i) weight_.dims[i] = tensor.dims[i];
  weight_.parts = {&part_, 1, sizeof(motley_part), 0};
  weight_.name = {name_.data(), name_.size()};
}

void WeightDesc::OnReleased(void (*released)(void* arg), void* arg) {
  part_.src.released = released;
  part_.src.arg = arg;
}

}  // namespace motley
