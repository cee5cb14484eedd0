#include "core/engine/chat.h"

#include <algorithm>
#include <utility>

#include "core/text/json_slice.h"

namespace motley {
namespace {

constexpr std::string_view kCallId = "\"call_";

std::string Message(std::string_view role, std::string_view content) {
  return "{\"role\":" + JsonString(role) + ",\"content\":" + JsonString(content) + "}";
}

bool IsSystem(const std::string& message) {
  const auto role = MemberText(message, "role");
  return role.has_value() && (*role == "\"system\"" || *role == "\"developer\"");
}

// Above every "call_N" in the text, so that ids stay unique.
uint64_t NextCall(std::string_view json) {
  uint64_t next = 0;
  for (size_t at = json.find(kCallId); at != std::string_view::npos; at = json.find(kCallId, at + 1)) {
    uint64_t number = 0;
    size_t digit = at + kCallId.size();
    for (; digit < json.size() && json[digit] >= '0' && json[digit] <= '9' && number < (uint64_t{1} << 40);
         ++digit) {
      number = number * 10 + static_cast<uint64_t>(json[digit] - '0');
    }
    if (digit < json.size() && json[digit] == '"') next = std::max(next, number + 1);
  }
  return next;
}

void AddPart(const AnswerPart& part, ChatAnswer* answer) {
  switch (part.kind) {
    case AnswerPart::Kind::kReasoning: answer->reasoning += part.text; break;
    case AnswerPart::Kind::kContent: answer->content += part.text; break;
    case AnswerPart::Kind::kToolCall: answer->calls.push_back(part.call); break;
  }
}

}  // namespace

std::string ToolCallsJson(const std::vector<ToolCall>& calls) {
  std::string json = "[";
  for (const ToolCall& call : calls) {
    json += (json.size() == 1 ? "" : ",") + ("{\"id\":" + JsonString(call.id)) +
            ",\"type\":\"function\",\"function\":{\"name\":" + JsonString(call.name) +
            ",\"arguments\":" + JsonString(call.arguments) + "}}";
  }
  return json + "]";
}

std::string MessageJson(const ChatAnswer& answer) {
  // Content is a text also where there is none: many templates print null as "None".
  std::string json = "{\"role\":\"assistant\",\"content\":" + JsonString(answer.content);
  if (!answer.reasoning.empty()) json += ",\"reasoning_content\":" + JsonString(answer.reasoning);
  if (!answer.calls.empty()) json += ",\"tool_calls\":" + ToolCallsJson(answer.calls);
  return json + "}";
}

void ChatSession::SetSystem(std::string_view text) {
  if (!messages_.empty() && IsSystem(messages_.front())) messages_.erase(messages_.begin());
  if (!text.empty()) messages_.insert(messages_.begin(), Message("system", text));
}

void ChatSession::AddUser(std::string_view text) {
  messages_.push_back(Message("user", text));
}

void ChatSession::AddToolResult(std::string_view call_id, std::string_view content) {
  messages_.push_back("{\"role\":\"tool\",\"tool_call_id\":" + JsonString(call_id) +
                      ",\"content\":" + JsonString(content) + "}");
}

Status ChatSession::SetMessages(std::string_view json, std::string_view name) {
  ChatInput judge;
  MOTLEY_RETURN_IF_ERROR(judge.SetMessages(json, name));
  messages_.clear();
  for (const std::string_view message : ElementTexts(json)) messages_.emplace_back(message);
  next_call_ = std::max(next_call_, NextCall(json));
  return OkStatus();
}

std::string ChatSession::MessagesJson() const {
  std::string json = "[";
  for (const std::string& message : messages_) json += (json.size() == 1 ? "\n" : ",\n") + message;
  return json + "\n]\n";
}

void ChatSession::Reset() {
  const bool system = !messages_.empty() && IsSystem(messages_.front());
  messages_.resize(system ? 1 : 0);
}

StatusOr<ChatAnswer> ChatSession::Ask(std::string_view text, const Request& settings,
                                      const OnChatPiece& on_piece,
                                      const std::function<bool()>& is_cancelled) {
  AddUser(text);
  const size_t asked = messages_.size();
  StatusOr<ChatAnswer> answer = Answer(settings, on_piece, is_cancelled);
  if (messages_.size() == asked) RemoveLast();
  return answer;
}

StatusOr<ChatAnswer> ChatSession::Answer(const Request& settings, const OnChatPiece& on_piece,
                                         const std::function<bool()>& is_cancelled) {
  MOTLEY_ASSIGN_OR_RETURN(ChatPrompter::Prompt prompt, prompter_.Encode(MessagesJson()));
  if (prompt.tokens.size() > static_cast<uint64_t>(engine_.context())) {
    return InvalidArgumentError("the conversation has " + std::to_string(prompt.tokens.size()) +
                                " tokens, which do not fit in the context of " +
                                std::to_string(engine_.context()) +
                                "; shorten the last message, begin anew, or ask for a larger --context");
  }
  Request request = settings;
  request.prompt = std::move(prompt.tokens);
  request.shown = AnswerMarks(prompt.format, prompter_.tokenizer());
  request.reuse = true;
  AnswerParser parser(std::move(prompt.format), prompter_.tools(), next_call_);
  StatusOr<ChatAnswer> answer = Run(std::move(request), &parser, on_piece, is_cancelled);
  next_call_ = parser.next_call();
  if (answer.ok() && !(answer->reason == FinishReason::kCancelled && answer->empty())) {
    messages_.push_back(MessageJson(*answer));
  }
  return answer;
}

StatusOr<ChatAnswer> ChatSession::Run(Request request, AnswerParser* parser, const OnChatPiece& on_piece,
                                      const std::function<bool()>& is_cancelled) {
  MOTLEY_ASSIGN_OR_RETURN(const uint64_t id, engine_.Submit(std::move(request)));
  ChatAnswer answer;
  std::vector<Event> events;
  for (bool ended = false; !ended;) {
    if (is_cancelled && is_cancelled()) engine_.Cancel(id);
    if (const Status status = engine_.Step(&events); !status.ok()) {
      engine_.Cancel(id);
      return status;
    }
    ChatPiece piece;  // a token and the end behind it come in one step
    for (const Event& event : events) {
      if (event.request != id) continue;
      if (event.token >= 0) piece.token = event.token;
      parser->Push(event.text, &piece.parts);
      if (!event.finish) continue;
      ended = true;
      parser->Finish(&piece.parts);
      if (*event.finish == FinishReason::kError) return event.error;
      answer.reason = *event.finish;
      answer.stats = event.stats;
    }
    for (const AnswerPart& part : piece.parts) AddPart(part, &answer);
    if (on_piece && (piece.token >= 0 || !piece.parts.empty())) on_piece(piece);
  }
  return answer;
}

}  // namespace motley
