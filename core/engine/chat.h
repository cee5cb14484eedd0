// ChatSession: a conversation with a model that is loaded.
//
//   MOTLEY_ASSIGN_OR_RETURN(ChatPrompter prompter, ChatPrompter::Create(files, settings, &warnings));
//   ChatSession chat(*engine, std::move(prompter));
//   MOTLEY_ASSIGN_OR_RETURN(const ChatAnswer answer, chat.Ask("Hi", {}, on_piece));
//
// Each answer goes on from the KV of the turns before it, as far as the prompt begins with the same tokens
// (Request::reuse); a template that leaves old thinking out begins anew where it stood.
//
// The messages stay a conversation that any template takes, whatever becomes of an answer: one that failed is
// not in them, and Ask takes its question back too; one that was cancelled is, as far as it came, so that "go
// on" can be said to it; cancelled before its first token, it is as if it had failed.
//
// One thread, the engine's. The engine answers nobody else meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/engine/chat_prompter.h"
#include "core/engine/engine.h"
#include "core/text/answer_parser.h"

namespace motley {

struct ChatAnswer {
  FinishReason reason = FinishReason::kStop;  // kStop, kLength or kCancelled
  RequestStats stats;
  std::string reasoning, content;
  std::vector<ToolCall> calls;

  bool empty() const { return reasoning.empty() && content.empty() && calls.empty(); }
};

// In OpenAI's form: {"role":"assistant","content":...}, with reasoning_content and tool_calls where there are
// some.
std::string MessageJson(const ChatAnswer& answer);
// [{"id":...,"type":"function","function":{"name":...,"arguments":"JSON"}}, ...]
std::string ToolCallsJson(const std::vector<ToolCall>& calls);

// What one token brought; often nothing, as text that may be the beginning of a tag waits.
struct ChatPiece {
  int32_t token = -1;  // -1: none, text alone
  std::vector<AnswerPart> parts;
};
using OnChatPiece = std::function<void(const ChatPiece& piece)>;

class ChatSession {
 public:
  // The engine must outlive it, and the prompter be of the same model.
  ChatSession(Engine& engine, ChatPrompter prompter) : engine_(engine), prompter_(std::move(prompter)) {}

  // ---- The messages
  // The first message says it; "" = no such message.
  void SetSystem(std::string_view text);
  void AddUser(std::string_view text);
  void AddToolResult(std::string_view call_id, std::string_view content);
  // A JSON array in OpenAI's form, as MessagesJson gives it. INVALID_ARGUMENT says which message is wrong,
  // and nothing is changed.
  Status SetMessages(std::string_view json, std::string_view name = "messages");
  std::string MessagesJson() const;
  size_t size() const { return messages_.size(); }
  void RemoveLast() { messages_.pop_back(); }
  // Forgets all but what SetSystem said.
  void Reset();

  // ---- Answers
  // The answer to the messages as they stand; it is appended to them. `settings`: sampling, max_tokens, stop;
  // the rest is set here. `is_cancelled` is asked before each step. An error leaves the messages as they are:
  // INVALID_ARGUMENT, the template refuses them, or they have outgrown the context (the counts are said).
  StatusOr<ChatAnswer> Answer(const Request& settings, const OnChatPiece& on_piece,
                              const std::function<bool()>& is_cancelled = {});
  // AddUser and Answer; without an answer the text is taken back.
  StatusOr<ChatAnswer> Ask(std::string_view text, const Request& settings, const OnChatPiece& on_piece,
                           const std::function<bool()>& is_cancelled = {});

  ChatPrompter& prompter() { return prompter_; }
  const ChatPrompter& prompter() const { return prompter_; }

 private:
  StatusOr<ChatAnswer> Run(Request request, AnswerParser* parser, const OnChatPiece& on_piece,
                           const std::function<bool()>& is_cancelled);

  Engine& engine_;
  ChatPrompter prompter_;
  std::vector<std::string> messages_;  // each a JSON object, as it was given
  uint64_t next_call_ = 0;             // number of the next call's id
};

}  // namespace motley
