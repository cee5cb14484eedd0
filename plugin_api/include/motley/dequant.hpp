// Stored formats to float, bit for bit what the format's definition says: one rounding an operation, in its
// order. Every format of weights in format_table.inc is here. Scalar and portable: for a reference, for
// formats without a kernel of their own, for packing weights at load. Where a value is d * q - m all before
// the subtraction is exact, so a fused multiply-add gives the same bits. Denormals must not be flushed
// (MXFP4's smallest scales are such).
#pragma once

#include <motley/dequant_bytes.hpp>
#include <motley/dequant_grids.hpp>
#include <motley/formats.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace motley::plugin {

// Writes `count` values (a multiple of the format's block). src needs no alignment; it is read to its last
// byte and no further. No values are refused: an infinite or NaN scale gives infinite or NaN values.
using DequantFn = void (*)(const std::byte* src, int64_t count, float* dst);

// nullptr for formats that are no weights (the integers, F64) and unknown ids. Any thread.
inline DequantFn FindDequant(uint32_t format);

// ---- below: how

namespace dequant {

// ---- Floats

inline void F32(const std::byte* src, int64_t count, float* dst) {
  std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(float));
}
inline void F16(const std::byte* src, int64_t count, float* dst) {
  for (int64_t i = 0; i < count; ++i) dst[i] = Half(src + 2 * i);
}
inline void Bf16(const std::byte* src, int64_t count, float* dst) {
  for (int64_t i = 0; i < count; ++i) dst[i] = Bfloat16ToFloat(static_cast<uint16_t>(U16(src + 2 * i)));
}

// ---- Blocks of 32: d (f16) [, m (f16)] [, qh[4]], qs. Element j is a low nibble, j + 16 the high one of the
// same byte.

inline void Q40(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<32, 18>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    for (int j = 0; j < 16; ++j) {
      const int q = U8(b + 2 + j);
      y[j] = d * static_cast<float>((q & 15) - 8);
      y[j + 16] = d * static_cast<float>((q >> 4) - 8);
    }
  });
}

inline void Q41(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<32, 20>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b), m = Half(b + 2);
    for (int j = 0; j < 16; ++j) {
      const int q = U8(b + 4 + j);
      y[j] = d * static_cast<float>(q & 15) + m;
      y[j + 16] = d * static_cast<float>(q >> 4) + m;
    }
  });
}

// The fifth bit of element j is bit j of the little-endian word qh.
inline int FifthBit(const std::byte* qh, int j) {
  return (U8(qh + j / 8) >> (j % 8) & 1) << 4;
}

inline void Q50(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<32, 22>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    for (int j = 0; j < 16; ++j) {
      const int q = U8(b + 6 + j);
      y[j] = d * static_cast<float>(((q & 15) | FifthBit(b + 2, j)) - 16);
      y[j + 16] = d * static_cast<float>(((q >> 4) | FifthBit(b + 2, j + 16)) - 16);
    }
  });
}

inline void Q51(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<32, 24>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b), m = Half(b + 2);
    for (int j = 0; j < 16; ++j) {
      const int q = U8(b + 8 + j);
      y[j] = d * static_cast<float>((q & 15) | FifthBit(b + 4, j)) + m;
      y[j + 16] = d * static_cast<float>((q >> 4) | FifthBit(b + 4, j + 16)) + m;
    }
  });
}

inline void Q80(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<32, 34>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    for (int j = 0; j < 32; ++j) y[j] = static_cast<float>(I8(b + 2 + j)) * d;
  });
}

// ---- Blocks of 256 ("K"): sub-blocks of 16 or 32 with scales of their own, below one d (and dmin).

// scales[16] (low nibble scale, high nibble min), qs[64], d, dmin. Each 128 values share 32 bytes, 2 bits a
// plane.
inline void Q2K(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 84>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b + 80), dmin = Half(b + 82);
    for (int sub = 0; sub < 16; ++sub) {
      const int scale = U8(b + sub), plane = sub % 8 / 2;
      const float dl = d * static_cast<float>(scale & 15), ml = dmin * static_cast<float>(scale >> 4);
      const std::byte* qs = b + 16 + 32 * (sub / 8) + 16 * (sub % 2);
      for (int j = 0; j < 16; ++j) {
        y[16 * sub + j] = dl * static_cast<float>(U8(qs + j) >> (2 * plane) & 3) - ml;
      }
    }
  });
}

