// ChatPrompter: messages to a prompt, by the model's chat template, and how its answer will have to be read.
//
// Needs the vocabulary alone, so that a template that cannot be used is told of before weights are loaded.
// Const methods may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/engine/engine.h"
#include "core/text/answer_format.h"
#include "core/text/chat_template.h"
#include "core/text/tool_call_body.h"

namespace motley {

struct ChatSettings {
  std::optional<bool> thinking;  // absent = as the template does by itself
  std::string tools;             // what the model may call: a JSON array in OpenAI's form; "" = none
  std::string variables;         // a JSON object, for the template; beats what `thinking` sets; "" = none
};

class ChatPrompter {
 public:
  // `files.tokenizer` must outlive it; moving `files` is fine. `warnings`: a built-in template in place of
  // the file's, a setting that the template does not know. INVALID_ARGUMENT names the file, the template's
  // line or tools[i].
  static StatusOr<ChatPrompter> Create(const ModelFiles& files, const ChatSettings& settings,
                                       std::vector<std::string>* warnings);

  struct Prompt {
    std::vector<int32_t> tokens;
    AnswerFormat format;  // with its start
  };
  // `messages`: a JSON array in OpenAI's form. INVALID_ARGUMENT: the template refuses them, in its words.
  StatusOr<Prompt> Encode(std::string_view messages) const;

  // Whether thinking can be turned on and off; where not, SetThinking is idle.
  bool can_switch_thinking() const { return can_switch_thinking_; }
  Status SetThinking(std::optional<bool> thinking);

  // What calls are read by; nullptr = the model was told of no tools.
  const ToolSchemas* tools() const { return settings_.tools.empty() ? nullptr : &schemas_; }
  const AnswerFormat& format() const { return format_; }
  void set_format(AnswerFormat format) { format_ = std::move(format); }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  ChatPrompter(ChatTemplate chat_template, const Tokenizer* tokenizer)
      : template_(std::move(chat_template)), tokenizer_(tokenizer) {}
  bool ThinkingMatters() const;
  StatusOr<ChatInput> Input(std::optional<bool> thinking) const;

  ChatTemplate template_;
  const Tokenizer* tokenizer_;
  std::string source_;  // the file's template, "" = a built-in one
  ChatSettings settings_;
  ToolSchemas schemas_;
  AnswerFormat format_;
  ChatInput base_;  // tools and variables, no messages
  bool can_switch_thinking_ = false;
};

// The variables that turn thinking on or off in this template, as a JSON object; "{}" where it reads none of
// them. Templates know enable_thinking (GLM, Qwen, SmolLM3 ...), thinking (DeepSeek, Granite),
// thinking_budget (Seed-OSS) or reasoning_effort (gpt-oss, Hunyuan; its words differ, the source tells
// which).
std::string ThinkingVariables(const ChatTemplate& chat_template, std::string_view source, bool on);

}  // namespace motley
