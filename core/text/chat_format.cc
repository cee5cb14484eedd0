#include "core/text/chat_format.h"

#include <algorithm>

#include "core/text/utf8.h"

namespace motley {
namespace {

constexpr std::string_view kTurnBegin = "<|im_start|>";
constexpr std::string_view kTurnEnd = "<|im_end|>";
constexpr std::string_view kRoles[] = {"system", "user", "assistant", "tool"};

// The system message that the template itself writes: the text between a system turn's marks, when it is
// plain text (a newline in a template's string may be written as \n).
std::string DefaultSystem(std::string_view chat_template) {
  for (const std::string_view newline : {"\n", "\\n"}) {
    const std::string head = std::string(kTurnBegin) + "system" + std::string(newline);
    for (size_t at = chat_template.find(head); at != std::string_view::npos;
         at = chat_template.find(head, at + 1)) {
      const std::string_view rest = chat_template.substr(at + head.size());
      const std::string_view text = rest.substr(0, rest.find(kTurnEnd));
      if (text.size() == rest.size() || text.empty()) continue;
      if (text.find_first_of("'\"{}\\") == std::string_view::npos) return std::string(text);
    }
  }
  return "";
}

}  // namespace

StatusOr<ChatFormat> ChatFormat::Create(std::string_view chat_template, const Tokenizer& tokenizer) {
  if (!chat_template.empty() && chat_template.find(kTurnBegin) == std::string_view::npos) {
    return UnimplementedError(
        "tokenizer.chat_template is not ChatML, the only chat form known so far: --raw runs the prompt as it is");
  }
  for (const std::string_view mark : {kTurnBegin, kTurnEnd}) {
    const auto id = tokenizer.FindSpecial(mark);
    if (id.has_value() && tokenizer.IsControl(*id)) continue;
    return UnimplementedError("the vocabulary has no control token " + std::string(mark) +
                              ", which ChatML needs: --raw runs the prompt as it is");
  }
  ChatFormat format;
  format.default_system_ = DefaultSystem(chat_template);
  return format;
}

StatusOr<std::vector<TextSegment>> ChatFormat::Render(const std::vector<ChatMessage>& messages,
                                                      bool add_generation_prompt) const {
  std::vector<TextSegment> segments;
  const auto add_turn = [&](std::string_view role, const TextSegment& content) {
    segments.push_back({std::string(kTurnBegin) + std::string(role) + "\n", true});
    segments.push_back(content);
    segments.push_back({std::string(kTurnEnd) + "\n", true});
  };
  const bool has_system = !messages.empty() && messages.front().role == "system";
  if (!messages.empty() && !has_system && !default_system_.empty()) {
    // From the file's template, but not itself a mark: it needs no trust.
    add_turn("system", {default_system_, false});
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    if (std::find(std::begin(kRoles), std::end(kRoles), message.role) == std::end(kRoles)) {
      return InvalidArgumentError("messages[" + std::to_string(i) + "].role = \"" +
                                  ToValidUtf8(message.role.substr(0, 48)) +
                                  "\": must be system, user, assistant or tool");
    }
    add_turn(message.role, {message.content, false});
  }
  if (add_generation_prompt) segments.push_back({std::string(kTurnBegin) + "assistant\n", true});
  return segments;
}

}  // namespace motley
