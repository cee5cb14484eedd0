#include "tools/motley/prompter.h"

#include <utility>

namespace motley {

StatusOr<Prompter> Prompter::Create(const ModelFiles& files, bool raw) {
  Prompter prompter;
  prompter.raw_ = raw;
  if (raw) return prompter;
  auto format = ChatFormat::Create(files.chat_template, *files.tokenizer);
  if (!format.ok())
    return Status(format.status().code(), files.file->metadata().origin() + ": " + format.status().message() +
                                              "; --raw goes without a template");
  prompter.format_ = std::make_shared<const ChatFormat>(*std::move(format));
  return prompter;
}

StatusOr<std::vector<int32_t>> Prompter::Encode(const Conversation& conversation,
                                                const Tokenizer& tokenizer) const {
  if (raw_) return tokenizer.Encode(conversation.turns.back().content);
  std::vector<ChatMessage> messages;
  if (!conversation.system.empty()) messages.push_back({"system", conversation.system});
  for (const Turn& turn : conversation.turns) messages.push_back({turn.role, turn.content});
  MOTLEY_ASSIGN_OR_RETURN(const auto segments, format_->Render(messages, true));
  return tokenizer.EncodeSegments(segments);
}

}  // namespace motley
