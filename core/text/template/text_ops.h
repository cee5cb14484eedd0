// What str's methods do to a text, each character's origin kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/text/template/text.h"

namespace motley::jinja {

Text Upper(const Text& text);
Text Lower(const Text& text);
Text SwapCase(const Text& text);
Text Capitalize(const Text& text);  // the first character upper, the rest lower
Text TitleCase(const Text& text);   // str.title(): each run of letters so

// Without the characters of `chars`, or without space, at the sides that are asked for.
Text Strip(const Text& text, std::optional<std::string_view> chars, bool left, bool right);

// At most `most` cuts; negative = all.
std::vector<Text> SplitSpace(const Text& text, int64_t most);
std::vector<Text> SplitSpaceRight(const Text& text, int64_t most);
std::vector<Text> SplitBy(const Text& text, std::string_view separator, int64_t most);       // not empty
std::vector<Text> SplitByRight(const Text& text, std::string_view separator, int64_t most);  // not empty
std::vector<Text> SplitLines(const Text& text, bool keep_ends);

// `most` replacements, negative = all. An empty `old` is found before each character and at the end.
Text Replace(const Text& text, std::string_view old, const Text& with, int64_t most);
size_t CountOf(std::string_view text, std::string_view what, int64_t most);

Text ExpandTabs(const Text& text, int64_t width);

}  // namespace motley::jinja
