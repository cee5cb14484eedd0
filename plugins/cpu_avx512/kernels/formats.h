// The formats of weights that the kernels read, one row each: how a row of tiles is made of them (layout.h), and what
// the kernels multiply. A new format is a row here, its stored form in stored.h, and a golden test.
//
// Plain data, known to the compiler: kernels are templates on a format and ask for its row. No AVX here.
#pragma once

#include <cstddef>
#include <cstdint>

// Functions of this header are compiled with AVX in the kernels and without it elsewhere. So none may become a function
// that the linker could take for both.
#define MOTLEY_CPU_FOLDED [[gnu::always_inline]] constexpr

namespace motley::cpu {

// Every stored format by its id; those with a row below are supported.
enum class WeightFormat : uint32_t {
#define MOTLEY_FORMAT(name, id, block_elems, block_bytes) k##name = id,
#include <motley/format_table.inc>
};

// What the data of 32 k of a tile are (layout.h has the order of their bytes).
enum class Data : uint8_t {
  kF32, kHalf, kBf16,  // one float each: no blocks
  kBytes,              // 8 bits
  kNibbles,            // 4 bits
  kNibblesAndBit,      // 4 + 1 bits
  kNibblesAndTwo,      // 4 + 2 bits
  kTwo,                // 2 bits
  kTwoAndBit,          // 2 + 1 bits
  kStored,             // the file's own blocks of 256, decoded when they are multiplied (grid.h)
};

// What the header of a chunk holds for each of 16 rows.
enum class Scale : uint8_t {
  kNone,
  kHalf,          // f16 a block
  kHalfAndMin,    // f16 scale and f16 minimum a block
  kSixAndMin,     // f16 d and dmin; 6 bits of each a block
  kFourAndMin,    // f16 d and dmin; 4 bits of each a half block
  kSix,           // f16 d; 6 bits - 32 a half block
  kInt8,          // f16 d; 8 bits a block or half block
  kE8m0,          // an exponent a block: 2^(e - 128)
  kUe4m3,         // unsigned e4m3 a half block, halved
  kStored,        // in the stored blocks
};

// What 4-bit codes stand for. An enum, not a pointer to the values: whether a pointer is null is no constant to a
// compiler that checks for undefined behaviour.
enum class Codebook : uint8_t { kNone, kIq4, kE2m1Doubled };

// e2m1's are doubled, and the scales of such formats halved.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
inline constexpr int8_t kE2m1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// value = scale * (code - zero) - min; with a codebook, scale * value of the code.
//
// Multiplied are unsigned bytes: (code << shift), or value of the code + product_zero; their zero point product_zero is
// one of those that ActivationBlock has sums for, and `bits` bounds them: fewer bits, fewer instructions without VNNI.
struct FormatRow {
  WeightFormat format;
  Data data;
  Scale scale;
  int scales_per_block;    // 2: one for each 16 k
  int header_bytes;        // a block of 32 k
  int zero;
  Codebook codebook;
  int shift, product_zero, bits;
};

inline constexpr FormatRow kFormats[] = {
    // format             data                  scale               a block  header  zero  codebook  shift  zero  bits
    {WeightFormat::kF32, Data::kF32, Scale::kNone, 0, 0, 0, Codebook::kNone, 0, 0, 0},
    {WeightFormat::kF16, Data::kHalf, Scale::kNone, 0, 0, 0, Codebook::kNone, 0, 0, 0},
    {WeightFormat::kBF16, Data::kBf16, Scale::kNone, 0, 0, 0, Codebook::kNone, 0, 0, 0},
    {WeightFormat::kQ8_0, Data::kBytes, Scale::kHalf, 1, 32, 128, Codebook::kNone, 0, 128, 8},
    {WeightFormat::kQ4_0, Data::kNibbles, Scale::kHalf, 1, 32, 8, Codebook::kNone, 0, 8, 4},
    {WeightFormat::kQ4_1, Data::kNibbles, Scale::kHalfAndMin, 1, 64, 0, Codebook::kNone, 0, 0, 4},
    {WeightFormat::kQ5_0, Data::kNibblesAndBit, Scale::kHalf, 1, 32, 16, Codebook::kNone, 1, 32, 6},
    {WeightFormat::kQ5_1, Data::kNibblesAndBit, Scale::kHalfAndMin, 1, 64, 0, Codebook::kNone, 0, 0, 5},
    {WeightFormat::kQ2_K, Data::kTwo, Scale::kFourAndMin, 2, 40, 0, Codebook::kNone, 0, 0, 2},
    {WeightFormat::kQ3_K, Data::kTwoAndBit, Scale::kSix, 2, 28, 4, Codebook::kNone, 3, 32, 6},
    {WeightFormat::kQ4_K, Data::kNibbles, Scale::kSixAndMin, 1, 40, 0, Codebook::kNone, 0, 0, 4},
    {WeightFormat::kQ5_K, Data::kNibblesAndBit, Scale::kSixAndMin, 1, 40, 0, Codebook::kNone, 0, 0, 5},
    {WeightFormat::kQ6_K, Data::kNibblesAndTwo, Scale::kInt8, 2, 40, 32, Codebook::kNone, 0, 32, 6},
    {WeightFormat::kIQ4_NL, Data::kNibbles, Scale::kHalf, 1, 32, 0, Codebook::kIq4, 0, 128, 8},
    {WeightFormat::kIQ4_XS, Data::kNibbles, Scale::kInt8, 1, 20, 0, Codebook::kIq4, 0, 128, 8},
    {WeightFormat::kMXFP4, Data::kNibbles, Scale::kE8m0, 1, 16, 0, Codebook::kE2m1Doubled, 0, 32, 6},
    {WeightFormat::kNVFP4, Data::kNibbles, Scale::kUe4m3, 2, 32, 0, Codebook::kE2m1Doubled, 0, 32, 6},
    {WeightFormat::kIQ1_S, Data::kStored, Scale::kStored, 1, 0, 0, Codebook::kNone, 0, 64, 7},
    {WeightFormat::kIQ1_M, Data::kStored, Scale::kStored, 2, 0, 0, Codebook::kNone, 0, 64, 7},
    {WeightFormat::kIQ2_XXS, Data::kStored, Scale::kStored, 1, 0, 0, Codebook::kNone, 0, 64, 7},
    {WeightFormat::kIQ2_XS, Data::kStored, Scale::kStored, 2, 0, 0, Codebook::kNone, 0, 64, 7},
    {WeightFormat::kIQ2_S, Data::kStored, Scale::kStored, 2, 0, 0, Codebook::kNone, 0, 64, 7},
    {WeightFormat::kIQ3_XXS, Data::kStored, Scale::kStored, 1, 0, 0, Codebook::kNone, 0, 64, 7},
    {WeightFormat::kIQ3_S, Data::kStored, Scale::kStored, 1, 0, 0, Codebook::kNone, 0, 64, 7},
};

// Where a format's row is, by id: an index that compilers fold, where they would not fold a search.
struct FormatIndex {
  static constexpr uint32_t kIds = 64;
  int8_t row[kIds] = {};
  constexpr FormatIndex() {
    for (int8_t& at : row) at = -1;
    int8_t i = 0;
    for (const FormatRow& format : kFormats) row[static_cast<uint32_t>(format.format)] = i++;
  }
};
inline constexpr FormatIndex kFormatIndex;

// nullptr where a format, or a number that is none, is not supported.
MOTLEY_CPU_FOLDED const FormatRow* FindFormat(uint32_t id) {
  if (id >= FormatIndex::kIds || kFormatIndex.row[id] < 0) return nullptr;
  return &kFormats[kFormatIndex.row[id]];
}
MOTLEY_CPU_FOLDED bool IsSupported(uint32_t id) { return FindFormat(id) != nullptr; }

// From here on formats are supported ones.
MOTLEY_CPU_FOLDED const FormatRow& RowOf(WeightFormat f) { return kFormats[kFormatIndex.row[static_cast<uint32_t>(f)]]; }
MOTLEY_CPU_FOLDED bool IsQuantised(WeightFormat f) { return RowOf(f).scale != Scale::kNone; }
MOTLEY_CPU_FOLDED bool HasCodebook(WeightFormat f) { return RowOf(f).codebook != Codebook::kNone; }
// The value of a 4-bit code, of formats with a codebook.
MOTLEY_CPU_FOLDED int ValueOfCode(WeightFormat f, int code) {
  return RowOf(f).codebook == Codebook::kIq4 ? kIq4Values[code] : kE2m1Doubled[code];
}
MOTLEY_CPU_FOLDED bool HasMin(WeightFormat f) {
  const Scale s = RowOf(f).scale;
  return s == Scale::kHalfAndMin || s == Scale::kSixAndMin || s == Scale::kFourAndMin;
}

struct StoredBlock {
  int elems, bytes;
  const char* name;
};
MOTLEY_CPU_FOLDED StoredBlock StoredBlockOf(WeightFormat f) {
  switch (f) {
#define MOTLEY_FORMAT(name, id, block_elems, block_bytes) \
  case WeightFormat::k##name: return {block_elems, block_bytes, #name};
#include <motley/format_table.inc>
  }
  return {1, 0, "?"};
}
MOTLEY_CPU_FOLDED const char* NameOf(WeightFormat f) { return StoredBlockOf(f).name; }
// Elements of K must be a multiple of this.
MOTLEY_CPU_FOLDED int BlockElems(WeightFormat f) { return StoredBlockOf(f).elems; }
MOTLEY_CPU_FOLDED int64_t StoredRowBytes(WeightFormat f, int64_t k) {
  return k / StoredBlockOf(f).elems * StoredBlockOf(f).bytes;
}

}  // namespace motley::cpu
