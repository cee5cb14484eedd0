#include "core/backend/toml_error.h"

#include "core/model/printable.h"

namespace motley {
namespace {

struct Hint {
  std::string_view seen;
  std::string_view fix;
};
constexpr Hint kHints[] = {
    {"redefine existing", "a key or table may stand only once: remove one of the two"},
    {"not representable", "whole numbers are between -9223372036854775808 and 9223372036854775807"},
    {"could not determine value type", "a text needs quotes around it"},
    {"could not be interpreted", "write the number in digits, e.g. 0.5"},
    {"expected value, saw", "write a value behind the ="},
    {"expected ']'", "close the table's name with ]"},
    {"unknown escape", "write \\\\ for a backslash, or put the text in single quotes"},
    {"end-of-file", "the file ends in the middle of it"},
};

// The parser names the end of what it read; people look for its beginning.
TextPosition Beginning(std::string_view text, std::string_view what, TextPosition at) {
  if (what.find("redefine existing") != std::string_view::npos) return KeyInFrontOf(text, at);
  const size_t open = what.find('\''), close = what.rfind('\'');
  const bool literal = what.find("not representable") != std::string_view::npos ||
                       what.find("could not be interpreted") != std::string_view::npos;
  if (!literal || open == std::string_view::npos || close <= open || close - open - 1 >= at.column) return at;
  TextPosition begin{at.line, at.column - static_cast<uint32_t>(close - open - 1)};
  const TextPosition sign{at.line, begin.column - 1};
  if (begin.column > 1 && (CharacterAt(text, sign) == '-' || CharacterAt(text, sign) == '+')) begin = sign;
  return begin;
}

}  // namespace

Status TomlSyntaxError(std::string_view text, const std::string& file, std::string_view what, TextPosition source) {
  const TextPosition at = Beginning(text, what, source);
  constexpr std::string_view kPrefix = "Error while parsing ";
  if (what.substr(0, kPrefix.size()) == kPrefix) what.remove_prefix(kPrefix.size());
  std::string_view fix = "this is no TOML";
  for (const Hint& hint : kHints) {
    if (what.find(hint.seen) != std::string_view::npos) {
      fix = hint.fix;
      break;
    }
  }
  return InvalidArgumentError(file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
                              Printable(what, 200) + "; " + std::string(fix));
}

}  // namespace motley
