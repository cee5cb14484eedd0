// Pieces of JSON text as they were written: what a model wrote keeps its digits, its order and its spacing.
//
// Boost.JSON judges whether a text is JSON; these functions find where its parts begin and end, which no
// parser tells.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace motley {

inline constexpr size_t kMaxJsonDepth = 64;

// Whether `text` is one JSON value, white space around it allowed, nested at most kMaxJsonDepth deep.
bool IsJson(std::string_view text);

// `text` as a JSON string, with its quotes; what is not UTF-8 becomes U+FFFD.
std::string JsonString(std::string_view text);

// Finds the end of a JSON object whose text comes in pieces. Looks at brackets and strings alone: what it
// accepts may still be no JSON, what it refuses is none, whatever follows.
class JsonObjectEnd {
 public:
  enum class Result { kMore, kBad, kDone };
  // Reads on in `text`, which begins with the object's { and grows from call to call. kDone sets end().
  Result Read(std::string_view text);
  size_t end() const { return read_; }  // behind the closing }

 private:
  Result ReadOutside(char c);

  size_t read_ = 0;
  std::string open_;  // brackets, innermost last
  bool in_string_ = false, escaped_ = false;
};

// The text with control characters inside of strings escaped: models write line breaks there.
std::string EscapeControls(std::string_view json);

// The text of the member `key` of a JSON object, the last one of that name. `object` must be JSON.
std::optional<std::string_view> MemberText(std::string_view object, std::string_view key);

// The texts of the elements of a JSON array. `array` must be JSON.
std::vector<std::string_view> ElementTexts(std::string_view array);

}  // namespace motley
