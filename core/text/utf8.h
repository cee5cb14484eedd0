// UTF-8 as it comes: checked, repaired, and cut anywhere.
//
// What is not a character is replaced by U+FFFD, one for each maximal subpart (Unicode 3.9, WHATWG), as
// Python's bytes.decode("utf-8", "replace") does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace motley {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// What stands at the beginning of some bytes.
struct Utf8Step {
  enum Kind {
    kCharacter,   // one whole character
    kInvalid,     // a maximal subpart that no continuation can make a character
    kIncomplete,  // all the bytes there are: a proper prefix of a character
  };
  Kind kind;
  size_t size;  // >= 1
};

// `bytes` must not be empty.
Utf8Step NextUtf8(std::string_view bytes);

bool IsValidUtf8(std::string_view bytes);
std::string ToValidUtf8(std::string_view bytes);

// ToValidUtf8 over pieces. Push and Flush append to `out`; together they append what ToValidUtf8 gives for
// all pieces at once.
class Utf8Stream {
 public:
  void Push(std::string_view bytes, std::string* out);
  // Nothing more comes: a character that was begun becomes U+FFFD.
  void Flush(std::string* out);
  size_t held_back() const { return held_; }
  void Reset() { held_ = 0; }

 private:
  char buffer_[4] = {};
  size_t held_ = 0;  // bytes of buffer_: a proper prefix of one character
};

}  // namespace motley
