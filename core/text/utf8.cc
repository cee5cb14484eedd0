#include "core/text/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace motley {

Utf8Step NextUtf8(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return {Utf8Step::kCharacter, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8Step::kInvalid, 1};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte is narrower where the character would be overlong, a surrogate or past U+10FFFF.
  uint8_t low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {Utf8Step::kIncomplete, i};
    if (at(i) < low || at(i) > high) return {Utf8Step::kInvalid, i};
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Step::kCharacter, length};
}

bool IsValidUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    // Most text is ASCII: eight bytes a turn.
    uint64_t word;
    if (bytes.size() >= sizeof(word)) {
      std::memcpy(&word, bytes.data(), sizeof(word));
      if ((word & 0x8080808080808080u) == 0) {
        bytes.remove_prefix(sizeof(word));
        continue;
      }
    }
    const Utf8Step step = NextUtf8(bytes);
    if (step.kind != Utf8Step::kCharacter) return false;
    bytes.remove_prefix(step.size);
  }
  return true;
}

std::string ToValidUtf8(std::string_view bytes) {
  std::string out;
  Utf8Stream stream;
  stream.Push(bytes, &out);
  stream.Flush(&out);
  return out;
}

void Utf8Stream::Push(std::string_view bytes, std::string* out) {
  // First complete what is held back, a byte a turn.
  while (held_ > 0 && !bytes.empty()) {
    buffer_[held_] = bytes.front();
    const Utf8Step step = NextUtf8({buffer_, held_ + 1});
    if (step.kind == Utf8Step::kInvalid) {  // the new byte does not belong to it
      out->append(kReplacementCharacter);
      held_ = 0;
      break;
    }
    bytes.remove_prefix(1);
    ++held_;
    if (step.kind == Utf8Step::kIncomplete) continue;
    out->append(buffer_, held_);
    held_ = 0;
  }
  while (!bytes.empty()) {
    const Utf8Step step = NextUtf8(bytes);
    if (step.kind == Utf8Step::kIncomplete) {
      std::copy_n(bytes.begin(), step.size, buffer_);
      held_ = step.size;
      return;
    }
    out->append(step.kind == Utf8Step::kCharacter ? bytes.substr(0, step.size) : kReplacementCharacter);
    bytes.remove_prefix(step.size);
  }
}

void Utf8Stream::Flush(std::string* out) {
  if (held_ > 0) out->append(kReplacementCharacter);
  held_ = 0;
}

}  // namespace motley
