// How keys and values lie in a KV page. Plain data: any file may include it.
//
// A page holds, for each kv head in turn, its keys and then its values: two planes of page_tokens rows each, a row
// being one token's k_dim or v_dim values. Nothing lies between them; a page ends at a multiple of 64 bytes.
//
// Values, and keys where page_tokens is no multiple of 16, lie in rows:
//   F32, F16, BF16   [token][dim]
//   Q8_0             [token][dim] int8, then scales [dim / 32][token] f16
//   Q4_0             [token][dim / 32][16] bytes: byte i of a block holds dim i in its low half and dim 16 + i in its
//                    high half, + 8; then scales as with Q8_0
// Other keys lie in tiles of 16 tokens, so that one register holds one dim of many keys:
//   F32, F16, BF16   [token / 16][dim][16]
//   Q8_0             [token / 16]{scales [dim / 32][16] f16, then [dim][16] int8}
//   Q4_0             [token / 16]{scales [dim / 32][16] f16, then [dim / 2][16] bytes: dim 2 i low, 2 i + 1 high, + 8}
// So a row takes the bytes of the stored format (32 values in 34 or 18 bytes) wherever it lies, and no byte belongs
// to two tokens.
#pragma once

#include <cstdint>

namespace motley::cpu {

// The ids of format_table.inc.
enum class KvFormat : uint32_t { kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ8_0 = 8, kBF16 = 30 };

constexpr int64_t kKeyTile = 16;   // keys
constexpr int64_t kKvBlock = 32;   // values that share a scale

constexpr bool IsKvFormat(uint32_t format) {
  return format == 0 || format == 1 || format == 2 || format == 8 || format == 30;
}
constexpr bool InBlocks(KvFormat f) { return f == KvFormat::kQ8_0 || f == KvFormat::kQ4_0; }

constexpr bool TiledKeys(int64_t page_tokens) { return page_tokens % kKeyTile == 0; }

// What kv_plan calls the layout of a page.
constexpr uint32_t kKvTiled = 1, kKvRows = 2, kKvTiledBlocks = 3, kKvRowBlocks = 4;
constexpr uint32_t KvLayout(KvFormat f, int64_t page_tokens) {
  if (InBlocks(f)) return TiledKeys(page_tokens) ? kKvTiledBlocks : kKvRowBlocks;
  return TiledKeys(page_tokens) ? kKvTiled : kKvRows;
}

// Bytes of one row without its scales. With blocks, dim is a multiple of 32.
constexpr int64_t KvCodeBytes(KvFormat f, int64_t dim) {
  switch (f) {
    case KvFormat::kF32: return dim * 4;
    case KvFormat::kF16:
    case KvFormat::kBF16: return dim * 2;
    case KvFormat::kQ8_0: return dim;
    case KvFormat::kQ4_0: return dim / 2;
  }
  return 0;
}
constexpr int64_t KvRowBytes(KvFormat f, int64_t dim) {
  return KvCodeBytes(f, dim) + (InBlocks(f) ? dim / kKvBlock * 2 : 0);
}
constexpr int64_t KvPageBytes(KvFormat f, int64_t page_tokens, int64_t n_kv_heads, int64_t k_dim, int64_t v_dim) {
  return (page_tokens * n_kv_heads * (KvRowBytes(f, k_dim) + KvRowBytes(f, v_dim)) + 63) / 64 * 64;
}

// Where the scale of a row and block lies, from the plane of rows on.
constexpr int64_t KvRowScaleAt(KvFormat f, int64_t page_tokens, int64_t dim, int64_t token, int64_t block) {
  return page_tokens * KvCodeBytes(f, dim) + (block * page_tokens + token) * 2;
}
// Bytes of the scales that precede the codes of a tile.
constexpr int64_t KvTileScaleBytes(KvFormat f, int64_t dim) { return InBlocks(f) ? dim / kKvBlock * kKeyTile * 2 : 0; }

}  // namespace motley::cpu
