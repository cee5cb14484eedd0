// The fuzzer's bytes, taken in order; zeros where they have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace motley::fuzz {

class FuzzBytes {
 public:
  FuzzBytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  template <typename T>
  T Take() {
    T value{};
    const size_t bytes = size_ < sizeof value ? size_ : sizeof value;
    if (bytes > 0) std::memcpy(&value, data_, bytes);
    data_ += bytes, size_ -= bytes;
    return value;
  }
  // 0 <= choice < count; 0 where there is nothing to choose from
  uint32_t Choose(uint32_t count) { return count == 0 ? 0 : Take<uint8_t>() % count; }
  bool empty() const { return size_ == 0; }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace motley::fuzz
