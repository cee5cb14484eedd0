#include "core/text/template/text_ops.h"

#include <algorithm>
#include <string>

#include "core/text/template/operators.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {
namespace {

bool IsCased(uint32_t code) { return IsUpper(code) || IsLower(code) || IsTitle(code); }

// Each character mapped by `map(at, point, out)`, where `out` is empty.
template <typename Map>
Text MapCharacters(const Text& text, const Map& map) {
  Text out;
  out.Reserve(text.size());
  Text::Cursor trust(text);
  std::string mapped;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeOne(text.view().substr(at));
    mapped.clear();
    if (point.code == kInvalidCode) {
      mapped = text.bytes()[at];
    } else {
      map(at, point, &mapped);
    }
    out.Append(mapped, trust.TrustedAt(at));
    at += point.size;
  }
  return out;
}

std::vector<uint32_t> CodesOf(std::string_view chars) {
  std::vector<uint32_t> codes;
  for (size_t at = 0; at < chars.size();) {
    const CodePoint point = DecodeOne(chars.substr(at));
    codes.push_back(point.code);
    at += point.size;
  }
  return codes;
}

size_t PreviousCharacter(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return DecodeOne(text.substr(begin, end - begin)).size == end - begin ? begin : end - 1;
}

}  // namespace

Text Upper(const Text& text) {
  return MapCharacters(text, [](size_t, CodePoint point, std::string* out) { AppendUpper(point.code, out); });
}

Text Lower(const Text& text) {
  return MapCharacters(
      text, [&](size_t at, CodePoint point, std::string* out) { AppendLower(text.view(), at, point, out); });
}

Text SwapCase(const Text& text) {
  return MapCharacters(text, [&](size_t at, CodePoint point, std::string* out) {
    if (IsUpper(point.code)) {
      AppendLower(text.view(), at, point, out);
    } else if (IsLower(point.code)) {
      AppendUpper(point.code, out);
    } else {
      AppendUtf8(point.code, out);
    }
  });
}

Text Capitalize(const Text& text) {
  return MapCharacters(text, [&](size_t at, CodePoint point, std::string* out) {
    if (at == 0) {
      AppendTitle(point.code, out);
    } else {
      AppendLower(text.view(), at, point, out);
    }
  });
}

Text TitleCase(const Text& text) {
  bool in_word = false;
  return MapCharacters(text, [&](size_t at, CodePoint point, std::string* out) {
    if (in_word) {
      AppendLower(text.view(), at, point, out);
    } else {
      AppendTitle(point.code, out);
    }
    in_word = IsCased(point.code);
  });
}

Text Strip(const Text& text, std::optional<std::string_view> chars, bool left, bool right) {
  size_t begin = 0, end = text.size();
  if (!chars.has_value()) {
    if (left) begin = LeadingSpace(text.view());
    if (right) end -= TrailingSpace(text.view().substr(begin));
    return text.Part(begin, end);
  }
  const std::vector<uint32_t> codes = CodesOf(*chars);
  const auto goes = [&](size_t at) {
    return std::find(codes.begin(), codes.end(), DecodeOne(text.view().substr(at)).code) != codes.end();
  };
  while (left && begin < end && goes(begin)) begin += DecodeOne(text.view().substr(begin)).size;
  while (right && begin < end) {
    const size_t last = PreviousCharacter(text.view(), end);
    if (!goes(last)) break;
    end = last;
  }
  return text.Part(begin, end);
}

std::vector<Text> SplitSpace(const Text& text, int64_t most) {
  std::vector<Text> parts;
  const std::string_view view = text.view();
  size_t at = LeadingSpace(view);
  while (at < view.size()) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) >= most) {
      parts.push_back(text.Part(at, view.size()));  // the last part keeps its space
      break;
    }
    size_t end = at;
    while (end < view.size()) {
      const CodePoint point = DecodeOne(view.substr(end));
      if (IsSpace(point.code)) break;
      end += point.size;
    }
    parts.push_back(text.Part(at, end));
    at = end + LeadingSpace(view.substr(end));
  }
  return parts;
}

