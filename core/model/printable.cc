#include "core/model/printable.h"

#include <cstdint>

namespace motley {

std::string Printable(std::string_view text, size_t max_bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (out.size() >= max_bytes) return out + "…";
    const size_t length = Utf8Length(text.substr(i, 4));
    const unsigned char first = static_cast<unsigned char>(text[i]);
    if (length == 0 || first < 0x20 || first == 0x7f) {
      out += {'\\', 'x', kHex[first >> 4], kHex[first & 15]};
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

size_t Utf8Length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
  if (length == 0 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kSmallest[length] || code > 0x10ffff || surrogate ? 0 : length;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text.substr(0, 4));
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace motley
