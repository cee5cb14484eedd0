// What is checked of a TOML text before it is parsed, and where in it things stand: for every file that people may edit.
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace motley {

struct TextPosition {
  uint32_t line = 1;
  uint32_t column = 1;  // in characters
};

// UTF-8, no more than most_bytes, and nothing nested so deeply that a parser's recursion could run out of stack: brackets,
// and the dots of keys. A byte order mark in front is fine.
Status CheckTomlText(std::string_view text, const std::string& file_name, uint64_t most_bytes);

// Where the key stands whose value begins at `value` ("key = value" on one line); `value` itself where no key
// is found in front of it.
TextPosition KeyInFrontOf(std::string_view text, TextPosition value);

// The line's character at `position`, as a byte; 0 where there is none.
char CharacterAt(std::string_view text, TextPosition position);

}  // namespace motley
