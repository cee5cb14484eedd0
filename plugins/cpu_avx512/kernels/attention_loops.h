// The two products of attention over registers: queries by keys, and weights by values. Include only from attention.cc.
#pragma once

#include "plugins/cpu_avx512/kernels/kv_formats.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

// Registers of keys or of dims of values that are multiplied with so many queries at once: as many chains as the FMA
// units take (eight), and no more than the registers hold beside one register of each operand.
constexpr int Together(int queries) {
  if (queries == 1) return 8;
  if (queries == 2) return 4;
  if (kRegisters == 32) return 4;
  return queries == 3 ? 3 : 2;
}

// Memory that will be read soon, as hardware does not guess across pages: while keys are multiplied, the values of the
// same positions; while values are, the keys of the next chunk. `step`: bytes that the loop at hand reads each time.
template <int64_t step>
void Prefetch(const uint8_t* at) {
  for (int64_t line = 0; line < step; line += 64) _mm_prefetch(reinterpret_cast<const char*>(at + line), _MM_HINT_T1);
}

// ---- Scores --------------------------------------------------------------------------------------------------------

// kLanes keys: their codes at dim 0, their scales of the first block of dims, and what to prefetch.
struct KeyLanes {
  const uint8_t *codes, *scales, *ahead;
};

// score[q][kLanes v + lane] of kVectors times kLanes keys: one chain over dims for each.
template <class Format, int kQueries, int kVectors>
void Scores(const float* query, int64_t head_dim, const KeyLanes* keys, float* score) {
  Floats acc[kQueries][kVectors];
  for (int q = 0; q < kQueries; ++q) {
    for (int v = 0; v < kVectors; ++v) acc[q][v] = Zeros();
  }
  constexpr bool kBlocks = InBlocks(Format::kFormat);
  constexpr int64_t kStep = KvCodeBytes(Format::kFormat, Format::kDims * kVectors * kLanes);
  const uint8_t* ahead = keys[0].ahead;
  for (int64_t begin = 0; begin < head_dim; begin += kKvBlock) {
    const int64_t end = begin + kKvBlock < head_dim ? begin + kKvBlock : head_dim;
    Floats scale[kVectors];
    for (int v = 0; v < kVectors; ++v) scale[v] = kBlocks ? FromHalf(keys[v].scales + begin * (kKeyTile * 2 / kKvBlock)) : Zeros();
    for (int64_t dim = begin; dim < end; dim += Format::kDims) {
      Prefetch<kStep>(ahead);
      ahead += kStep;
      Floats key[kVectors][Format::kDims];
      for (int v = 0; v < kVectors; ++v) Format::Keys(keys[v].codes, dim, scale[v], key[v]);
      for (int d = 0; d < Format::kDims; ++d) {
        for (int q = 0; q < kQueries; ++q) {
          const Floats x = All(query[q * head_dim + dim + d]);
          for (int v = 0; v < kVectors; ++v) acc[q][v] = TimesPlus(x, key[v][d], acc[q][v]);
        }
      }
    }
  }
  for (int q = 0; q < kQueries; ++q) {
    for (int v = 0; v < kVectors; ++v) Store(score + q * kKeyChunk + v * kLanes, acc[q][v]);
  }
}

// `vectors` times kLanes keys: as many together as registers allow, then fewer.
template <class Format, int kQueries, int kVectors = Together(kQueries)>
void ScoresOfQueries(const float* query, int64_t head_dim, const KeyLanes* keys, int64_t vectors, float* score) {
  for (; vectors >= kVectors; vectors -= kVectors, keys += kVectors, score += kVectors * kLanes) {
    Scores<Format, kQueries, kVectors>(query, head_dim, keys, score);
  }
  if constexpr (kVectors > 1) ScoresOfQueries<Format, kQueries, kVectors / 2>(query, head_dim, keys, vectors, score);
}

template <class Format>
void ScoresOf(int64_t queries, const float* query, int64_t head_dim, const KeyLanes* keys, int64_t vectors, float* score) {
  static_assert(kQueryGroup == 6);
  switch (queries) {
    case 1: return ScoresOfQueries<Format, 1>(query, head_dim, keys, vectors, score);
    case 2: return ScoresOfQueries<Format, 2>(query, head_dim, keys, vectors, score);
    case 3: return ScoresOfQueries<Format, 3>(query, head_dim, keys, vectors, score);
    case 4: return ScoresOfQueries<Format, 4>(query, head_dim, keys, vectors, score);
    case 5: return ScoresOfQueries<Format, 5>(query, head_dim, keys, vectors, score);
    case 6: return ScoresOfQueries<Format, 6>(query, head_dim, keys, vectors, score);
    default: return;
  }
}