// Sixteen 6-bit scales in 12 bytes: low nibbles in bytes 0..7, the upper two bits in bytes 8..11.
inline int Scale3(const std::byte* s, int i) {
  const int low = i < 8 ? U8(s + i) & 15 : U8(s + i - 8) >> 4;
  return low | (U8(s + 8 + i % 4) >> (2 * (i / 4)) & 3) << 4;
}

// hmask[32], qs[64], scales[12], d. A clear bit of hmask takes 4 away.
inline void Q3K(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 110>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b + 108);
    for (int sub = 0; sub < 16; ++sub) {
      const int plane = sub % 8 / 2;
      const float dl = d * static_cast<float>(Scale3(b + 96, sub) - 32);
      const std::byte *qs = b + 32 + 32 * (sub / 8) + 16 * (sub % 2), *mask = b + 16 * (sub % 2);
      for (int j = 0; j < 16; ++j) {
        const int low = U8(qs + j) >> (2 * plane) & 3, high = U8(mask + j) >> (sub / 2) & 1;
        y[16 * sub + j] = dl * static_cast<float>(low + 4 * high - 4);
      }
    }
  });
}

// Eight 6-bit scales and eight 6-bit mins in 12 bytes.
inline void ScaleMin(const std::byte* s, int j, int* scale, int* min) {
  if (j < 4) {
    *scale = U8(s + j) & 63;
    *min = U8(s + j + 4) & 63;
  } else {
    *scale = (U8(s + j + 4) & 15) | (U8(s + j - 4) >> 6) << 4;
    *min = (U8(s + j + 4) >> 4) | (U8(s + j) >> 6) << 4;
  }
}

// d, dmin, scales[12], qs[128]: each 64 values are 32 low nibbles, then the 32 high ones.
inline void Q4K(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 144>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b), dmin = Half(b + 2);
    for (int sub = 0; sub < 8; ++sub) {
      int scale, min;
      ScaleMin(b + 4, sub, &scale, &min);
      const float dl = d * static_cast<float>(scale), ml = dmin * static_cast<float>(min);
      const std::byte* qs = b + 16 + 32 * (sub / 2);
      for (int j = 0; j < 32; ++j) {
        const int q = sub % 2 ? U8(qs + j) >> 4 : U8(qs + j) & 15;
        y[32 * sub + j] = dl * static_cast<float>(q) - ml;
      }
    }
  });
}

// As Q4_K with qh[32] before qs: the fifth bit of value j of sub-block s is bit s of qh[j].
inline void Q5K(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 176>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b), dmin = Half(b + 2);
    for (int sub = 0; sub < 8; ++sub) {
      int scale, min;
      ScaleMin(b + 4, sub, &scale, &min);
      const float dl = d * static_cast<float>(scale), ml = dmin * static_cast<float>(min);
      const std::byte *qh = b + 16, *qs = b + 48 + 32 * (sub / 2);
      for (int j = 0; j < 32; ++j) {
        const int low = sub % 2 ? U8(qs + j) >> 4 : U8(qs + j) & 15;
        const int q = low | (U8(qh + j) >> sub & 1) << 4;
        y[32 * sub + j] = dl * static_cast<float>(q) - ml;
      }
    }
  });
}

// ql[128], qh[64], int8 scales[16], d. Each 128 values: 64 bytes of ql (low nibbles, then high), 32 of qh (2
// bits a quarter).
inline void Q6K(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 210>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b + 208);
    for (int sub = 0; sub < 16; ++sub) {
      const int half = sub / 8, quarter = sub % 8 / 2, odd = sub % 2;
      const float dl = d * static_cast<float>(I8(b + 192 + sub));
      const std::byte *ql = b + 64 * half + 32 * (quarter % 2) + 16 * odd,
                      *qh = b + 128 + 32 * half + 16 * odd;
      for (int j = 0; j < 16; ++j) {
        const int low = quarter < 2 ? U8(ql + j) & 15 : U8(ql + j) >> 4;
        const int q = low | (U8(qh + j) >> (2 * quarter) & 3) << 4;
        y[16 * sub + j] = dl * static_cast<float>(q - 32);
      }
    }
  });
}

// ---- Table-coded nibbles

inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr int8_t kE2m1Twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

inline void Iq4Nl(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<32, 18>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    for (int j = 0; j < 16; ++j) {
      const int q = U8(b + 2 + j);
      y[j] = d * static_cast<float>(kIq4Values[q & 15]);
      y[j + 16] = d * static_cast<float>(kIq4Values[q >> 4]);
    }
  });
}

