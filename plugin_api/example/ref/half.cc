#include "half.h"

namespace motley::ref {

float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0x1f) return BitsToFloat(sign | 0x7f800000 | fraction << 13);  // infinity, NaN
  if (exponent != 0) return BitsToFloat(sign | (exponent + 112) << 23 | fraction << 13);
  // Zero or subnormal: fraction units of 2^-24, exact in float.
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

uint16_t FloatToHalf(float value) {
  const uint32_t bits = FloatToBits(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);  // NaN
  if (magnitude >= 0x477ff000)
    return static_cast<uint16_t>(sign | 0x7c00);  // rounds to 65536 or more: infinity
  if (magnitude >= 0x38800000) {
    // Normal: drop 13 bits of the fraction; a carry runs into the exponent, as it should.
    const uint32_t odd = (magnitude >> 13) & 1;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
  }
  if (magnitude < 0x33000000) return sign;  // less than half of the smallest subnormal
  const uint32_t fraction = (magnitude & 0x7fffff) | 0x800000;
  const uint32_t shift = 126 - (magnitude >> 23);  // 14..24
  const uint32_t kept = fraction >> shift, rest = fraction & ((1u << shift) - 1), half = 1u << (shift - 1);
  return static_cast<uint16_t>(sign | (kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0)));
}

}  // namespace motley::ref
