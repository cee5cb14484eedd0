#include "tools/motley/terminal_text.h"

#include <langinfo.h>
#include <wchar.h>

#include <algorithm>
#include <clocale>
#include <cstring>

#include "core/text/utf8.h"

namespace motley {
namespace {

void AppendHex(std::string_view bytes, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out->append({'\\', 'x', kHex[byte >> 4], kHex[byte & 15]});
  }
}

// `character`: one whole character.
bool IsControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
  // C1: U+0080 to U+009F; some terminals take U+009B for ESC [.
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

char32_t CodeOf(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  char32_t code = first & (0x7fu >> character.size());
  for (size_t i = 1; i < character.size(); ++i)
    code = code << 6 | (static_cast<unsigned char>(character[i]) & 0x3f);
  return code;
}

size_t WidthOf(std::string_view character) {
  const int width = wcwidth(static_cast<wchar_t>(CodeOf(character)));
  return width < 0 ? 1 : static_cast<size_t>(width);
}

// The style that `text` begins with; "" = none.
std::string_view StyleAt(std::string_view text) {
  for (const std::string_view style : {kBold, kDim, kPlain}) {
    if (text.substr(0, style.size()) == style) return style;
  }
  return {};
}

// A character, a style or a byte that is neither, and what of it counts.
struct Unit {
  std::string_view bytes;
  size_t width;
};

Unit NextUnit(std::string_view text) {
  if (const std::string_view style = StyleAt(text); !style.empty()) return {style, 0};
  const Utf8Step step = NextUtf8(text);
  const std::string_view bytes = text.substr(0, step.size);
  return {bytes, step.kind == Utf8Step::kCharacter ? WidthOf(bytes) : 1};
}

// The longest beginning of `text` that takes no more than `columns`.
std::string_view Beginning(std::string_view text, size_t columns) {
  size_t end = 0;
  for (size_t width = 0; end < text.size();) {
    const Unit unit = NextUnit(text.substr(end));
    width += unit.width;
    if (width > columns) break;
    end += unit.bytes.size();
  }
  return text.substr(0, end);
}

// The shortest ending that leaves out at least `columns`.
std::string_view WithoutBeginning(std::string_view text, size_t columns) {
  size_t begin = 0;
  for (size_t width = 0; begin < text.size() && width < columns;) {
    const Unit unit = NextUnit(text.substr(begin));
    width += unit.width;
    begin += unit.bytes.size();
  }
  return text.substr(begin);
}

}  // namespace

std::string TerminalText::Push(std::string_view piece) {
  held_ += piece;
  std::string out;
  size_t i = 0;
  while (i < held_.size()) {
    const std::string_view rest = std::string_view(held_).substr(i);
    if (rest == "\r") break;  // the newline may follow
    const Utf8Step step = NextUtf8(rest);
    if (step.kind == Utf8Step::kIncomplete) break;
    const std::string_view bytes = rest.substr(0, step.size);
    const bool line_end = rest.substr(0, 2) == "\r\n";
    if (step.kind == Utf8Step::kCharacter && !IsControl(bytes)) {
      out += bytes;
    } else if (!line_end) {
      AppendHex(bytes, &out);
    }
    i += step.size;
  }
  held_.erase(0, i);
  return out;
}

std::string TerminalText::Flush() {
  std::string out;
  AppendHex(held_, &out);
  held_.clear();
  return out;
}

std::string SafeForTerminal(std::string_view text) {
  TerminalText terminal;
  std::string out = terminal.Push(text);
  return out + terminal.Flush();
}

std::string SafeButStyled(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t escape = 0;
    while ((escape = text.find('\x1b', escape)) != std::string_view::npos &&
           StyleAt(text.substr(escape)).empty())
      ++escape;
    out += SafeForTerminal(text.substr(0, escape));
    if (escape == std::string_view::npos) break;
    const std::string_view style = StyleAt(text.substr(escape));
    out += style;
    text.remove_prefix(escape + style.size());
  }
  return out;
}

void UseUtf8Locale() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Unit unit = NextUnit(text);
    width += unit.width;
    text.remove_prefix(unit.bytes.size());
  }
  return width;
}

std::string FitInto(std::string_view text, size_t columns, bool end) {
  const size_t width = DisplayWidth(text);
  if (width <= columns) return std::string(text);
  if (columns == 0) return "";
  const size_t back = end ? 0 : (columns - 1) / 2;
  const size_t front = columns - 1 - back;
  return std::string(Beginning(text, front)) + "…" + std::string(WithoutBeginning(text, width - back));
}

std::vector<std::string> WrapWords(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  columns = columns == 0 ? 1 : columns;
  while (DisplayWidth(text) > columns) {
    std::string_view line = Beginning(text, columns);
    if (line.empty()) line = text.substr(0, NextUnit(text).bytes.size());  // a wide character in one column
    // The blank that ends a line may stand just behind it.
    const size_t blank = text.substr(0, line.size() + 1).rfind(' ');
    if (blank != std::string_view::npos && blank > 0) line = text.substr(0, blank);
    lines.emplace_back(line);
    text.remove_prefix(line.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

std::wstring ToWide(std::string_view text) {
  std::wstring wide;
  while (!text.empty()) {
    const Utf8Step step = NextUtf8(text);
    wide += step.kind == Utf8Step::kCharacter ? static_cast<wchar_t>(CodeOf(text.substr(0, step.size)))
                                              : L'\uFFFD';
    text.remove_prefix(step.size);
  }
  return wide;
}

std::string FromWide(std::wstring_view text) {
  std::string out;
  for (const wchar_t wide : text) {
    const auto code = static_cast<char32_t>(wide);
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr unsigned char kFirst[] = {0, 0xc0, 0xe0, 0xf0};
    out.push_back(static_cast<char>(kFirst[more] | code >> 6 * more));
    for (int i = more - 1; i >= 0; --i) out.push_back(static_cast<char>(0x80 | (code >> 6 * i & 0x3f)));
  }
  return out;
}

}  // namespace motley
