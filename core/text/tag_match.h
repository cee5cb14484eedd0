// Tags in a text that is still growing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace motley {

inline constexpr std::string_view kTextSpace = " \t\r\n";

// kPart: the text ends before it is decided, what there is begins like the tag.
enum class Match : uint8_t { kNo, kPart, kYes };

// Whether `tag` stands at `at`, which may be behind the text's end. Nothing matches an empty tag.
inline Match MatchAt(std::string_view text, size_t at, std::string_view tag) {
  if (tag.empty()) return Match::kNo;
  const std::string_view head = text.substr(std::min(at, text.size()), tag.size());
  if (head != tag.substr(0, head.size())) return Match::kNo;
  return head.size() == tag.size() ? Match::kYes : Match::kPart;
}

// The first place from `at` on with no white space; npos where the text ends before.
inline size_t SkipSpace(std::string_view text, size_t at) {
  return text.find_first_not_of(kTextSpace, at);
}

inline std::string_view Trimmed(std::string_view text) {
  const size_t first = SkipSpace(text, 0);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kTextSpace) - first + 1);
}

// Of a tool or an argument, where no quotes say where it ends.
inline constexpr size_t kMaxNameBytes = 128;
inline bool IsName(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' &&
           std::string_view("<>{}\"\\").find(c) == std::string_view::npos;
  });
}

}  // namespace motley
