// Stored bytes made from a seed, and their values in double by the definition of the formats, written here a second
// time and plainly. The values of grid-coded formats are those of motley/dequant.hpp, which is compared with the gguf
// package bit for bit (tests/abi); the kernels do not use it.
#pragma once

#include <motley/dequant.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "plugins/cpu_avx512/kernels/layout.h"

namespace motley::cpu::test {

inline const char* Name(WeightFormat f) { return NameOf(f); }

inline const std::vector<WeightFormat> kAllFormats = [] {
  std::vector<WeightFormat> formats;
  for (const FormatRow& row : kFormats) formats.push_back(row.format);
  return formats;
}();

inline double HalfValue(uint16_t h) {
  const int sign = h >> 15, exponent = h >> 10 & 31, mantissa = h & 1023;
  const double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return sign != 0 ? -value : value;
}

// Where the f16 scales of a block are: a second one (minimum) of either sign, or as the first.
struct HalfFields {
  int first, second;  // -1: none
  bool either_sign;
};
inline HalfFields HalfFieldsOf(WeightFormat f) {
  switch (f) {
    case WeightFormat::kQ4_1:
    case WeightFormat::kQ5_1: return {0, 2, true};
    case WeightFormat::kQ2_K: return {80, 82, false};
    case WeightFormat::kQ4_K:
    case WeightFormat::kQ5_K: return {0, 2, false};
    case WeightFormat::kQ3_K: return {108, -1, true};
    case WeightFormat::kQ6_K: return {208, -1, true};
    case WeightFormat::kMXFP4:
    case WeightFormat::kNVFP4:
    case WeightFormat::kIQ1_M: return {-1, -1, true};
    default: return {0, -1, true};
  }
}

// Any stored bytes are valid but for scales that are infinite, NaN or huge: those come from a small range.
inline std::vector<uint8_t> RandomStored(WeightFormat f, int64_t n, int64_t k, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<uint8_t> bytes(static_cast<size_t>(n * StoredRowBytes(f, k)));
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  const auto half = [&](size_t at, bool either_sign) {  // 2^-10 .. 2^-6
    const uint16_t h = static_cast<uint16_t>((5 + random() % 4) << 10 | random() % 1024 |
                                             (either_sign ? random() % 2 << 15 : 0));
    std::memcpy(&bytes[at], &h, 2);
  };
  const size_t block_bytes = static_cast<size_t>(StoredBlockOf(f).bytes);
  for (size_t at = 0; at < bytes.size(); at += block_bytes) {
    if (f == WeightFormat::kF32 || f == WeightFormat::kBF16) {
      const float v = normal(random);
      std::memcpy(&bytes[at], reinterpret_cast<const char*>(&v) + 4 - block_bytes, block_bytes);
    } else if (f == WeightFormat::kF16) {
      const uint16_t h = static_cast<uint16_t>((10 + random() % 6) << 10 | random() % 1024 | random() % 2 << 15);
      std::memcpy(&bytes[at], &h, 2);
    } else if (f == WeightFormat::kMXFP4) {
      bytes[at] = static_cast<uint8_t>(117 + random() % 6);
    } else if (f == WeightFormat::kNVFP4) {
      for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<uint8_t>(random() % 56);  // denormals too
    } else if (f == WeightFormat::kIQ1_M) {
      const uint32_t h = (5 + random() % 4) << 10 | random() % 1024;  // its nibbles are the high ones of four u16
      for (size_t i = 0; i < 4; ++i) {
        uint8_t& b = bytes[at + 49 + 2 * i];
        b = static_cast<uint8_t>((b & 15) | (h >> (4 * i) & 15) << 4);
      }
    }
    if (!IsQuantised(f)) continue;
    const HalfFields fields = HalfFieldsOf(f);
    if (fields.first >= 0) half(at + static_cast<size_t>(fields.first), fields.either_sign);
    if (fields.second >= 0) half(at + static_cast<size_t>(fields.second), fields.either_sign);
  }
  return bytes;
}

inline double E2m1Value(int code) {
  static const double kMagnitudes[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return code < 8 ? kMagnitudes[code] : -kMagnitudes[code - 8];
}
inline double Iq4Value(int code) {
  static const double kValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  return kValues[code];
}

// Element e of one stored row; not of a grid-coded format.
inline double StoredValue(WeightFormat f, const uint8_t* row, int64_t e) {
  const auto half = [](const uint8_t* p) { return HalfValue(static_cast<uint16_t>(p[0] | p[1] << 8)); };
  const auto nibble = [](uint8_t b, bool high) { return high ? b >> 4 : b & 15; };
  const uint8_t* b = row + e / BlockElems(f) * StoredBlockOf(f).bytes;
  const int i = static_cast<int>(e % BlockElems(f));
  switch (f) {
    case WeightFormat::kF32: {
      float v;
      std::memcpy(&v, b, 4);
      return v;
    }
    case WeightFormat::kF16: return half(b);
    case WeightFormat::kBF16: {
      const uint32_t wide = static_cast<uint32_t>(b[0] | b[1] << 8) << 16;
      float v;
      std::memcpy(&v, &wide, 4);
      return v;
    }
    case WeightFormat::kQ8_0: return half(b) * static_cast<int8_t>(b[2 + i]);
    case WeightFormat::kQ4_0: return half(b) * (nibble(b[2 + i % 16], i >= 16) - 8);
    case WeightFormat::kQ4_1: return half(b) * nibble(b[4 + i % 16], i >= 16) + half(b + 2);
    case WeightFormat::kQ5_0: return half(b) * (nibble(b[6 + i % 16], i >= 16) + 16 * (b[2 + i / 8] >> (i % 8) & 1) - 16);
    case WeightFormat::kQ5_1:
      return half(b) * (nibble(b[8 + i % 16], i >= 16) + 16 * (b[4 + i / 8] >> (i % 8) & 1)) + half(b + 2);
    case WeightFormat::kQ2_K: {
      const int q = b[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
      return half(b + 80) * (b[i / 16] % 16) * q - half(b + 82) * (b[i / 16] / 16);
    }
    case WeightFormat::kQ3_K: {
      const int low = b[32 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3, high = b[i % 32] >> (i / 32) & 1;
      const int j = i / 16, four = nibble(b[96 + j % 8], j >= 8), two = b[104 + j % 4] >> (j / 4 * 2) & 3;
      return half(b + 108) * (four + 16 * two - 32) * (low + 4 * high - 4);
    }
    case WeightFormat::kQ4_K:
    case WeightFormat::kQ5_K: {
      const bool five = f == WeightFormat::kQ5_K;
      const int j = i / 32;
      const uint8_t* s = b + 4;
      const int scale = j < 4 ? s[j] % 64 : s[j + 4] % 16 + s[j - 4] / 64 * 16;
      const int min = j < 4 ? s[j + 4] % 64 : s[j + 4] / 16 + s[j] / 64 * 16;
      const int low = nibble(b[(five ? 48 : 16) + i / 64 * 32 + i % 32], i % 64 >= 32);
      const int q = low + (five ? 16 * (b[16 + i % 32] >> j & 1) : 0);
      return half(b) * scale * q - half(b + 2) * min;
    }
    case WeightFormat::kQ6_K: {
      const int r = i % 128, l = r % 32, quarter = r / 32;
      const int low = nibble(b[i / 128 * 64 + l + (quarter % 2) * 32], quarter >= 2);
      const int high = b[128 + i / 128 * 32 + l] >> (2 * quarter) & 3;
      return half(b + 208) * static_cast<int8_t>(b[192 + i / 16]) * (low + 16 * high - 32);
    }
    case WeightFormat::kIQ4_NL: return half(b) * Iq4Value(nibble(b[2 + i % 16], i >= 16));
    case WeightFormat::kIQ4_XS: {
      const int j = i / 32, low = nibble(b[4 + j / 2], j % 2 == 1), high = (b[2] | b[3] << 8) >> (2 * j) & 3;
      return half(b) * (low + 16 * high - 32) * Iq4Value(nibble(b[8 + j * 16 + i % 16], i % 32 >= 16));
    }
    case WeightFormat::kMXFP4: return std::ldexp(E2m1Value(nibble(b[1 + i % 16], i >= 16)), b[0] - 127);
    case WeightFormat::kNVFP4: {
      const int s = b[i / 16] & 127, exponent = s >> 3, fraction = s & 7;
      const double scale = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
      return scale * E2m1Value(nibble(b[4 + i / 16 * 8 + i % 8], i % 16 >= 8));
    }
    default: return NAN;
  }
}

// [n, k], row-major.
inline std::vector<double> StoredValues(WeightFormat f, const std::vector<uint8_t>& stored, int64_t n, int64_t k) {
  std::vector<double> values(static_cast<size_t>(n * k));
  if (RowOf(f).data == Data::kStored) {
    std::vector<float> floats(values.size());
    plugin::FindDequant(static_cast<uint32_t>(f))(reinterpret_cast<const std::byte*>(stored.data()), n * k, floats.data());
    values.assign(floats.begin(), floats.end());
    return values;
  }
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t e = 0; e < k; ++e) {
      values[static_cast<size_t>(r * k + e)] = StoredValue(f, stored.data() + r * StoredRowBytes(f, k), e);
    }
  }
  return values;
}

}  // namespace motley::cpu::test
