// Arena: many slices of a device's memory, allocated in few buffers. Ask with Add, allocate once, then read slices.
// One thread while it is filled; immutable afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend/device.h"
#include "core/base/status.h"

namespace motley {

class Arena {
 public:
  // Plans `bytes` (0 is an empty slice) and returns the index of its slice.
  uint32_t Add(uint64_t bytes, uint64_t alignment);

  // Bytes that Allocate will take.
  uint64_t bytes() const { return total_bytes_; }

  // Buffers hold about chunk_bytes, more where one slice is larger, never more than the device's max_alloc.
  Status Allocate(const Device& device, Usage usage, uint64_t chunk_bytes = 1ull << 30);

  motley_slice slice(uint32_t index) const;

 private:
  struct Request {
    uint64_t bytes = 0, alignment = 1;
    uint32_t buffer = 0;
    uint64_t offset = 0;
  };

  std::vector<Request> requests_;
  std::vector<Buffer> buffers_;
  uint64_t total_bytes_ = 0;
};

}  // namespace motley
