#include "core/sched/arena.h"

#include <algorithm>

#include "core/base/checked.h"

namespace motley {
namespace {

// Sums that overflow stay at the largest number, which no device can allocate and AllocBuffer refuses.
uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  uint64_t aligned = UINT64_MAX;
  (void)CheckedAlignUp(value, alignment, &aligned);
  return aligned;
}

uint64_t Sum(uint64_t a, uint64_t b) {
  uint64_t sum = UINT64_MAX;
  (void)CheckedAdd(a, b, &sum);
  return sum;
}

}  // namespace

uint32_t Arena::Add(uint64_t bytes, uint64_t alignment) {
  requests_.push_back({bytes, std::max<uint64_t>(alignment, 1)});
  total_bytes_ = Sum(total_bytes_, AlignUp(bytes, std::max<uint64_t>(alignment, 1)));
  return static_cast<uint32_t>(requests_.size() - 1);
}

Status Arena::Allocate(const Device& device, Usage usage, uint64_t chunk_bytes) {
  const uint64_t limit = std::min(chunk_bytes, device.info().max_alloc);
  std::vector<uint64_t> sizes;
  for (Request& request : requests_) {
    if (request.bytes == 0) continue;
    const uint64_t alignment = std::max(request.alignment, device.info().alignment);
    uint64_t offset = sizes.empty() ? 0 : AlignUp(sizes.back(), alignment);
    if (sizes.empty() || Sum(offset, request.bytes) > limit) {
      sizes.push_back(0);
      offset = 0;
    }
    request.buffer = static_cast<uint32_t>(sizes.size() - 1);
    request.offset = offset;
    sizes.back() = Sum(offset, request.bytes);
  }
  for (uint64_t size : sizes) {
    MOTLEY_ASSIGN_OR_RETURN(Buffer buffer, device.AllocBuffer(size, usage));
    buffers_.push_back(std::move(buffer));
  }
  return OkStatus();
}

motley_slice Arena::slice(uint32_t index) const {
  const Request& request = requests_[index];
  if (request.bytes == 0) return {};
  return buffers_[request.buffer].Slice(request.offset, request.bytes);
}

}  // namespace motley