std::vector<Text> SplitSpaceRight(const Text& text, int64_t most) {
  if (most < 0) return SplitSpace(text, most);
  std::vector<Text> parts;
  const std::string_view view = text.view();
  size_t end = view.size() - TrailingSpace(view);
  while (end > 0) {
    if (static_cast<int64_t>(parts.size()) >= most) {
      parts.push_back(text.Part(0, end));
      break;
    }
    size_t begin = end;
    while (begin > 0) {
      const size_t before = PreviousCharacter(view, begin);
      if (IsSpace(DecodeOne(view.substr(before)).code)) break;
      begin = before;
    }
    parts.push_back(text.Part(begin, end));
    end = begin - TrailingSpace(view.substr(0, begin));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> SplitBy(const Text& text, std::string_view separator, int64_t most) {
  std::vector<Text> parts;
  size_t at = 0;
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    const size_t found = Find(text.view(), separator, at);
    if (found == std::string_view::npos) break;
    parts.push_back(text.Part(at, found));
    at = found + separator.size();
  }
  parts.push_back(text.Part(at, text.size()));
  return parts;
}

std::vector<Text> SplitByRight(const Text& text, std::string_view separator, int64_t most) {
  if (most < 0) return SplitBy(text, separator, most);
  std::vector<Text> parts;
  size_t end = text.size();
  while (static_cast<int64_t>(parts.size()) < most && end >= separator.size()) {
    const size_t found = FindLast(text.view().substr(0, end), separator);
    if (found == std::string_view::npos) break;
    parts.push_back(text.Part(found + separator.size(), end));
    end = found;
  }
  parts.push_back(text.Part(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> SplitLines(const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string_view view = text.view();
  size_t begin = 0;
  for (size_t at = 0; at < view.size();) {
    const CodePoint point = DecodeOne(view.substr(at));
    const uint32_t c = point.code;
    const bool ends = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
    size_t next = at + point.size;
    if (ends) {
      if (c == '\r' && next < view.size() && view[next] == '\n') ++next;
      lines.push_back(text.Part(begin, keep_ends ? next : at));
      begin = next;
    }
    at = next;
  }
  if (begin < view.size()) lines.push_back(text.Part(begin, view.size()));
  return lines;
}

Text Replace(const Text& text, std::string_view old, const Text& with, int64_t most) {
  Text out;
  size_t at = 0;
  if (!old.empty()) {
    for (int64_t n = 0; most < 0 || n < most; ++n) {
      const size_t found = Find(text.view(), old, at);
      if (found == std::string_view::npos) break;
      out.Append(text, at, found);
      out.Append(with);
      at = found + old.size();
    }
    out.Append(text, at, text.size());
    return out;
  }
  for (int64_t n = 0; most < 0 || n < most; ++n) {
    out.Append(with);
    if (at >= text.size()) break;
    const size_t next = at + DecodeOne(text.view().substr(at)).size;
    out.Append(text, at, next);
    at = next;
  }
  out.Append(text, at, text.size());
  return out;
}

size_t CountOf(std::string_view text, std::string_view what, int64_t most) {
  if (what.empty()) {
    const size_t count = CountCharacters(text) + 1;
    return most < 0 ? count : std::min(count, static_cast<size_t>(most));
  }
  size_t count = 0;
  for (size_t at = 0; most < 0 || count < static_cast<size_t>(most); ++count) {
    at = Find(text, what, at);
    if (at == std::string_view::npos) break;
    at += what.size();
  }
  return count;
}

Text ExpandTabs(const Text& text, int64_t width) {
  int64_t column = 0;
  return MapCharacters(text, [&](size_t, CodePoint point, std::string* out) {
    if (point.code == '\t') {
      const int64_t spaces = width > 0 ? width - column % width : 0;
      out->append(static_cast<size_t>(spaces), ' ');
      column += spaces;
      return;
    }
    AppendUtf8(point.code, out);
    column = point.code == '\n' || point.code == '\r' ? 0 : column + 1;
  });
}

}  // namespace motley::jinja
