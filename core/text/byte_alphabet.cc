#include "core/text/byte_alphabet.h"

#include <array>

namespace motley {
namespace {

// These stand for themselves; the other 68 bytes are U+0100 and on, in their order.
constexpr bool IsPrintable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr int kCharacters = 0x100 + 68;

constexpr std::array<int16_t, kCharacters> MakeByteOf() {
  std::array<int16_t, kCharacters> byte_of{};
  for (auto& b : byte_of) b = -1;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    byte_of[IsPrintable(byte) ? byte : next++] = static_cast<int16_t>(byte);
  }
  return byte_of;
}
constexpr std::array<int16_t, kCharacters> kByteOf = MakeByteOf();

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string AlphabetCharacter(uint8_t byte) {
  int character = 0;
  while (kByteOf[character] != byte) ++character;
  if (character < 0x80) return std::string(1, static_cast<char>(character));
  return {static_cast<char>(0xC0 | character >> 6), static_cast<char>(0x80 | (character & 0x3F))};
}

bool DecodeAlphabet(std::string_view token, std::string* out) {
  const size_t before = out->size();
  for (size_t i = 0; i < token.size(); ++i) {
    int character = static_cast<uint8_t>(token[i]);
    // The alphabet ends below U+0800, so its characters have at most two bytes.
    if (character >= 0xC0 && character < 0xE0 && i + 1 < token.size()) {
      character = (character & 0x1F) << 6 | (static_cast<uint8_t>(token[++i]) & 0x3F);
    } else if (character >= 0x80) {
      character = kCharacters;
    }
    if (character >= kCharacters || kByteOf[character] < 0) {
      out->resize(before);
      return false;
    }
    out->push_back(static_cast<char>(kByteOf[character]));
  }
  return true;
}

std::optional<uint8_t> ParseByteToken(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token.back() != '>') return std::nullopt;
  const int high = HexDigit(token[3]);
  const int low = HexDigit(token[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<uint8_t>(high << 4 | low);
}

}  // namespace motley