// ---- Values --------------------------------------------------------------------------------------------------------

// Rows of values, `stride` bytes apart: up to kBlockPositions. scale[block * kBlockPositions + position], with formats
// in blocks.
struct ValueRows {
  const uint8_t* first;
  int64_t stride;
  const float* scale;
  const uint8_t* ahead;  // what to prefetch, as many bytes
};

// part[q][column ..] += the sum over rows [begin, end) of weight[q][j] * value[j], in their order; begins anew with
// `fresh`. A query's part has `columns` floats.
template <class Format, int kQueries, int kVectors>
void Values(const ValueRows& values, int64_t column, const float* weight, int64_t begin, int64_t end, bool fresh,
            float* part, int64_t columns) {
  if (column % (kVectors * kLanes) != 0) __builtin_unreachable();
  Floats acc[kQueries][kVectors];
  for (int q = 0; q < kQueries; ++q) {
    for (int v = 0; v < kVectors; ++v) acc[q][v] = fresh ? Zeros() : Load(part + q * columns + column + v * kLanes);
  }
  constexpr bool kBlocks = InBlocks(Format::kFormat);
  const float* scales = values.scale + column / kKvBlock * kBlockPositions;
  const uint8_t* row = values.first + begin * values.stride;
  const int64_t ahead = values.ahead - values.first + KvCodeBytes(Format::kFormat, column);
  for (int64_t j = begin; j < end; ++j, row += values.stride) {
    Prefetch<KvCodeBytes(Format::kFormat, kVectors * kLanes)>(row + ahead);
    Floats scale = Zeros();
    for (int v = 0; v < kVectors; ++v) {
      // A block never begins between two of these registers, as `column` is a multiple of all of them.
      if (kBlocks && v * kLanes % kKvBlock == 0) scale = All(scales[v * kLanes / kKvBlock * kBlockPositions + j]);
      const Floats value = Format::Values(row, column + v * kLanes, scale);
      for (int q = 0; q < kQueries; ++q) acc[q][v] = TimesPlus(All(weight[q * kKeyChunk + j]), value, acc[q][v]);
    }
  }
  for (int q = 0; q < kQueries; ++q) {
    for (int v = 0; v < kVectors; ++v) Store(part + q * columns + column + v * kLanes, acc[q][v]);
  }
}

// All columns; their number is a multiple of 16.
template <class Format, int kQueries, int kVectors>
void ValueColumns(const ValueRows& values, int64_t column, int64_t columns, const float* weight, int64_t begin,
                  int64_t end, bool fresh, float* part) {
  for (; column + kVectors * kLanes <= columns; column += kVectors * kLanes) {
    Values<Format, kQueries, kVectors>(values, column, weight, begin, end, fresh, part, columns);
  }
  if constexpr (kVectors > 1) {
    ValueColumns<Format, kQueries, kVectors / 2>(values, column, columns, weight, begin, end, fresh, part);
  }
}

constexpr int VectorsOfValues(int queries) { return Together(queries) == 3 ? 4 : Together(queries); }

template <class Format>
void ValuesOf(int64_t queries, const ValueRows& values, int64_t columns, const float* weight, int64_t begin,
              int64_t end, bool fresh, float* part) {
  switch (queries) {
    case 1: return ValueColumns<Format, 1, VectorsOfValues(1)>(values, 0, columns, weight, begin, end, fresh, part);
    case 2: return ValueColumns<Format, 2, VectorsOfValues(2)>(values, 0, columns, weight, begin, end, fresh, part);
    case 3: return ValueColumns<Format, 3, VectorsOfValues(3)>(values, 0, columns, weight, begin, end, fresh, part);
    case 4: return ValueColumns<Format, 4, VectorsOfValues(4)>(values, 0, columns, weight, begin, end, fresh, part);
    case 5: return ValueColumns<Format, 5, VectorsOfValues(5)>(values, 0, columns, weight, begin, end, fresh, part);
    case 6: return ValueColumns<Format, 6, VectorsOfValues(6)>(values, 0, columns, weight, begin, end, fresh, part);
    default: return;
  }
}

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
