// 16-bit floats, in portable code.
#pragma once

#include <cstdint>
#include <cstring>

namespace motley::ref {

float HalfToFloat(uint16_t half);
uint16_t FloatToHalf(float value);  // to nearest, ties to even

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

inline float Bfloat16ToFloat(uint16_t bf16) {
  return BitsToFloat(static_cast<uint32_t>(bf16) << 16);
}

}  // namespace motley::ref
