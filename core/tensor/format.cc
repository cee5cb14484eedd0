#include "core/tensor/format.h"

#include <string>

#include "core/base/checked.h"

namespace motley {
namespace {

constexpr FormatInfo kFormats[] = {
#define MOTLEY_FORMAT(name, id, block_elems, block_bytes) {Format::k##name, #name, block_elems, block_bytes},
#include <motley/format_table.inc>
};

}  // namespace

std::span<const FormatInfo> AllFormats() { return kFormats; }

const FormatInfo* FindFormat(Format format) {
  for (const FormatInfo& info : kFormats) {
    if (info.format == format) return &info;
  }
  return nullptr;
}

std::optional<Format> FormatFromName(std::string_view name) {
  for (const FormatInfo& info : kFormats) {
    if (info.name == name) return info.format;
  }
  return std::nullopt;
}

std::string_view FormatName(Format format) {
  const FormatInfo* info = FindFormat(format);
  return info == nullptr ? "unknown format" : info->name;
}

StatusOr<uint64_t> FormatBytes(Format format, int64_t elems) {
  const FormatInfo* info = FindFormat(format);
  if (info == nullptr) {
    return InvalidArgumentError("format " + std::to_string(static_cast<uint32_t>(format)) + " is unknown");
  }
  if (elems < 0 || elems % info->block_elems != 0) {
    return InvalidArgumentError(std::to_string(elems) + " elements are no whole number of " +
                                std::string(info->name) + " blocks of " + std::to_string(info->block_elems));
  }
  uint64_t bytes = 0;
  if (!CheckedMul(static_cast<uint64_t>(elems) / info->block_elems, info->block_bytes, &bytes) || bytes >> 63) {
    return InvalidArgumentError(std::to_string(elems) + " elements of " + std::string(info->name) +
                                " are more bytes than fit in 63 bits");
  }
  return bytes;
}

}  // namespace motley
