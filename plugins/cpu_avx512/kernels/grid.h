// The grid-coded formats (IQ1, IQ2, IQ3), decoded when they are multiplied: a stored block of 256 of one row to bytes
// with zero point 64 and scales. All their values are small integers times a scale, exactly:
//   IQ2, IQ3   +- grid point               scale d (2 s + 1) / 8, / 4, or d (2 s + 1)
//   IQ1        8 grid point +- 1           scale d (2 s + 1) / 8
// Source of the blocks' fields and of the grids: motley/dequant_grids.hpp; only its tables are used here, since
// functions that are inline across files must not be compiled with AVX.
#pragma once

#include <motley/dequant_grids.hpp>

#include <cstring>

#include "plugins/cpu_avx512/kernels/layout.h"
#include "plugins/cpu_avx512/kernels/simd.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

namespace grids = ::motley::plugin::dequant;

// Where one lane of a chunk goes: k-group g is four bytes at weights + g * group_stride, scale i at scale + i * ...
struct LaneOut {
  uint8_t* weights;
  int64_t group_stride;
  float* scale;
  int64_t scale_stride;

  void Put(int group_of_8, uint64_t bytes) const {
    std::memcpy(weights + 2 * group_of_8 * group_stride, &bytes, 4);
    bytes >>= 32;
    std::memcpy(weights + (2 * group_of_8 + 1) * group_stride, &bytes, 4);
  }
};

constexpr uint64_t kEachByte = 0x0101010101010101;

// A byte of ones for each bit of an index; and the same of seven bits with an eighth that makes them even in number.
struct SignMasks {
  uint64_t all[256] = {}, even[128] = {};
  constexpr SignMasks() {
    for (int bits = 0; bits < 256; ++bits) {
      for (int j = 0; j < 8; ++j) all[bits] |= (bits >> j & 1) != 0 ? uint64_t{0xff} << (8 * j) : 0;
    }
    for (int bits = 0; bits < 128; ++bits) {
      int ones = 0;
      for (int j = 0; j < 7; ++j) ones += bits >> j & 1;
      even[bits] = all[bits | (ones & 1) << 7];
    }
  }
};
inline constexpr SignMasks kSigns;

// 64 + value, or 64 - value where the mask has ones: no byte carries into the next, as values are below 64.
inline uint64_t Signed64(uint64_t values, uint64_t mask) {
  return 64 * kEachByte + values - ((values & mask) << 1);
}
// 64 + 8 value +- 1 of an IQ1 point, whose values are -1, 0, 1.
inline uint64_t Shifted64(const int8_t (&point)[8], bool down) {
  uint64_t v;
  std::memcpy(&v, point, 8);
  const uint64_t one = v & kEachByte, minus = v >> 7 & kEachByte;
  return (64 + 1) * kEachByte + (one << 3) - (minus << 4) - (down ? 2 * kEachByte : 0);
}
inline uint64_t Load8(const int8_t (&point)[8]) {
  uint64_t v;
  std::memcpy(&v, point, 8);
  return v;
}
inline uint64_t Load44(const int8_t (&low)[4], const int8_t (&high)[4]) {
  uint32_t a, b;
  std::memcpy(&a, low, 4);
  std::memcpy(&b, high, 4);
  return a | uint64_t{b} << 32;
}
inline uint32_t Load16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}
inline uint32_t Load32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}
inline float Half(uint32_t bits) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(bits)))); }
// d (2 s + 1) / unit: exact, f16 has 11 bits.
inline float OddScale(float d, uint32_t s, float unit) { return d * (static_cast<float>(2 * s + 1) / unit); }

// d, eight subs of 32: four 8-bit points, u32 of four times seven signs and a 4-bit scale.
inline void DecodeIq2Xxs(const uint8_t* b, const LaneOut& out) {
  const float d = Half(Load16(b));
  for (int sub = 0; sub < 8; ++sub) {
    const uint8_t* points = b + 2 + 8 * sub;
    const uint32_t tail = Load32(points + 4);
    out.scale[sub * out.scale_stride] = OddScale(d, tail >> 28, 8);
    for (int g = 0; g < 4; ++g) {
      out.Put(4 * sub + g, Signed64(Load8(grids::kIq2XxsGrid.value[points[g]]), kSigns.even[tail >> (7 * g) & 127]));
    }
  }
}

// d, 32 u16 (9-bit point, seven signs), 16 nibbles of scales, one for each two groups of 8.
inline void DecodeIq2Xs(const uint8_t* b, const LaneOut& out) {
  const float d = Half(Load16(b));
  for (int half = 0; half < 16; ++half) {
    out.scale[half * out.scale_stride] = OddScale(d, b[66 + half / 2] >> (half % 2 * 4) & 15u, 8);
    for (int g = 2 * half; g < 2 * half + 2; ++g) {
      const uint32_t word = Load16(b + 2 + 2 * g);
      out.Put(g, Signed64(Load8(grids::kIq2XsGrid.value[word & 511]), kSigns.even[word >> 9]));
    }
  }
}

