// Chat messages to the text a model was trained on. For now one built-in form, ChatML.
//
// The result is segments: what the form itself writes is trusted, what people write is not, so that control
// tokens come from the form alone (Tokenizer::EncodeSegments). The interpreter of templates takes this
// place (chat_template.h); this header goes then.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/text/chat_template.h"
#include "core/text/tokenizer.h"

namespace motley {

class ChatFormat {
 public:
  // The form for a model: `chat_template` is the file's tokenizer.chat_template, "" if it has none.
  // UNIMPLEMENTED when the model does not speak ChatML.
  static StatusOr<ChatFormat> Create(std::string_view chat_template, const Tokenizer& tokenizer);

  // The prompt for `messages`; with `add_generation_prompt` it ends where the assistant begins to speak.
  StatusOr<std::vector<TextSegment>> Render(const std::vector<ChatMessage>& messages,
                                            bool add_generation_prompt = true) const;

  // What the model is told when the messages begin without a system message; "" = nothing.
  const std::string& default_system() const { return default_system_; }

 private:
  std::string default_system_;
};

}  // namespace motley
