#include "core/model/weight_scale.h"

#include <cmath>
#include <cstring>
#include <string>

namespace motley {
namespace {

constexpr std::string_view kWeight = ".weight";

}  // namespace

const StoredTensor* FindWeightScale(const WeightsFile& file, std::string_view weight) {
  if (!weight.ends_with(kWeight)) return nullptr;
  const std::string base(weight.substr(0, weight.size() - kWeight.size()));
  const StoredTensor* scale = file.FindTensor(base + ".scale");
  return scale != nullptr ? scale : file.FindTensor(std::string(weight) + ".scale");
}

Status CheckWeightScale(const WeightsFile& file, const StoredTensor& scale) {
  const std::string what = file.metadata().origin() + ": " + std::string(scale.name) + ": ";
  if (scale.format != Format::kF32 || scale.elems != 1) {
    return InvalidArgumentError(what + "has " + std::to_string(scale.elems) + " values in " +
                                std::string(FormatName(scale.format)) + ": must be one in F32");
  }
  float factor = 0;
  std::memcpy(&factor, scale.data, sizeof(factor));
  if (!std::isfinite(factor)) return InvalidArgumentError(what + "is " + std::to_string(factor) + ": must be finite");
  return OkStatus();
}

bool IsScaleOfAWeight(const WeightsFile& file, std::string_view tensor) {
  const size_t dot = tensor.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view kind = tensor.substr(dot);
  if (kind != ".scale" && kind != ".input_scale") return false;
  const std::string base(tensor.substr(0, dot));
  return file.FindTensor(base + std::string(kWeight)) != nullptr || (base.ends_with(kWeight) && file.FindTensor(base) != nullptr);
}

}  // namespace motley
