#include "core/engine/chat_prompter.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

constexpr std::string_view kProbe = R"([{"role": "user", "content": "x"}])";

bool HoldsQuoted(std::string_view source, std::string_view word) {
  for (const char quote : {'"', '\''}) {
    if (source.find(quote + std::string(word) + quote) != std::string_view::npos) return true;
  }
  return false;
}

// The first of the words that the template's text has, else the last.
std::string_view EffortWord(std::string_view source, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (HoldsQuoted(source, word)) return word;
  }
  return *(words.end() - 1);
}

}  // namespace

std::string ThinkingVariables(const ChatTemplate& chat_template, std::string_view source, bool on) {
  std::string json;
  const auto add = [&](const std::string& name, const std::string& value) {
    json += (json.empty() ? "\"" : ", \"") + name + "\": " + value;
  };
  const std::string word = on ? "true" : "false";
  for (const char* name : {"enable_thinking", "thinking"}) {
    if (chat_template.Mentions(name)) add(name, word);
  }
  if (json.empty() && chat_template.Mentions("reasoning_effort")) {
    const std::string_view effort = on ? EffortWord(source, {"high", "medium", "high"})
                                       : EffortWord(source, {"no_think", "none", "minimal", "low"});
    add("reasoning_effort", "\"" + std::string(effort) + "\"");
  }
  if (!on && chat_template.Mentions("thinking_budget")) add("thinking_budget", "0");
  return "{" + json + "}";
}

StatusOr<ChatPrompter> ChatPrompter::Create(const ModelFiles& files, const ChatSettings& settings,
                                            std::vector<std::string>* warnings) {
  const std::string& origin = files.file->metadata().origin();
  std::string warning;
  StatusOr<ChatTemplate> found = ChatTemplate::ForModel(files.chat_template, *files.tokenizer, &warning);
  if (!found.ok()) return found.status().WithPrefix(origin);
  if (!warning.empty()) warnings->push_back(origin + ": " + warning);
  ChatPrompter prompter(*std::move(found), files.tokenizer.get());
  prompter.source_ = files.chat_template;
  prompter.settings_ = settings;
  prompter.format_ = FindAnswerFormat(files.chat_template, files.tokenizer.get());
  if (!settings.tools.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(prompter.schemas_, ToolSchemas::Parse(settings.tools));
    if (prompter.format_.tools == ToolSyntax::kNone) {
      warnings->push_back("tools: how this model writes calls is not known (" + prompter.format_.reason +
                          "); they stay in the answer's text");
    }
  }
  prompter.can_switch_thinking_ = prompter.ThinkingMatters();
  if (settings.thinking.has_value() && !prompter.can_switch_thinking_) {
    warnings->push_back(std::string("thinking ") + (*settings.thinking ? "on" : "off") +
                        ": the chat template has no such switch; it is ignored");
  }
  MOTLEY_RETURN_IF_ERROR(prompter.SetThinking(settings.thinking));
  return prompter;
}

// Seen by what the template makes of it: one may name a variable and not heed it.
bool ChatPrompter::ThinkingMatters() const {
  std::string texts[2];
  for (const bool on : {false, true}) {
    StatusOr<ChatInput> input = Input(on);
    if (!input.ok() || !input->SetMessages(kProbe).ok()) return false;
    const StatusOr<std::vector<TextSegment>> segments = template_.Render(*input);
    // It may want more than one message; then the name is all there is to go by.
    if (!segments.ok()) return ThinkingVariables(template_, source_, false) != "{}";
    texts[on] = TextOf(*segments);
  }
  return texts[0] != texts[1];
}

Status ChatPrompter::SetThinking(std::optional<bool> thinking) {
  settings_.thinking = thinking;
  MOTLEY_ASSIGN_OR_RETURN(base_, Input(thinking));
  return OkStatus();
}

StatusOr<ChatInput> ChatPrompter::Input(std::optional<bool> thinking) const {
  ChatInput input;
  if (!settings_.tools.empty()) MOTLEY_RETURN_IF_ERROR(input.SetTools(settings_.tools));
  if (thinking.has_value()) {
    MOTLEY_RETURN_IF_ERROR(input.SetVariables(ThinkingVariables(template_, source_, *thinking)));
  }
  if (!settings_.variables.empty()) MOTLEY_RETURN_IF_ERROR(input.SetVariables(settings_.variables));
  return input;
}

StatusOr<ChatPrompter::Prompt> ChatPrompter::Encode(std::string_view messages) const {
  ChatInput input = base_;
  MOTLEY_RETURN_IF_ERROR(input.SetMessages(messages));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<TextSegment> segments, template_.Render(input));
  Prompt prompt;
  MOTLEY_ASSIGN_OR_RETURN(prompt.tokens, tokenizer_->EncodeSegments(segments));
  prompt.format = format_;
  // What a user wrote there opens no thinking.
  const bool trusted = !segments.empty() && segments.back().trusted;
  prompt.format.start = trusted ? FindAnswerStart(segments.back().text, format_) : AnswerStart::kContent;
  return prompt;
}

}  // namespace motley