// d, u16 scales_h (2 bits each), scales_l[4] (4 bits each), qs[128]: eight sub-blocks like IQ4_NL's.
inline void Iq4Xs(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<256, 136>(src, count, dst, [](const std::byte* b, float* y) {
    const float d = Half(b);
    const int scales_high = U16(b + 2);
    for (int sub = 0; sub < 8; ++sub) {
      const int low = U8(b + 4 + sub / 2) >> (4 * (sub % 2)) & 15;
      const int scale = (low | (scales_high >> (2 * sub) & 3) << 4) - 32;
      const float dl = d * static_cast<float>(scale);
      for (int j = 0; j < 16; ++j) {
        const int q = U8(b + 8 + 16 * sub + j);
        y[32 * sub + j] = dl * static_cast<float>(kIq4Values[q & 15]);
        y[32 * sub + j + 16] = dl * static_cast<float>(kIq4Values[q >> 4]);
      }
    }
  });
}

// e (8-bit exponent), qs[16]. Half of 2^(e - 127), since the table holds twice the values.
inline void Mxfp4(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<32, 17>(src, count, dst, [](const std::byte* b, float* y) {
    const uint32_t e = U8(b);
    const float d = BitsToFloat(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    for (int j = 0; j < 16; ++j) {
      const int q = U8(b + 1 + j);
      y[j] = d * static_cast<float>(kE2m1Twice[q & 15]);
      y[j + 16] = d * static_cast<float>(kE2m1Twice[q >> 4]);
    }
  });
}

// Scales[4] in unsigned e4m3, then four groups of 8 bytes: element j of a group is a low nibble, j + 8 the
// high one.
inline float HalfOfUe4m3(int bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if (bits == 0x7f) return 0.0f;
  const float value = exponent == 0 ? static_cast<float>(fraction) * 0x1p-9f
                                    : BitsToFloat(static_cast<uint32_t>(exponent + 120) << 23) *
                                          (1.0f + static_cast<float>(fraction) / 8.0f);
  return value * 0.5f;
}

inline void Nvfp4(const std::byte* src, int64_t count, float* dst) {
  ForBlocks<64, 36>(src, count, dst, [](const std::byte* b, float* y) {
    for (int group = 0; group < 4; ++group) {
      const float d = HalfOfUe4m3(U8(b + group));
      for (int j = 0; j < 8; ++j) {
        const int q = U8(b + 4 + 8 * group + j);
        y[16 * group + j] = d * static_cast<float>(kE2m1Twice[q & 15]);
        y[16 * group + j + 8] = d * static_cast<float>(kE2m1Twice[q >> 4]);
      }
    }
  });
}

}  // namespace dequant

inline DequantFn FindDequant(uint32_t format) {
  switch (format) {
    case format_id::kF32: return dequant::F32;
    case format_id::kF16: return dequant::F16;
    case format_id::kBF16: return dequant::Bf16;
    case format_id::kQ4_0: return dequant::Q40;
    case format_id::kQ4_1: return dequant::Q41;
    case format_id::kQ5_0: return dequant::Q50;
    case format_id::kQ5_1: return dequant::Q51;
    case format_id::kQ8_0: return dequant::Q80;
    case format_id::kQ2_K: return dequant::Q2K;
    case format_id::kQ3_K: return dequant::Q3K;
    case format_id::kQ4_K: return dequant::Q4K;
    case format_id::kQ5_K: return dequant::Q5K;
    case format_id::kQ6_K: return dequant::Q6K;
    case format_id::kIQ1_S: return dequant::Iq1S;
    case format_id::kIQ1_M: return dequant::Iq1M;
    case format_id::kIQ2_XXS: return dequant::Iq2Xxs;
    case format_id::kIQ2_XS: return dequant::Iq2Xs;
    case format_id::kIQ2_S: return dequant::Iq2S;
    case format_id::kIQ3_XXS: return dequant::Iq3Xxs;
    case format_id::kIQ3_S: return dequant::Iq3S;
    case format_id::kIQ4_NL: return dequant::Iq4Nl;
    case format_id::kIQ4_XS: return dequant::Iq4Xs;
    case format_id::kMXFP4: return dequant::Mxfp4;
    case format_id::kNVFP4: return dequant::Nvfp4;
    default: return nullptr;
  }
}

}  // namespace motley::plugin