// d, qs[32], signs[32], qh[8] (2 bits a group of 8), scales[8] as IQ2_XS.
inline void DecodeIq2S(const uint8_t* b, const LaneOut& out) {
  const float d = Half(Load16(b));
  for (int half = 0; half < 16; ++half) {
    out.scale[half * out.scale_stride] = OddScale(d, b[74 + half / 2] >> (half % 2 * 4) & 15u, 8);
    for (int g = 2 * half; g < 2 * half + 2; ++g) {
      const int point = b[2 + g] | (b[66 + g / 4] >> (g % 4 * 2) & 3) << 8;
      out.Put(g, Signed64(Load8(grids::kIq2SGrid.value[point]), kSigns.all[b[34 + g]]));
    }
  }
}

// d, qs[64] (points of 4), then for a sub of 32 a u32 of four times seven signs and a 4-bit scale.
inline void DecodeIq3Xxs(const uint8_t* b, const LaneOut& out) {
  const float d = Half(Load16(b));
  for (int sub = 0; sub < 8; ++sub) {
    const uint32_t tail = Load32(b + 66 + 4 * sub);
    out.scale[sub * out.scale_stride] = OddScale(d, tail >> 28, 4);
    for (int g = 0; g < 4; ++g) {
      const uint8_t* points = b + 2 + 8 * sub + 2 * g;
      const uint64_t values = Load44(grids::kIq3XxsGrid.value[points[0]], grids::kIq3XxsGrid.value[points[1]]);
      out.Put(4 * sub + g, Signed64(values, kSigns.even[tail >> (7 * g) & 127]));
    }
  }
}

// d, qs[64], qh[8] (a bit a point), signs[32], scales[4]: a nibble a sub.
inline void DecodeIq3S(const uint8_t* b, const LaneOut& out) {
  const float d = Half(Load16(b));
  for (int sub = 0; sub < 8; ++sub) {
    out.scale[sub * out.scale_stride] = OddScale(d, b[106 + sub / 2] >> (sub % 2 * 4) & 15u, 1);
    for (int g = 0; g < 4; ++g) {
      const int p = 8 * sub + 2 * g, high = b[66 + sub] >> (2 * g);
      const uint64_t values = Load44(grids::kIq3SGrid.value[b[2 + p] | (high & 1) << 8],
                                     grids::kIq3SGrid.value[b[3 + p] | (high >> 1 & 1) << 8]);
      out.Put(4 * sub + g, Signed64(values, kSigns.all[b[74 + 4 * sub + g]]));
    }
  }
}

// d, qs[32], then for a sub a u16: four times 3 bits of a point, a 3-bit scale, the shift's sign.
inline void DecodeIq1S(const uint8_t* b, const LaneOut& out) {
  const float d = Half(Load16(b));
  for (int sub = 0; sub < 8; ++sub) {
    const uint32_t high = Load16(b + 34 + 2 * sub);
    out.scale[sub * out.scale_stride] = OddScale(d, high >> 12 & 7, 8);
    for (int g = 0; g < 4; ++g) {
      const uint32_t point = b[2 + 4 * sub + g] | (high >> (3 * g) & 7) << 8;
      out.Put(4 * sub + g, Shifted64(grids::kIq1Grid.value[point], (high & 0x8000) != 0));
    }
  }
}

// qs[32], qh[16] (a nibble a group of 8: 3 bits of the point, the shift's sign), four u16: each four 3-bit scales, one
// for each two groups, and above them a nibble of d.
inline void DecodeIq1M(const uint8_t* b, const LaneOut& out) {
  const uint8_t* scales = b + 48;
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits |= Load16(scales + 2 * i) >> 12 << (4 * i);
  const float d = Half(bits);
  for (int half = 0; half < 16; ++half) {
    out.scale[half * out.scale_stride] = OddScale(d, Load16(scales + half / 4 * 2) >> (half % 4 * 3) & 7, 8);
    for (int g = 2 * half; g < 2 * half + 2; ++g) {
      const int high = b[32 + half] >> (g % 2 * 4);
      out.Put(g, Shifted64(grids::kIq1Grid.value[b[g] | (high & 7) << 8], (high & 8) != 0));
    }
  }
}

template <WeightFormat f>
inline void DecodeLane(const uint8_t* block, const LaneOut& out) {
  if constexpr (f == WeightFormat::kIQ1_S) DecodeIq1S(block, out);
  else if constexpr (f == WeightFormat::kIQ1_M) DecodeIq1M(block, out);
  else if constexpr (f == WeightFormat::kIQ2_XXS) DecodeIq2Xxs(block, out);
  else if constexpr (f == WeightFormat::kIQ2_XS) DecodeIq2Xs(block, out);
  else if constexpr (f == WeightFormat::kIQ2_S) DecodeIq2S(block, out);
  else if constexpr (f == WeightFormat::kIQ3_XXS) DecodeIq3Xxs(block, out);
  else DecodeIq3S(block, out);
}

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
