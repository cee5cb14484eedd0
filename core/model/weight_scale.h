// The factor beside a weight: GGUF files in NVFP4 hold a matrix as "NAME.weight" and one F32 value as "NAME.scale", by
// which the matrix's values (so the products with them, before a bias) are multiplied. "NAME.input_scale" is for
// activations in FP4 and changes nothing where they are not.
#pragma once

#include <string_view>

#include "core/base/status.h"
#include "core/model/weights_file.h"

namespace motley {

// nullptr where there is none, or `weight` does not end in ".weight". Some files write "NAME.weight.scale".
const StoredTensor* FindWeightScale(const WeightsFile& file, std::string_view weight);

// INVALID_ARGUMENT, naming it, where it is not one finite F32 value.
Status CheckWeightScale(const WeightsFile& file, const StoredTensor& scale);

// Whether `tensor` is such a factor, or an input_scale, of a weight that the file holds.
bool IsScaleOfAWeight(const WeightsFile& file, std::string_view tensor);

}  // namespace motley
