// Detokenizer: token ids to text, piece by piece, never half a character.
//
// Bytes that may still become a character are held back until they do, or until Flush; those that cannot
// become U+FFFD (utf8.h). So the streamed text is that of the whole, wherever the pieces were cut.
//
// One object a sequence; not for several threads at once. The tokenizer must outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/text/tokenizer.h"
#include "core/text/utf8.h"

namespace motley {

class Detokenizer {
 public:
  // Control tokens leave no text unless `show_control`, or they are among `shown`.
  explicit Detokenizer(const Tokenizer* tokenizer, bool show_control = false, std::vector<int32_t> shown = {})
      : tokenizer_(tokenizer), show_control_(show_control), shown_(std::move(shown)) {}

  // Appends to `out` the text that `id` completes; often none. An id outside the vocabulary leaves none.
  void Push(int32_t id, std::string* out);
  // No more ids come.
  void Flush(std::string* out) { stream_.Flush(out); }
  void Reset() { stream_.Reset(); }

 private:
  const Tokenizer* tokenizer_;
  bool show_control_;
  std::vector<int32_t> shown_;
  Utf8Stream stream_;
};

// The text of `ids` at once.
std::string Decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool show_control = false);

}  // namespace motley
