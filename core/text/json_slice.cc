#include "core/text/json_slice.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "core/text/utf8.h"

namespace motley {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// Of a JSON text: behind the string that begins at `at`.
size_t StringEnd(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

// Of a JSON text: behind the value that begins at `at`.
size_t ValueEnd(std::string_view json, size_t at) {
  size_t depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = StringEnd(json, at);
    } else if (c == '{' || c == '[') {
      ++depth, ++at;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;  // of a number or word, which has no end of its own
      --depth, ++at;
    } else if (depth == 0 && (c == ',' || kSpace.find(c) != std::string_view::npos)) {
      return at;
    } else {
      ++at;
      continue;
    }
    if (depth == 0) return at;
  }
  return at;
}

}  // namespace

bool IsJson(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  boost::system::error_code error;
  try {
    boost::json::parse({text.data(), text.size()}, error, {}, options);
  } catch (const std::exception&) {  // out of memory alone
    return false;
  }
  return !error;
}

std::string JsonString(std::string_view text) {
  return boost::json::serialize(boost::json::string(ToValidUtf8(text)));
}

JsonObjectEnd::Result JsonObjectEnd::Read(std::string_view text) {
  while (read_ < text.size()) {
    const char c = text[read_];
    if (read_ == 0 && c != '{') return Result::kBad;
    if (!in_string_) {
      const Result result = ReadOutside(c);
      if (result == Result::kBad) return result;
      ++read_;
      if (result == Result::kDone) return result;
      continue;
    }
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
    ++read_;
  }
  return Result::kMore;
}

JsonObjectEnd::Result JsonObjectEnd::ReadOutside(char c) {
  switch (c) {
    case '"': in_string_ = true; return Result::kMore;
    case '{':
    case '[':
      if (open_.size() == kMaxJsonDepth) return Result::kBad;
      open_.push_back(c);
      return Result::kMore;
    case '}':
    case ']':
      if (open_.empty() || open_.back() != (c == '}' ? '{' : '[')) return Result::kBad;
      open_.pop_back();
      return open_.empty() ? Result::kDone : Result::kMore;
    default:
      // Marks, white space, numbers, true, false, null.
      return std::string_view(",: \t\r\n+-.0123456789eEtrufalsn").find(c) == std::string_view::npos
                 ? Result::kBad
                 : Result::kMore;
  }
}

std::string EscapeControls(std::string_view json) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(json.size());
  bool in_string = false, escaped = false;
  for (const char c : json) {
    const auto byte = static_cast<unsigned char>(c);
    if (in_string && byte < 0x20) {
      if (escaped) out.pop_back();  // a backslash before a line break means the line break
      if (c == '\n') {
        out += "\\n";
      } else if (c == '\t') {
        out += "\\t";
      } else {
        out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
      }
      escaped = false;
      continue;
    }
    out.push_back(c);
    if (escaped) {
      escaped = false;
    } else if (in_string && c == '\\') {
      escaped = true;
    } else if (c == '"') {
      in_string = !in_string;
    }
  }
  return out;
}

std::optional<std::string_view> MemberText(std::string_view object, std::string_view key) {
  std::optional<std::string_view> found;
  const std::string quoted = JsonString(key);
  size_t at = object.find('{') + 1;
  for (;;) {
    at = object.find('"', at);
    if (at == std::string_view::npos) return found;
    const size_t key_end = StringEnd(object, at);
    const bool same = object.substr(at, key_end - at) == quoted;
    at = object.find_first_not_of(kSpace, object.find(':', key_end) + 1);
    const size_t end = ValueEnd(object, at);
    if (same) found = object.substr(at, end - at);
    at = end;
  }
}

std::vector<std::string_view> ElementTexts(std::string_view array) {
  std::vector<std::string_view> elements;
  size_t at = array.find('[') + 1;
  for (;;) {
    at = array.find_first_not_of(" \t\r\n,", at);
    if (at == std::string_view::npos || array[at] == ']') return elements;
    const size_t end = ValueEnd(array, at);
    elements.push_back(array.substr(at, end - at));
    at = end;
  }
}

}  // namespace motley
