#include "core/base/system_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include "core/base/cgroup.h"
#include "core/base/checked.h"

namespace motley {
namespace {

// "MemTotal:       16308728 kB"
std::optional<uint64_t> LineBytes(const std::string& line, const char* name) {
  const size_t length = std::strlen(name);
  if (line.compare(0, length, name) != 0) return std::nullopt;
  uint64_t kib = 0, bytes = 0;
  bool digits = false;
  for (size_t i = length; i < line.size(); ++i) {
    const char c = line[i];
    if (c >= '0' && c <= '9') {
      digits = true;
      if (!CheckedMul(kib, 10, &kib) || !CheckedAdd(kib, static_cast<uint64_t>(c - '0'), &kib))
        return std::nullopt;
    } else if (digits) {
      break;
    }
  }
  if (!digits || !CheckedMul(kib, 1024, &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace

StatusOr<SystemMemory> ReadSystemMemory(const std::string& root) {
  const std::string path = (root == "/" ? "" : root) + "/proc/meminfo";
  std::ifstream file(path);
  if (!file) return NotFoundError(path + ": " + std::strerror(errno));
  std::optional<uint64_t> total, available;
  for (std::string line; std::getline(file, line);) {
    if (const auto bytes = LineBytes(line, "MemTotal:")) total = bytes;
    if (const auto bytes = LineBytes(line, "MemAvailable:")) available = bytes;
  }
  if (!total) return DataLossError(path + ": no line MemTotal");
  if (!available) return DataLossError(path + ": no line MemAvailable (the kernel has it since 3.14)");

  SystemMemory memory{*total, std::min(*available, *total), ""};
  const CgroupLimits limits = ReadCgroupLimits(root);
  if (limits.memory_limit_bytes) {
    if (*limits.memory_limit_bytes < memory.total_bytes) memory.total_bytes = *limits.memory_limit_bytes;
    if (limits.memory_left_bytes() < memory.available_bytes) {
      memory.available_bytes = limits.memory_left_bytes();
      memory.limited_by = limits.memory_source;
    }
  }
  return memory;
}

}  // namespace motley
