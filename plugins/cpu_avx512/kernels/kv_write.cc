// Heads of q and k made ready (normalised, rotated), and keys and values written into their pages: kv_layout.h.
#include <cmath>
#include <cstring>

#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/kv_formats.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

uint16_t HalfOf(float value) {
  return static_cast<uint16_t>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), 0), 0));
}
float FloatOf(uint16_t half) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half))); }

uint16_t Bf16Of(float value) {  // nearest even; a NaN stays one
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (value != value) return static_cast<uint16_t>((bits | 0x400000) >> 16);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Nearest even, and 0 for what is none.
int32_t Whole(float x, float least, float most) {
  const __m128 clamped = _mm_min_ps(_mm_set_ss(most), _mm_max_ps(_mm_set_ss(least), _mm_set_ss(x)));
  return x == x ? _mm_cvtss_si32(clamped) : 0;
}

// 32 values as codes in [-127, 127] or [-8, 7], and their scale. A value that is not finite makes the scale, and so
// the block, NaN. The same rounding as in the example plugin, so that caches of different plugins agree.
uint16_t RoundBlock(KvFormat format, const float* x, int8_t* codes) {
  float extreme = 0;
  bool finite = true;
  for (int i = 0; i < kKvBlock; ++i) {
    finite = finite && std::fabs(x[i]) <= 3.402823466e+38f;
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  const bool eight = format == KvFormat::kQ8_0;
  // Four bits: the value of largest magnitude becomes -8, so that it is kept.
  const uint16_t scale = finite ? HalfOf(eight ? std::fabs(extreme) / 127.0f : extreme / -8.0f) : uint16_t{0x7e00};
  const float read = FloatOf(scale);
  const float inverse = std::fabs(read) <= 65504.0f && read != 0 ? 1.0f / read : 0.0f;
  for (int i = 0; i < kKvBlock; ++i) {
    codes[i] = static_cast<int8_t>(inverse == 0 ? 0 : Whole(x[i] * inverse, eight ? -127 : -8, eight ? 127 : 7));
  }
  return scale;
}

// One element at a time: a token's values lie apart in a tile.
void PutElement(KvFormat format, uint8_t* at, float value) {
  if (format == KvFormat::kF32) {
    std::memcpy(at, &value, 4);
  } else {
    const uint16_t bits = format == KvFormat::kF16 ? HalfOf(value) : Bf16Of(value);
    std::memcpy(at, &bits, 2);
  }
}

uint8_t Pair(int8_t low, int8_t high) { return static_cast<uint8_t>((low + 8) | (high + 8) << 4); }

// Row `token` of a plane of rows.
void WriteRow(const AttentionCall& c, const float* x, int64_t dim, int64_t token, uint8_t* plane) {
  const KvFormat f = c.format;
  uint8_t* row = plane + token * KvCodeBytes(f, dim);
  if (!InBlocks(f)) {
    const int64_t elem = KvCodeBytes(f, 1);
    for (int64_t d = 0; d < dim; ++d) PutElement(f, row + d * elem, x[d]);
    return;
  }
  int8_t codes[kKvBlock];
  for (int64_t block = 0; block < dim / kKvBlock; ++block) {
    const uint16_t scale = RoundBlock(f, x + block * kKvBlock, codes);
    std::memcpy(plane + KvRowScaleAt(f, c.page_tokens, dim, token, block), &scale, 2);
    if (f == KvFormat::kQ8_0) {
      std::memcpy(row + block * kKvBlock, codes, kKvBlock);
    } else {
      for (int i = 0; i < 16; ++i) row[block * 16 + i] = Pair(codes[i], codes[16 + i]);
    }
  }
}

// Key `token` of a plane of tiles.
void WriteTiledKey(const AttentionCall& c, const float* x, int64_t token, uint8_t* plane) {
  const KvFormat f = c.format;
  const int64_t dim = c.head_dim, lane = token % kKeyTile;
  uint8_t* tile = plane + token / kKeyTile * kKeyTile * KvRowBytes(f, dim);
  if (!InBlocks(f)) {
    const int64_t elem = KvCodeBytes(f, 1);
    for (int64_t d = 0; d < dim; ++d) PutElement(f, tile + (d * kKeyTile + lane) * elem, x[d]);
    return;
  }
  int8_t codes[kKvBlock];
  uint8_t* to = tile + KvTileScaleBytes(f, dim);
  for (int64_t block = 0; block < dim / kKvBlock; ++block) {
    const uint16_t scale = RoundBlock(f, x + block * kKvBlock, codes);
    std::memcpy(tile + (block * kKeyTile + lane) * 2, &scale, 2);
    for (int64_t i = 0; i < kKvBlock; ++i) {
      const int64_t d = block * kKvBlock + i;
      if (f == KvFormat::kQ8_0) {
        to[d * kKeyTile + lane] = static_cast<uint8_t>(codes[i]);
      } else if (i % 2 == 0) {
        to[d / 2 * kKeyTile + lane] = Pair(codes[i], codes[i + 1]);
      }
    }
  }
}

// Pairs (a, b) of `half` dims, a[i * step] and b[i * step].
template <int64_t step>
void Rotate(const float* __restrict cos, const float* __restrict sin, int64_t half, float* __restrict a,
            float* __restrict b) {
  for (int64_t i = 0; i < half; ++i) {
    const float x = a[i * step], y = b[i * step];
    a[i * step] = x * cos[i] - y * sin[i];
    b[i * step] = y * cos[i] + x * sin[i];
  }
}

}  // namespace

void PrepareHead(const AttentionCall& c, const float* in, const float* norm, int64_t token, float* out) {
  if (norm != nullptr) {
    RmsNormRow(in, norm, c.head_dim, c.norm_eps, out);
  } else {
    std::memcpy(out, in, static_cast<size_t>(c.head_dim) * sizeof(float));
  }
  const int64_t half = c.rotary_dim / 2;
  const float* cos = c.rope + token * c.rotary_dim;
  if (c.rope_style == 0) {
    Rotate<1>(cos, cos + half, half, out, out + half);
  } else {
    Rotate<2>(cos, cos + half, half, out, out + 1);
  }
}

void WriteKv(const AttentionCall& c, int64_t token, int64_t kv_head, void* scratch) {
  const int64_t slot = c.slot[token];
  if (slot < 0) return;
  const int64_t page = slot / c.page_tokens, offset = slot % c.page_tokens;
  float* key = static_cast<float*>(scratch);
  PrepareHead(c, c.k + (token * c.n_kv_heads + kv_head) * c.head_dim, c.k_norm, token, key);
  uint8_t* keys = HeadKeys(c, page, kv_head);
  if (TiledKeys(c.page_tokens)) {
    WriteTiledKey(c, key, offset, keys);
  } else {
    WriteRow(c, key, c.head_dim, offset, keys);
  }
  const float* v = c.v + (token * c.n_kv_heads + kv_head) * c.v_dim;
  WriteRow(c, v, c.v_dim, offset, HeadValues(c, page, kv_head));
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA
