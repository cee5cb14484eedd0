// Checked arithmetic for sizes that come from outside. Each returns false, and leaves *out alone, on overflow.
#pragma once

#include <cstdint>

namespace motley {

[[nodiscard]] inline bool CheckedAdd(uint64_t a, uint64_t b, uint64_t* out) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return false;
  *out = sum;
  return true;
}

[[nodiscard]] inline bool CheckedMul(uint64_t a, uint64_t b, uint64_t* out) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return false;
  *out = product;
  return true;
}

// The next multiple of `alignment` (a power of two) from `value` up.
[[nodiscard]] inline bool CheckedAlignUp(uint64_t value, uint64_t alignment, uint64_t* out) {
  uint64_t sum;
  if (!CheckedAdd(value, alignment - 1, &sum)) return false;
  *out = sum & ~(alignment - 1);
  return true;
}

}  // namespace motley
