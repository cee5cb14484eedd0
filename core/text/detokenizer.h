// Detokenizer: token ids to text, piece by piece, never half a character.
//
// Bytes that could still become a character are held back until they do, or until Flush. What cannot is
// replaced by U+FFFD, one for each maximal subpart (Unicode 3.9, WHATWG), so that the streamed text is that
// of the whole, wherever the pieces were cut.
//
// One object a sequence; not for several threads at once. The tokenizer must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/text/tokenizer.h"

namespace motley {

// The same over bytes. Push and Flush append to `out`.
class Utf8Stream {
 public:
  void Push(std::string_view bytes, std::string* out);
  // What is held back cannot be completed any more: U+FFFD if there is any.
  void Flush(std::string* out);
  size_t held_back() const { return held_; }
  void Reset() { held_ = 0; }

 private:
  char buffer_[4];
  size_t held_ = 0;  // bytes of buffer_: a proper prefix of one character
};

// `bytes` as text at once.
std::string ToValidUtf8(std::string_view bytes);
bool IsValidUtf8(std::string_view bytes);

class Detokenizer {
 public:
  // Control tokens leave no text unless `show_control`.
  explicit Detokenizer(const Tokenizer* tokenizer, bool show_control = false)
      : tokenizer_(tokenizer), show_control_(show_control) {}

  // Appends to `out` the text that `id` completes; often none. An id outside the vocabulary leaves none.
  void Push(int32_t id, std::string* out);
  void Flush(std::string* out) { stream_.Flush(out); }
  void Reset() { stream_.Reset(); }

 private:
  const Tokenizer* tokenizer_;
  bool show_control_;
  Utf8Stream stream_;
};

// The text of `ids` at once.
std::string Decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool show_control = false);

}  // namespace motley
