// Weights as ref keeps them.
//
// Layouts: STORED, the file's bytes where they lie; F32 for vectors in F32, F16, BF16; kScaledLayout for a weight with
// a part SCALE2: the bytes as stored, then the factor (F32, not aligned).
#pragma once

#include <motley/weight_check.hpp>

namespace motley::ref {

inline constexpr uint32_t kScaledLayout = 256;

// UNIMPLEMENTED where this plugin cannot read such a weight in such a layout.
plugin::Fault CheckWeightLayout(uint32_t format, uint32_t rank, uint32_t layout);
// Likewise of the weight itself; *bytes: what it takes, STORED too.
plugin::Fault CheckWeightParts(const plugin::CheckedWeight& weight, uint32_t layout, uint64_t* bytes);
// Writes those bytes. DATA_LOSS where a part is not in its file.
plugin::Fault StoreWeight(const plugin::CheckedWeight& weight, uint32_t layout, std::byte* dst);

// What the values of a weight [n_rows, ...] of row_bytes a row must be multiplied by.
float WeightFactor(uint32_t layout, const std::byte* weight, int64_t n_rows, uint64_t row_bytes);

}  // namespace motley::ref
