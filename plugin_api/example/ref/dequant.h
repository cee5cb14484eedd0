// Stored formats to float, bit for bit what the format's definition says: one rounding an operation, in its
// order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace motley::ref {

// Writes `count` values (a multiple of the format's block). src needs no alignment.
using DequantFn = void (*)(const std::byte* src, int64_t count, float* dst);

// nullptr where this plugin does not read the format.
DequantFn FindDequant(uint32_t format);

}  // namespace motley::ref
