#include "tools/motley/message_text.h"

#include <algorithm>

namespace motley {
namespace {

constexpr std::string_view kMark = "\"\"\"";

// What stands behind the mark that the message begins with; the whole of it where there is none.
std::string_view InsideBlock(std::string_view text, bool* begins) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  *begins = text.substr(0, kMark.size()) == kMark;
  return *begins ? text.substr(kMark.size()) : text;
}

// Where the closing mark stands, npos = nowhere. Blanks may follow it on its line, which is the last.
size_t ClosingMark(std::string_view inside) {
  const size_t last = inside.find_last_not_of(" \t\n");
  if (last == std::string_view::npos || last + 1 < kMark.size()) return std::string_view::npos;
  const size_t begin = last + 1 - kMark.size();
  return inside.substr(begin, kMark.size()) == kMark ? begin : std::string_view::npos;
}

bool EndsInBackslash(std::string_view text) {
  const size_t last = text.find_last_not_of('\\');
  const size_t count = text.size() - (last == std::string_view::npos ? 0 : last + 1);
  return count % 2 == 1;
}

}  // namespace

bool MessageGoesOn(std::string_view text) {
  bool block = false;
  const std::string_view inside = InsideBlock(text, &block);
  if (block) return ClosingMark(inside) == std::string_view::npos;
  return EndsInBackslash(text);
}

std::string ContinuedMessage(std::string_view text) {
  bool block = false;
  InsideBlock(text, &block);
  if (!block && EndsInBackslash(text)) text.remove_suffix(1);
  return std::string(text) + "\n";
}

std::string MessageOf(std::string_view text) {
  bool block = false;
  std::string_view inside = InsideBlock(text, &block);
  if (!block) return std::string(text);
  inside = inside.substr(0, ClosingMark(inside));
  if (!inside.empty() && inside.front() == '\n') inside.remove_prefix(1);
  if (!inside.empty() && inside.back() == '\n') inside.remove_suffix(1);
  return std::string(inside);
}

}  // namespace motley
