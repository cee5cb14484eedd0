#include "core/backend/toml_text.h"

#include <algorithm>

#include "core/text/utf8.h"

namespace motley {
namespace {

// No file that a person writes nests deeper.
constexpr uint32_t kMaxBrackets = 64;
constexpr uint32_t kMaxDots = 32;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Status At(const std::string& file, TextPosition position, const std::string& what) {
  return InvalidArgumentError(file + ":" + std::to_string(position.line) + ":" +
                              std::to_string(position.column) + ": " + what);
}

// Walks over a text whose UTF-8 is valid, keeping the position.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {
    if (text_.substr(0, 3) == kByteOrderMark) next_ = 3;
  }
  bool AtEnd() const { return next_ >= text_.size(); }
  char Peek() const { return text_[next_]; }
  bool Sees(std::string_view what) const { return text_.substr(next_, what.size()) == what; }
  TextPosition position() const { return position_; }

  void Skip() {
    const char c = text_[next_++];
    if (c == '\n') {
      ++position_.line;
      position_.column = 1;
    } else if (AtEnd() || (static_cast<unsigned char>(text_[next_]) & 0xc0) != 0x80) {
      ++position_.column;  // the character's last byte
    }
  }
  void Skip(size_t bytes) {
    for (; bytes > 0 && !AtEnd(); --bytes) Skip();
  }

 private:
  std::string_view text_;
  size_t next_ = 0;
  TextPosition position_;
};

// Over a text in quotes, all four kinds. One that does not end is left to the parser to refuse.
void SkipQuoted(Cursor& cursor) {
  const char quote = cursor.Peek();
  const std::string triple(3, quote);
  const bool multi_line = cursor.Sees(triple);
  cursor.Skip(multi_line ? 3 : 1);
  while (!cursor.AtEnd()) {
    if (quote == '"' && cursor.Peek() == '\\') {
      cursor.Skip(2);
    } else if (multi_line && cursor.Sees(triple)) {
      cursor.Skip(3);
      // Up to two more quotes are the text's own, in front of the end.
      for (int extra = 0; extra < 2 && !cursor.AtEnd() && cursor.Peek() == quote; ++extra) cursor.Skip();
      return;
    } else if (!multi_line && (cursor.Peek() == quote || cursor.Peek() == '\n')) {
      if (cursor.Peek() == quote) cursor.Skip();
      return;
    } else {
      cursor.Skip();
    }
  }
}

Status CheckNesting(std::string_view text, const std::string& file) {
  uint32_t brackets = 0, dots = 0;
  for (Cursor cursor(text); !cursor.AtEnd();) {
    const char c = cursor.Peek();
    if (c == '"' || c == '\'') {
      SkipQuoted(cursor);
      continue;
    }
    if (c == '#') {
      while (!cursor.AtEnd() && cursor.Peek() != '\n') cursor.Skip();
      continue;
    }
    if (c == '[' || c == '{') ++brackets;
    if ((c == ']' || c == '}') && brackets > 0) --brackets;
    if (c == '.') ++dots;
    if (c == '=' || c == ',' || c == '\n' || c == '[' || c == '{') dots = 0;
    if (brackets > kMaxBrackets)
      return At(file, cursor.position(),
                "nested too deeply: " + std::to_string(kMaxBrackets) + " brackets are the most");
    if (dots > kMaxDots)
      return At(file, cursor.position(),
                "nested too deeply: a key has at most " + std::to_string(kMaxDots) + " dots");
    cursor.Skip();
  }
  return OkStatus();
}

Status CheckUtf8(std::string_view text, const std::string& file) {
  if (text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF") {
    return At(file, {}, "the file is UTF-16: save it as UTF-8");
  }
  TextPosition position;
  for (size_t i = text.substr(0, 3) == kByteOrderMark ? 3 : 0; i < text.size();) {
    const Utf8Step step = NextUtf8(text.substr(i));
    if (step.kind != Utf8Step::kCharacter)
      return At(file, position, "the file is no valid UTF-8 here: save it as UTF-8");
    if (text[i] == '\n') {
      position = {position.line + 1, 1};
    } else {
      ++position.column;
    }
    i += step.size;
  }
  return OkStatus();
}

// The characters of one line, each as a byte: those beyond ASCII as 0x7f.
std::string LineAsBytes(std::string_view text, uint32_t line) {
  std::string bytes;
  for (Cursor cursor(text); !cursor.AtEnd(); cursor.Skip()) {
    const TextPosition at = cursor.position();
    if (at.line > line) break;
    if (at.line < line || cursor.Peek() == '\n') continue;
    const char c = cursor.Peek();
    if (at.column > bytes.size()) bytes.push_back(static_cast<unsigned char>(c) < 0x80 ? c : '\x7f');
  }
  return bytes;
}

}  // namespace

Status CheckTomlText(std::string_view text, const std::string& file_name, uint64_t most_bytes) {
  if (text.size() > most_bytes) {
    return InvalidArgumentError(file_name + ": larger than " + std::to_string(most_bytes) +
                                " bytes: no file of this kind is; name another file");
  }
  MOTLEY_RETURN_IF_ERROR(CheckUtf8(text, file_name));
  return CheckNesting(text, file_name);
}

TextPosition KeyInFrontOf(std::string_view text, TextPosition value) {
  const std::string line = LineAsBytes(text, value.line);
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  size_t end = std::min<size_t>(value.column - 1, line.size());
  while (end > 0 && blank(line[end - 1])) --end;
  if (end == 0 || line[end - 1] != '=') return value;
  --end;
  while (end > 0 && blank(line[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] != ',' && line[begin - 1] != '{') --begin;
  while (begin < end && blank(line[begin])) ++begin;
  return begin < end ? TextPosition{value.line, static_cast<uint32_t>(begin) + 1} : value;
}

char CharacterAt(std::string_view text, TextPosition position) {
  const std::string line = LineAsBytes(text, position.line);
  return position.column >= 1 && position.column <= line.size() ? line[position.column - 1] : '\0';
}

}  // namespace motley
