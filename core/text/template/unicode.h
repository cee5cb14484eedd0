// What Python's str knows of characters: properties and cases, as of Unicode 14.
//
// Text is bytes. A byte that begins no whole character counts as a character of its own, with no property and no case,
// so that every function here takes any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace motley::jinja {

// The character at the beginning of `bytes`, which are not empty.
struct CodePoint {
  uint32_t code;  // kInvalidCode for a byte that is none
  uint32_t size;  // bytes
};
inline constexpr uint32_t kInvalidCode = 0xFFFFFFFF;
CodePoint DecodeOne(std::string_view bytes);

void AppendUtf8(uint32_t code, std::string* out);
bool IsAscii(std::string_view bytes);
size_t CountCharacters(std::string_view bytes);
// The byte at which character `index` begins; the size where there are fewer.
size_t OffsetOf(std::string_view bytes, size_t index);

bool IsSpace(uint32_t code);
bool IsAlpha(uint32_t code);
bool IsDecimal(uint32_t code);
bool IsDigit(uint32_t code);
bool IsNumeric(uint32_t code);
bool IsUpper(uint32_t code);
bool IsLower(uint32_t code);
bool IsTitle(uint32_t code);
bool IsPrintable(uint32_t code);
bool IsIdentifierStart(uint32_t code);
bool IsIdentifierPart(uint32_t code);
inline bool IsAlnum(uint32_t code) { return IsAlpha(code) || IsDecimal(code) || IsDigit(code) || IsNumeric(code); }

// One character in another case; it may become several.
void AppendUpper(uint32_t code, std::string* out);
void AppendTitle(uint32_t code, std::string* out);
// Lower needs to see where it stands: a sigma at the end of a word is another letter. `text` holds the character at
// byte `at`.
void AppendLower(std::string_view text, size_t at, CodePoint point, std::string* out);

// Bytes of the spaces at the beginning, and at the end.
size_t LeadingSpace(std::string_view bytes);
size_t TrailingSpace(std::string_view bytes);

}  // namespace motley::jinja
