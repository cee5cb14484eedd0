// GGUF's grid-coded formats, blocks of 256: the magnitudes of 8 (or 4) elements at once are a point of a
// grid, signs and scales are kept apart. Included by dequant.hpp. "Sub" is 32 elements, "group" 8.
#pragma once

#include <motley/dequant_bytes.hpp>

#include <bit>

namespace motley::plugin::dequant {

#include <motley/grids.inc>

template <int kPoints, int kElems>
struct Grid {
  int8_t value[kPoints][kElems] = {};
};

template <int kElems, int kPoints, int kValues>
constexpr Grid<kPoints, kElems> MakeGrid(const uint16_t (&points)[kPoints], const int8_t (&values)[kValues]) {
  constexpr int kBits = 16 / kElems;
  Grid<kPoints, kElems> grid;
  for (int p = 0; p < kPoints; ++p) {
    for (int j = 0; j < kElems; ++j) grid.value[p][j] = values[points[p] >> (kBits * j) & ((1 << kBits) - 1)];
  }
  return grid;
}

inline constexpr auto kIq1Grid = MakeGrid<8>(kIq1Points, kIq1Values);
inline constexpr auto kIq2XxsGrid = MakeGrid<8>(kIq2XxsPoints, kIq2XxsValues);
inline constexpr auto kIq2XsGrid = MakeGrid<8>(kIq2XsPoints, kIq2XsValues);
inline constexpr auto kIq2SGrid = MakeGrid<8>(kIq2SPoints, kIq2SValues);
inline constexpr auto kIq3XxsGrid = MakeGrid<4>(kIq3XxsPoints, kIq3XxsValues);
inline constexpr auto kIq3SGrid = MakeGrid<4>(kIq3SPoints, kIq3SValues);

// y = d * a point's values, value j negated where bit j of signs is set.
template <int kElems>
inline void PutSigned(float d, const int8_t (&point)[kElems], int signs, float* y) {
  for (int j = 0; j < kElems; ++j) {
    const uint32_t sign = static_cast<uint32_t>(signs >> j & 1) << 31;
    y[j] = BitsToFloat(FloatToBits(d * static_cast<float>(point[j])) ^ sign);
  }
}

// Seven stored signs; the eighth makes the number of minuses even.
inline int EvenSigns(uint32_t seven) {
  const uint32_t bits = seven & 127;
  return static_cast<int>(bits | static_cast<uint32_t>(std::popcount(bits) & 1) << 7);
}

// d, then a sub: four 8-bit points, u32 of four times seven signs and a 4-bit scale.
inline void Iq2Xxs(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 66>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    for (int sub = 0; sub < 8; ++sub) {
      const std::byte* points = b + 2 + 8 * sub;
      const uint32_t tail = U32(points + 4);
      const float dl = d * (0.5f + static_cast<float>(tail >> 28)) * 0.25f;
      for (int g = 0; g < 4; ++g) {
        PutSigned(dl, kIq2XxsGrid.value[U8(points + g)], EvenSigns(tail >> (7 * g)), y + 32 * sub + 8 * g);
      }
    }
  });
}

// d, 32 u16 (9-bit point, seven signs), scales[8]: a nibble for each two groups.
inline void Iq2Xs(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 74>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    for (int g = 0; g < 32; ++g) {
      const int word = U16(b + 2 + 2 * g);
      const float dl = d * (0.5f + static_cast<float>(Nibble(b + 66, g / 2))) * 0.25f;
      PutSigned(dl, kIq2XsGrid.value[word & 511], EvenSigns(static_cast<uint32_t>(word) >> 9), y + 8 * g);
    }
  });
}

// d, qs[32], signs[32], qh[8] (2 bits a group), scales[8]: a nibble for each two groups.
inline void Iq2S(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 82>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    for (int g = 0; g < 32; ++g) {
      const int point = U8(b + 2 + g) | (U8(b + 66 + g / 4) >> (2 * (g % 4)) & 3) << 8;
      const float dl = d * (0.5f + static_cast<float>(Nibble(b + 74, g / 2))) * 0.25f;
      PutSigned(dl, kIq2SGrid.value[point], U8(b + 34 + g), y + 8 * g);
    }
  });
}

// d, qs[64], then for a sub a u32 of four times seven signs and a 4-bit scale. Two points of 4 a group.
inline void Iq3Xxs(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 98>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    for (int sub = 0; sub < 8; ++sub) {
      const uint32_t tail = U32(b + 66 + 4 * sub);
      const float dl = d * (0.5f + static_cast<float>(tail >> 28)) * 0.5f;
      for (int p = 0; p < 8; ++p) {
        const int signs = EvenSigns(tail >> (7 * (p / 2))) >> (4 * (p % 2));
        PutSigned(dl, kIq3XxsGrid.value[U8(b + 2 + 8 * sub + p)], signs, y + 32 * sub + 4 * p);
      }
    }
  });
}

// d, qs[64], qh[8] (a bit a point), signs[32], scales[4]: a nibble a sub.
inline void Iq3S(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 110>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    for (int p = 0; p < 64; ++p) {
      const int point = U8(b + 2 + p) | (U8(b + 66 + p / 8) >> (p % 8) & 1) << 8;
      const float dl = d * static_cast<float>(1 + 2 * Nibble(b + 106, p / 8));
      PutSigned(dl, kIq3SGrid.value[point], U8(b + 74 + p / 2) >> (4 * (p % 2)), y + 4 * p);
    }
  });
}

// IQ1: a point's values are -1, 0, 1, and an eighth is added to or taken from each.
inline void PutShifted(float d, int point, bool down, float* y) {
  for (int j = 0; j < 8; ++j) {
    y[j] = d * (static_cast<float>(kIq1Grid.value[point][j]) + (down ? -0.125f : 0.125f));
  }
}

// d, qs[32], then for a sub a u16: four times 3 bits of a point, a 3-bit scale, the shift's sign.
inline void Iq1S(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 50>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    for (int g = 0; g < 32; ++g) {
      const int high = U16(b + 34 + 2 * (g / 4));
      const float dl = d * static_cast<float>(2 * (high >> 12 & 7) + 1);
      PutShifted(dl, U8(b + 2 + g) | (high >> (3 * (g % 4)) & 7) << 8, high & 0x8000, y + 8 * g);
    }
  });
}

// qs[32], qh[16] (a nibble a group: 3 bits of the point, the shift's sign), four u16: each four 3-bit scales,
// one for each two groups, and above them a nibble of d.
inline void Iq1M(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 56>(src, count, dst, [](const std::byte* b, float* y) {
    const std::byte* scales = b + 48;
    int bits = 0;
    for (int i = 0; i < 4; ++i) bits |= U16(scales + 2 * i) >> 12 << (4 * i);
    const float d = HalfToFloat(static_cast<uint16_t>(bits));
    for (int g = 0; g < 32; ++g) {
      const int high = Nibble(b + 32, g);
      const float dl = d * static_cast<float>(2 * (U16(scales + 2 * (g / 8)) >> (3 * (g / 2 % 4)) & 7) + 1);
      PutShifted(dl, U8(b + g) | (high & 7) << 8, high & 8, y + 8 * g);
    }
  });
}

}  // namespace motley::plugin::dequant
