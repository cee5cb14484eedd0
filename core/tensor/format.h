// Format: how a tensor's elements are stored. The ids and block sizes are those of motley/format_table.inc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/status.h"

namespace motley {

enum class Format : uint32_t {
#define MOTLEY_FORMAT(name, id, block_elems, block_bytes) k##name = id,
#include <motley/format_table.inc>
};

struct FormatInfo {
  Format format;
  std::string_view name;   // "Q4_K"
  uint32_t block_elems;    // elements a block
  uint32_t block_bytes;    // bytes a block
};

std::span<const FormatInfo> AllFormats();

// nullptr where `format` is no known id.
const FormatInfo* FindFormat(Format format);
std::optional<Format> FormatFromName(std::string_view name);

// "Q4_K"; "unknown format" for an id that is none.
std::string_view FormatName(Format format);

// Bytes of `elems` consecutive elements. INVALID_ARGUMENT where elems is negative or no whole number of blocks,
// or the size does not fit in 63 bits.
StatusOr<uint64_t> FormatBytes(Format format, int64_t elems);

}  // namespace motley
