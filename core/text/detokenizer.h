// Detokenizer: token ids to text, piece by piece, never half a character.
//
// Bytes that may still become a character are held back until they do, or until Flush; those that cannot
// become U+FFFD (utf8.h). So the streamed text is that of the whole, wherever the pieces were cut.
//
// Decode(Encode(text)) is the text: the space that SentencePiece puts in front of a text, and behind each
// special token, is left out. An answer goes on where its prompt ends (Continue), so that prompt and answer
// together read as one text: behind "Once upon" the token " a" keeps its space; behind the control token that
// ends a prompt the space of " Hello" is the tokenizer's own, and goes.
//
// One object a sequence; not for several threads at once. The tokenizer must outlive it.
#pragma once

#include <cstdint>
#include <optional>
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

  // What comes is behind token `last_id`, the prompt's last. Without this, and after Reset, it is the
  // beginning.
  void Continue(int32_t last_id) { last_id_ = last_id; }
  // Appends to `out` the text that `id` completes; often none. An id outside the vocabulary leaves none.
  void Push(int32_t id, std::string* out);
  // No more ids come.
  void Flush(std::string* out) { stream_.Flush(out); }
  // Whether a character is begun.
  bool held_back() const { return stream_.held_back() > 0; }
  void Reset() {
    stream_.Reset();
    last_id_.reset();
  }

 private:
  const Tokenizer* tokenizer_;
  bool show_control_;
  std::vector<int32_t> shown_;
  std::optional<int32_t> last_id_;  // none: at the beginning
  Utf8Stream stream_;
};

// The text of `ids` at once.
std::string Decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool show_control = false);

}  // namespace motley
