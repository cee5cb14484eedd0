// What the dequantisers of dequant.hpp share: little-endian fields of a block, and the walk over blocks.
#pragma once

#include <motley/half.hpp>

#include <cstddef>
#include <cstdint>

namespace motley::plugin::dequant {

inline int U8(const std::byte* p) {
  return static_cast<uint8_t>(*p);
}
inline int I8(const std::byte* p) {
  return static_cast<int8_t>(*p);
}
inline int U16(const std::byte* p) {
  return U8(p) | U8(p + 1) << 8;
}
inline uint32_t U32(const std::byte* p) {
  return static_cast<uint32_t>(U16(p)) | static_cast<uint32_t>(U16(p + 2)) << 16;
}
inline float Half(const std::byte* p) {
  return HalfToFloat(static_cast<uint16_t>(U16(p)));
}
// Nibble i of a row of bytes, the low one first.
inline int Nibble(const std::byte* p, int i) {
  return U8(p + i / 2) >> (4 * (i % 2)) & 15;
}

// Calls block(bytes, values) for each block of the row.
template <int kElems, int kBytes, class Block>
void ForBlocks(const std::byte* src, int64_t count, float* dst, Block block) {
  for (int64_t i = 0; i < count; i += kElems, src += kBytes, dst += kElems) block(src, dst);
}

}  // namespace motley::plugin::dequant
