// 16-bit floats, in portable code.
#pragma once

#include <cstdint>
#include <cstring>

namespace motley::plugin {

inline float BitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t FloatToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Exact; infinity and NaN stay what they are. Without branches, so that compilers vectorise rows of it.
inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, magnitude = half & 0x7fff;
  // Other bias of the exponent; all ones stay all ones.
  const uint32_t normal = (magnitude << 13) + (magnitude < 0x7c00 ? 0x38000000 : 0x70000000);
  // Below 2^-14 the fraction counts units of 2^-24, as the last bits of a float in [0.5, 1) do.
  const uint32_t subnormal = FloatToBits(BitsToFloat(0x3f000000 | magnitude) - 0.5f);
  return BitsToFloat(sign | (magnitude < 0x400 ? subnormal : normal));
}

// To nearest, ties to even; 65520 and more in magnitude is infinity.
inline uint16_t FloatToHalf(float value) {
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

inline float Bfloat16ToFloat(uint16_t bf16) {
  return BitsToFloat(static_cast<uint32_t>(bf16) << 16);
}

}  // namespace motley::plugin
