// What a terminal may be sent, and how wide it is there.
//
// A model, a file and a plugin may say anything; a terminal obeys some of it: it moves the cursor over what
// stands there, sets its title, fills the clipboard. So control characters reach a terminal as \xNN. Into a
// pipe or a file everything goes as it is, and none of this is used.
//
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace motley {

// Text that comes in pieces, which may be cut anywhere. Newlines and tabs stay, "\r\n" becomes "\n"; other
// control characters (C0, DEL, C1) and bytes that are no UTF-8 become \xNN.
class TerminalText {
 public:
  std::string Push(std::string_view piece);
  // The end: what was held back.
  std::string Flush();

 private:
  std::string held_;  // a carriage return, or the beginning of a character
};

// The same for a whole text.
std::string SafeForTerminal(std::string_view text);
// The same, but styles of our own stay: bold, dim and plain (kBold, kDim, kPlain) and no other sequence.
std::string SafeButStyled(std::string_view text);

inline constexpr std::string_view kBold = "\x1b[1m";
inline constexpr std::string_view kDim = "\x1b[2m";
inline constexpr std::string_view kPlain = "\x1b[0m";

// Makes the C library know the widths of characters, whatever the locale of the user is. Once, in main.
void UseUtf8Locale();

// Columns that a terminal gives a text of one line: 2 for a wide character, 0 for an accent that joins the
// one before. Styles take none.
size_t DisplayWidth(std::string_view text);

// No more than `columns`: what is too long loses its middle, for which "…" stands, or with `end` its end.
std::string FitInto(std::string_view text, size_t columns, bool end = false);

// Lines of no more than `columns`, broken at blanks where there are any.
std::vector<std::string> WrapWords(std::string_view text, size_t columns);

// As the C library's wide functions take text, one element a character; what is no UTF-8 becomes U+FFFD.
std::wstring ToWide(std::string_view text);
std::string FromWide(std::wstring_view text);

}  // namespace motley
