// Stored formats as data for plugins: the rows of format_table.inc by id.
#pragma once

#include <motley/plugin.hpp>

#include <cstdint>

namespace motley::plugin {

// Format ids by name: format_id::kQ4_K.
namespace format_id {
#define MOTLEY_FORMAT(name, id, block_elems, block_bytes) inline constexpr uint32_t k##name = id;
#include <motley/format_table.inc>
}  // namespace format_id

struct FormatRow {
  uint32_t id;
  const char* name;
  uint32_t block_elems, block_bytes;
};

inline constexpr FormatRow kFormatRows[] = {
#define MOTLEY_FORMAT(name, id, block_elems, block_bytes) {id, #name, block_elems, block_bytes},
#include <motley/format_table.inc>
};

// nullptr where `id` is no known format.
constexpr const FormatRow* FindFormatRow(uint32_t id) {
  for (const FormatRow& row : kFormatRows) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

// Bytes of a row of `elems` elements, a multiple of block_elems.
constexpr uint64_t RowBytes(const FormatRow& row, int64_t elems) {
  return static_cast<uint64_t>(elems) / row.block_elems * row.block_bytes;
}

// Bytes of a dense tensor whose last dim is stored in whole blocks.
inline Fault TensorBytes(uint32_t format, const int64_t* dims, uint32_t rank, uint64_t* bytes) {
  const FormatRow* row = FindFormatRow(format);
  if (!row) return Fail(MOTLEY_UNIMPLEMENTED, "format %u is unknown", format);
  if (rank == 0) return Fail(MOTLEY_INVALID_ARGUMENT, "rank 0: a tensor has at least one dim");
  uint64_t size = row->block_bytes;
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return Fail(MOTLEY_INVALID_ARGUMENT, "dim %lld is negative", static_cast<long long>(dims[i]));
    uint64_t n = static_cast<uint64_t>(dims[i]);
    if (i + 1 == rank) {
      if (n % row->block_elems != 0) {
        return Fail(MOTLEY_INVALID_ARGUMENT, "%lld elements a row are no multiple of %s's block of %u",
                    static_cast<long long>(dims[i]), row->name, row->block_elems);
      }
      n /= row->block_elems;
    }
    if (__builtin_mul_overflow(size, n, &size) || size > (1ull << 62)) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "the tensor's size does not fit in 62 bits");
    }
  }
  *bytes = size;
  return {};
}

}  // namespace motley::plugin
