// System memory that this process may count on: what the machine has, less what its control groups withhold.
// Reads files below `root` ("/" in production); any thread; nothing is kept.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace motley {

struct SystemMemory {
  uint64_t total_bytes = 0;      // MemTotal, or the limit of a control group where that is smaller
  uint64_t available_bytes = 0;  // MemAvailable, or what is left of the limit where that is smaller
  std::string limited_by;        // the file of the control group's limit; "" = the machine itself
};

// NOT_FOUND or DATA_LOSS where /proc/meminfo cannot be read. MemAvailable, not MemFree: the page cache is given back.
StatusOr<SystemMemory> ReadSystemMemory(const std::string& root = "/");

}  // namespace motley
