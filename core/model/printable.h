// Printable: text from a file made fit for a message: control characters and bytes that are no UTF-8 as \xNN, and
// cut with "…" where it is long.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace motley {

std::string Printable(std::string_view text, size_t max_bytes = 96);

// Bytes of the UTF-8 character at the start of `text`: 1 to 4; 0 where there is none (overlong forms, surrogates
// and values above U+10FFFF are none).
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace motley
