// AnswerFormat: how a model marks thinking and tool calls in what it writes.
//
// Found in the chat template's text and the vocabulary's special tokens, as the template alone says how
// earlier answers are written. Plain data: who knows better changes it. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/tokenizer.h"

namespace motley {

// Where calls of tools stand in an answer.
enum class ToolSyntax : uint8_t {
  kNone,    // no form that is known: everything is content
  kTagged,  // <tool_call>BODY</tool_call>; see tool_call_body.h for the bodies (GLM, Qwen and Hermes,
            // Qwen3-Coder)
  kJson,    // Llama 3: the answer begins with {"name": ..., "parameters": {...}}, or <|python_tag|> stands
            // before it
};

// Where the prompt leaves the answer.
enum class AnswerStart : uint8_t {
  kContent,
  kReasoning,  // the prompt ends with the opening tag of thinking
  kAfterTag,   // the prompt ends with the closing tag: white space that follows belongs to neither
};

struct AnswerFormat {
  std::string think_open, think_close;  // "" = no thinking is marked
  ToolSyntax tools = ToolSyntax::kNone;
  AnswerStart start = AnswerStart::kContent;
  std::string reason;  // for people: what the choice was made by

  bool has_thinking() const { return !think_close.empty(); }
};

// The format for a model. `chat_template`: the source, "" = none. tokenizer: nullptr = the template alone
// decides.
AnswerFormat FindAnswerFormat(std::string_view chat_template, const Tokenizer* tokenizer);

// Where an answer begins behind this prompt (its last few hundred bytes are enough).
AnswerStart FindAnswerStart(std::string_view prompt_end, const AnswerFormat& format);

// The control tokens whose names an answer in this format is parsed by; they must be shown as text
// (Detokenizer).
std::vector<int32_t> AnswerMarks(const AnswerFormat& format, const Tokenizer& tokenizer);

}  // namespace motley
