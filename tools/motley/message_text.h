// When a message that is being typed ends, and what of it is the message.
//
// A line's end ends it, unless the line ends in a backslash, or the message begins with """ and has not come
// to a line that ends in """ yet. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace motley {

// Whether the next line still belongs to it; `text` has no line's end behind it.
bool MessageGoesOn(std::string_view text);

// What is in the editor when a line is continued: without the backslash, with a newline.
std::string ContinuedMessage(std::string_view text);

// Without the marks of a """ block, and without the newlines beside them.
std::string MessageOf(std::string_view text);

}  // namespace motley
