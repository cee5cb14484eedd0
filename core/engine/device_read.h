// How fast a device reads its own memory, measured through the ABI: a linear node with one row of activation
// is nothing but reading its weight.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/figure.h"
#include "core/base/status.h"
#include "core/engine/linear_loop.h"

namespace motley {

struct DeviceRead {
  Figure bytes_per_s;
  uint64_t bytes = 0;            // of the weight, as the device holds it
  Format format = Format::kF32;  // in which it read fastest
};

// Over a working set of about `bytes`, made smaller where the device's memory or its largest buffer asks for
// it; at most `seconds` for each format that is tried, or for `only` that one. UNIMPLEMENTED where the device
// runs no linear node of a plain format.
StatusOr<DeviceRead> MeasureDeviceRead(Device& device, uint64_t bytes, double seconds,
                                       const Cancelled& cancelled, std::optional<Format> only = std::nullopt);

}  // namespace motley
