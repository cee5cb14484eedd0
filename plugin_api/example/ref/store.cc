#include "store.h"

#include <motley/formats.hpp>
#include <motley/half.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace motley::ref {
namespace {

namespace format_id = plugin::format_id;

void PutU16(std::byte* p, uint16_t value) {
  std::memcpy(p, &value, sizeof value);
}

void StoreF32(const float* src, int64_t count, std::byte* dst) {
  std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(float));
}

void StoreF16(const float* src, int64_t count, std::byte* dst) {
  for (int64_t i = 0; i < count; ++i) PutU16(dst + 2 * i, plugin::FloatToHalf(src[i]));
}

// To nearest, ties to even.
void StoreBf16(const float* src, int64_t count, std::byte* dst) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = plugin::FloatToBits(src[i]);
    const uint32_t rounded = src[i] != src[i] ? bits | 0x400000 : bits + 0x7fff + ((bits >> 16) & 1);
    PutU16(dst + 2 * i, static_cast<uint16_t>(rounded >> 16));
  }
}

// The value of the largest magnitude, with its sign; NaN where one is not finite.
float Extreme(const float* x, int n) {
  float extreme = 0;
  for (int i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return std::numeric_limits<float>::quiet_NaN();
    if (std::abs(x[i]) > std::abs(extreme)) extreme = x[i];
  }
  return extreme;
}

// The scale as it will be read back, and what to multiply by.
struct Scale {
  uint16_t half;
  float inverse;
};
Scale MakeScale(float scale) {
  const uint16_t half = plugin::FloatToHalf(scale);
  const float read = plugin::HalfToFloat(half);
  return {half, std::isfinite(read) && read != 0 ? 1.0f / read : 0.0f};
}

void StoreQ80(const float* src, int64_t count, std::byte* dst) {
  for (int64_t i = 0; i < count; i += 32, src += 32, dst += 34) {
    const Scale scale = MakeScale(std::abs(Extreme(src, 32)) / 127.0f);
    PutU16(dst, scale.half);
    for (int j = 0; j < 32; ++j) {
      const float q = scale.inverse == 0 ? 0 : std::nearbyint(src[j] * scale.inverse);
      dst[2 + j] = static_cast<std::byte>(static_cast<int8_t>(std::clamp(q, -127.0f, 127.0f)));
    }
  }
}

// The extreme value becomes -8, so that its magnitude is kept.
void StoreQ40(const float* src, int64_t count, std::byte* dst) {
  for (int64_t i = 0; i < count; i += 32, src += 32, dst += 18) {
    const Scale scale = MakeScale(Extreme(src, 32) / -8.0f);
    PutU16(dst, scale.half);
    const auto nibble = [&](float x) {
      const float q = scale.inverse == 0 ? 0 : std::nearbyint(x * scale.inverse);
      return static_cast<int>(std::clamp(q, -8.0f, 7.0f)) + 8;
    };
    for (int j = 0; j < 16; ++j)
      dst[2 + j] = static_cast<std::byte>(nibble(src[j]) | nibble(src[j + 16]) << 4);
  }
}

}  // namespace

StoreFn FindStore(uint32_t format) {
  switch (format) {
    case format_id::kF32: return StoreF32;
    case format_id::kF16: return StoreF16;
    case format_id::kBF16: return StoreBf16;
    case format_id::kQ8_0: return StoreQ80;
    case format_id::kQ4_0: return StoreQ40;
    default: return nullptr;
  }
}

}  // namespace motley::ref
