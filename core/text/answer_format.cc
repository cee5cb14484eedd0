#include "core/text/answer_format.h"

#include <optional>

namespace motley {
namespace {

struct ThinkTags {
  std::string_view open, close;
};

constexpr ThinkTags kThinkTags[] = {
    {"<think>", "</think>"},                     // GLM, Qwen, DeepSeek, SmolLM3 and most others
    {"[THINK]", "[/THINK]"},                     // Ministral
    {"<|START_THINKING|>", "<|END_THINKING|>"},  // Command
    {"<seed:think>", "</seed:think>"},           // Seed-OSS
};

constexpr std::string_view kCallMarks[] = {"<tool_call>", "</tool_call>", "<arg_key>",     "</arg_key>",
                                           "<arg_value>", "</arg_value>", "<|python_tag|>"};

bool Holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool HasToken(const Tokenizer* tokenizer, std::string_view name) {
  return tokenizer != nullptr && tokenizer->FindSpecial(name).has_value();
}

void FindThinking(std::string_view chat_template, const Tokenizer* tokenizer, AnswerFormat* format) {
  for (const bool in_template : {true, false}) {
    for (const ThinkTags& tags : kThinkTags) {
      // A template that drops old thinking may name the closing tag alone.
      const bool found = in_template ? Holds(chat_template, tags.close)
                                     : HasToken(tokenizer, tags.open) && HasToken(tokenizer, tags.close);
      if (!found) continue;
      format->think_open = tags.open;
      format->think_close = tags.close;
      format->reason = "thinking ends at " + format->think_close +
                       (in_template ? ", which the chat template names" : ", which is in the vocabulary");
      return;
    }
  }
  format->reason = "no tags of thinking in the chat template or the vocabulary";
}

void FindTools(std::string_view chat_template, const Tokenizer* tokenizer, AnswerFormat* format) {
  std::string_view reason = "no known form of tool calls";
  if (Holds(chat_template, "<tool_call>")) {
    format->tools = ToolSyntax::kTagged;
    reason = "tool calls stand in <tool_call>, which the chat template names";
  } else if (Holds(chat_template, "\"parameters\": ") && Holds(chat_template, "<|start_header_id|>")) {
    format->tools = ToolSyntax::kJson;
    reason = "tool calls are JSON with \"parameters\", as in Llama 3's chat template";
  } else if (chat_template.empty() && HasToken(tokenizer, "<tool_call>")) {
    format->tools = ToolSyntax::kTagged;
    reason = "tool calls stand in <tool_call>, which is in the vocabulary";
  } else if (chat_template.empty() && HasToken(tokenizer, "<|python_tag|>")) {
    format->tools = ToolSyntax::kJson;
    reason = "tool calls are JSON, as <|python_tag|> is in the vocabulary";
  }
  format->reason += "; " + std::string(reason);
}

bool EndsWith(std::string_view text, std::string_view end) {
  return !end.empty() && text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

AnswerFormat FindAnswerFormat(std::string_view chat_template, const Tokenizer* tokenizer) {
  AnswerFormat format;
  FindThinking(chat_template, tokenizer, &format);
  FindTools(chat_template, tokenizer, &format);
  return format;
}

AnswerStart FindAnswerStart(std::string_view prompt_end, const AnswerFormat& format) {
  while (!prompt_end.empty() && Holds(" \t\r\n", prompt_end.substr(prompt_end.size() - 1)))
    prompt_end.remove_suffix(1);
  if (EndsWith(prompt_end, format.think_close)) return AnswerStart::kAfterTag;
  if (EndsWith(prompt_end, format.think_open)) return AnswerStart::kReasoning;
  return AnswerStart::kContent;
}

std::vector<int32_t> AnswerMarks(const AnswerFormat& format, const Tokenizer& tokenizer) {
  std::vector<std::string_view> names = {format.think_open, format.think_close};
  if (format.tools != ToolSyntax::kNone)
    names.insert(names.end(), std::begin(kCallMarks), std::end(kCallMarks));
  std::vector<int32_t> ids;
  for (const std::string_view name : names) {
    const std::optional<int32_t> id = tokenizer.FindSpecial(name);
    if (id.has_value() && tokenizer.IsControl(*id)) ids.push_back(*id);
  }
  return ids;
}

}  // namespace motley
