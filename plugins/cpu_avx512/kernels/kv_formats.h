// One struct a format of the cache: how its codes become floats. Include only from the kernels of attention.
//
//   kDims                            dims of a key tile that one load of codes holds
//   Keys(tile, dim, scale, out)      kLanes keys of dims [dim, dim + kDims) -> out[kDims]; `tile`: the codes of the
//                                    first of these keys at dim 0; `scale`: of these keys and this block of dims
//   Values(row, column, scale)       dims [column, column + kLanes) of one row; column is a multiple of kLanes
// Formats without blocks take no heed of the scale.
#pragma once

#include "plugins/cpu_avx512/kernels/attention.h"
#include "plugins/cpu_avx512/kernels/native.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

// The keys of one kv head in a page; its values follow.
inline uint8_t* HeadKeys(const AttentionCall& c, int64_t page, int64_t kv_head) {
  const int64_t row = KvRowBytes(c.format, c.head_dim) + KvRowBytes(c.format, c.v_dim);
  return c.kv + page * c.page_bytes + kv_head * c.page_tokens * row;
}
inline uint8_t* HeadValues(const AttentionCall& c, int64_t page, int64_t kv_head) {
  return HeadKeys(c, page, kv_head) + c.page_tokens * KvRowBytes(c.format, c.head_dim);
}

struct F32Cache {
  static constexpr KvFormat kFormat = KvFormat::kF32;
  static constexpr int kDims = 1;
  static void Keys(const uint8_t* tile, int64_t dim, Floats, Floats* out) {
    out[0] = Load(reinterpret_cast<const float*>(tile) + dim * kKeyTile);
  }
  static Floats Values(const uint8_t* row, int64_t column, Floats) {
    return Load(reinterpret_cast<const float*>(row) + column);
  }
};

struct F16Cache {
  static constexpr KvFormat kFormat = KvFormat::kF16;
  static constexpr int kDims = 1;
  static void Keys(const uint8_t* tile, int64_t dim, Floats, Floats* out) {
    out[0] = FromHalf(tile + dim * kKeyTile * 2);
  }
  static Floats Values(const uint8_t* row, int64_t column, Floats) { return FromHalf(row + column * 2); }
};

struct Bf16Cache {
  static constexpr KvFormat kFormat = KvFormat::kBF16;
  static constexpr int kDims = 1;
  static void Keys(const uint8_t* tile, int64_t dim, Floats, Floats* out) {
    out[0] = FromBf16(tile + dim * kKeyTile * 2);
  }
  static Floats Values(const uint8_t* row, int64_t column, Floats) { return FromBf16(row + column * 2); }
};

struct Q80Cache {
  static constexpr KvFormat kFormat = KvFormat::kQ8_0;
  static constexpr int kDims = 1;
  static void Keys(const uint8_t* tile, int64_t dim, Floats scale, Floats* out) {
    out[0] = Times(FromCodes(LoadCodes(tile + dim * kKeyTile)), scale);
  }
  static Floats Values(const uint8_t* row, int64_t column, Floats scale) {
    return Times(FromCodes(LoadCodes(row + column)), scale);
  }
};

struct Q40Cache {
  static constexpr KvFormat kFormat = KvFormat::kQ4_0;
  static constexpr int kDims = 2;
  static void Keys(const uint8_t* tile, int64_t dim, Floats scale, Floats* out) {
    const Codes pairs = LoadCodes(tile + dim / 2 * kKeyTile);
    out[0] = Times(FromCodes(LowCodes(pairs)), scale);
    out[1] = Times(FromCodes(HighCodes(pairs)), scale);
  }
  static Floats Values(const uint8_t* row, int64_t column, Floats scale) {
    const Codes pairs = LoadCodes(row + column / kKvBlock * 16 + column % 16);
    return Times(FromCodes(column % kKvBlock < 16 ? LowCodes(pairs) : HighCodes(pairs)), scale);
  }
};

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
