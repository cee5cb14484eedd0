#include "weights.h"

#include <motley/dequant.hpp>

#include <cstring>

namespace motley::ref {

using plugin::CheckedWeight;
using plugin::Fail;
using plugin::Fault;

Fault CheckWeightLayout(uint32_t format, uint32_t rank, uint32_t layout) {
  const plugin::FormatRow& row = *plugin::FindFormatRow(format);
  if (!plugin::FindDequant(format)) return Fail(MOTLEY_UNIMPLEMENTED, "weights in %s are not supported", row.name);
  if (layout == MOTLEY_LAYOUT_STORED) return {};
  if (layout == kScaledLayout && rank == 2) return {};
  if (layout != MOTLEY_LAYOUT_F32) return Fail(MOTLEY_UNIMPLEMENTED, "weight layout %u is unknown", layout);
  if (rank != 1 || row.block_elems != 1) {
    return Fail(MOTLEY_UNIMPLEMENTED, "layout F32 is for vectors in F32, F16, BF16, not for %s of rank %u", row.name,
                rank);
  }
  return {};
}

Fault CheckWeightParts(const CheckedWeight& weight, uint32_t layout, uint64_t* bytes) {
  const auto refuse = [&](const Fault& why) {
    return Fail(why.code, "%s: %s", weight.Text().c_str(), why.text.c_str());
  };
  const motley_part* scale = nullptr;
  MOTLEY_TRY(plugin::CheckScaledWeight(weight, &scale));
  if (weight.slots != 0) return refuse(Fail(MOTLEY_UNIMPLEMENTED, "expert slots are not supported"));
  if (Fault f = CheckWeightLayout(weight.format, weight.rank, layout); !f.ok()) return refuse(f);
  if (scale && layout != kScaledLayout) {
    return refuse(Fail(MOTLEY_UNIMPLEMENTED, "layout %u has no room for its scale", layout));
  }
  if (!scale && layout == kScaledLayout) return refuse(Fail(MOTLEY_UNIMPLEMENTED, "it has no scale"));
  *bytes = weight.parts[0].src.bytes;
  if (layout == MOTLEY_LAYOUT_F32) *bytes = static_cast<uint64_t>(weight.dims[0]) * sizeof(float);
  if (layout == kScaledLayout) *bytes += sizeof(float);
  return {};
}

Fault StoreWeight(const CheckedWeight& weight, uint32_t layout, std::byte* dst) {
  plugin::RangeBytes stored;
  MOTLEY_TRY(stored.Open(weight.parts[0].src));
  if (layout == MOTLEY_LAYOUT_F32) {
    plugin::FindDequant(weight.format)(stored.data(), weight.dims[0], reinterpret_cast<float*>(dst));
    return {};
  }
  const uint64_t bytes = weight.parts[0].src.bytes;
  std::memcpy(dst, stored.data(), bytes);
  if (layout != kScaledLayout) return {};
  float factor = 1;
  MOTLEY_TRY(plugin::ReadScale(weight, &factor));
  std::memcpy(dst + bytes, &factor, sizeof factor);
  return {};
}

float WeightFactor(uint32_t layout, const std::byte* weight, int64_t n_rows, uint64_t row_bytes) {
  float factor = 1;
  if (layout == kScaledLayout) std::memcpy(&factor, weight + static_cast<uint64_t>(n_rows) * row_bytes, sizeof factor);
  return factor;
}

}  // namespace motley::ref
