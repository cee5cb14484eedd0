// ChatTemplate: chat messages to the text a model was trained on, by the model's own Jinja template.
//
// The result is segments: what the template itself writes is trusted, what comes from messages, tools and variables is
// not, whatever the template does to it (trim, replace, split, tojson ...). So control tokens come from the template
// alone (Tokenizer::EncodeSegments). A role is trusted where it is one of the usual ones, because templates make
// control tokens of it ('<|' + message.role + '|>').
//
// The language is that of Jinja2 as Hugging Face sets it up (ImmutableSandboxedEnvironment, trim_blocks,
// lstrip_blocks, loop controls, the generation tag, its tojson, raise_exception and strftime_now); the text is
// byte-equal to what Python makes, and an error where Python raises.
//
// Threads: a ChatTemplate does not change, any number of threads may render with it. A ChatInput belongs to one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/text/tokenizer.h"

namespace motley {

// A function that the model called.
struct ChatToolCall {
  std::string id;         // "" = none
  std::string name;
  std::string arguments;  // JSON text; handed on as an object where it is one
};

struct ChatMessage {
  std::string role;                           // "system", "user", "assistant", "tool" ...
  std::string content;                        // any bytes
  std::string reasoning = {};                 // the thinking, handed on as reasoning_content; "" = none
  std::vector<ChatToolCall> tool_calls = {};
};

// What a template is rendered over: messages in OpenAI's form, tools, variables.
class ChatInput {
 public:
  ChatInput();
  ~ChatInput();
  ChatInput(const ChatInput&);
  ChatInput& operator=(const ChatInput&);
  ChatInput(ChatInput&&) noexcept;
  ChatInput& operator=(ChatInput&&) noexcept;

  void AddMessage(const ChatMessage& message);

  // The same from JSON. `name` is what an error calls the text ("messages.json"); it says line and column, or which
  // message is not as it must be. Numbers keep their digits, keys their order; of a key that is there twice the later
  // value counts; more than 256 levels are refused.
  Status SetMessages(std::string_view json, std::string_view name = "messages");  // an array of objects with a role
  Status SetTools(std::string_view json, std::string_view name = "tools");        // an array, or null = none
  Status SetVariables(std::string_view json, std::string_view name = "variables");  // an object; adds to what is set

  void SetVariable(std::string_view name, bool value);
  void SetVariable(std::string_view name, std::string_view value);
  void SetVariable(std::string_view name, const char* value) { SetVariable(name, std::string_view(value)); }

  size_t message_count() const;
  bool has_tools() const;

  bool add_generation_prompt = true;  // ends where the assistant begins to speak
  std::optional<std::chrono::system_clock::time_point> now;  // for strftime_now; absent: the clock's, in local time

 private:
  friend class ChatTemplate;
  struct Data;
  std::unique_ptr<Data> data_;
};

// Texts of the tokens that templates name: bos_token, eos_token, unk_token, pad_token. Absent: undefined.
struct ChatTokenTexts {
  std::optional<std::string> bos, eos, unk, pad;
};
ChatTokenTexts TokenTextsOf(const Tokenizer& tokenizer);

// What one rendering may take; an error names the limit that was reached. A large input may take more: to the bytes,
// multiples of its own are added.
struct ChatTemplateLimits {
  uint64_t steps = 10'000'000;  // expressions, statements, items
  uint64_t output_bytes = uint64_t{64} << 20;
  uint64_t value_bytes = uint64_t{512} << 20;  // of all strings and lists that are made on the way
  std::chrono::milliseconds time{10'000};
};

class ChatTemplate {
 public:
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // INVALID_ARGUMENT: "NAME:LINE: what is wrong". `name` is the file's or the metadata key's.
  static StatusOr<ChatTemplate> Parse(std::string_view source, std::string_view name, ChatTokenTexts tokens = {});
  // A template of our own: "chatml", "llama3", "glm4" ...; NOT_FOUND lists the names.
  static StatusOr<ChatTemplate> Builtin(std::string_view name, ChatTokenTexts tokens = {});
  // For a model: `source` is its tokenizer.chat_template, "" if it has none. Then the built-in one that fits the
  // control tokens of the vocabulary, with a *warning that names it; UNIMPLEMENTED where none fits.
  static StatusOr<ChatTemplate> ForModel(std::string_view source, const Tokenizer& tokenizer, std::string* warning);

  // The prompt. Neighbouring segments differ in trust, none is empty. An error of the template's (raise_exception, a
  // wrong type, a limit) is INVALID_ARGUMENT: "NAME:LINE: the template's words".
  StatusOr<std::vector<TextSegment>> Render(const ChatInput& input) const;

  // Whether the template reads this variable at all ("enable_thinking", "tools"): where not, setting it is idle.
  bool Mentions(std::string_view variable) const;
  // The name it was parsed with, or of the built-in.
  const std::string& name() const;

  void set_limits(const ChatTemplateLimits& limits);

 private:
  struct Data;
  explicit ChatTemplate(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// The text of the segments.
std::string TextOf(const std::vector<TextSegment>& segments);

}  // namespace motley
