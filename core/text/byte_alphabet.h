// The alphabet in which byte-level vocabularies are written: each byte is one printable character, so that
// a token is always text. (GPT-2 began it: a space is U+0120, a newline U+010A.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace motley {

// The character that stands for `byte`, as UTF-8.
std::string AlphabetCharacter(uint8_t byte);

// Appends to `out` the bytes that `token` stands for. False when a character of it is not in the alphabet;
// `out` is then as it was. `token` must be valid UTF-8.
bool DecodeAlphabet(std::string_view token, std::string* out);

// 0x41 of "<0x41>": how a vocabulary names a byte that no character stands for.
std::optional<uint8_t> ParseByteToken(std::string_view token);

}  // namespace motley
