// SHA-256 of bytes and files, as lower-case hexadecimal. Pure functions and plain values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace motley {

class Sha256 {
 public:
  Sha256();
  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view bytes);
  // 64 hexadecimal digits. Call once; the object is spent afterwards.
  std::string Finish();

 private:
  void Block(const uint8_t* bytes);  // [64]

  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> pending_;
  uint64_t total_bytes_ = 0;
};

// Reads the file in pieces. NOT_FOUND or DATA_LOSS name the path and what the system said.
StatusOr<std::string> Sha256OfFile(const std::string& path);

}  // namespace motley
