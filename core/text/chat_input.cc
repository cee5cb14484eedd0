// ChatInput: messages, tools and variables, from structs or JSON.
#include <algorithm>
#include <iterator>
#include <utility>

#include "core/text/chat_data.h"
#include "core/text/template/json_read.h"

namespace motley {

using jinja::Dict;
using jinja::Type;
using jinja::Value;

namespace {

// Templates make control tokens of these ('<|' + message.role + '|>'), so they count as the template's own text.
constexpr std::string_view kRoles[] = {"system", "developer", "user",     "assistant",   "tool",
                                       "function", "ipython", "model", "observation"};

Value RoleValue(std::string_view role) {
  const bool usual = std::find(std::begin(kRoles), std::end(kRoles), role) != std::end(kRoles);
  return Value::String(role, usual);
}

Value Key(std::string_view name) { return Value::String(name, true); }
Value Words(std::string_view text) { return Value::String(text, false); }

Value NewDict(std::initializer_list<std::pair<std::string_view, Value>> entries) {
  auto* dict = new Dict;
  Value value = Value::Of(Type::kDict, dict);
  for (const auto& [name, entry] : entries) dict->Set(Key(name), entry);
  return value;
}

Status Refuse(std::string_view name, const std::string& place, const std::string& what) {
  return InvalidArgumentError(std::string(name) + place + ": " + what);
}

}  // namespace

ChatInput::ChatInput() : data_(std::make_unique<Data>()) {}
ChatInput::~ChatInput() = default;
ChatInput::ChatInput(const ChatInput& other)
    : add_generation_prompt(other.add_generation_prompt), now(other.now), data_(std::make_unique<Data>(*other.data_)) {}
ChatInput& ChatInput::operator=(const ChatInput& other) { return *this = ChatInput(other); }
ChatInput::ChatInput(ChatInput&&) noexcept = default;
ChatInput& ChatInput::operator=(ChatInput&&) noexcept = default;

void ChatInput::AddMessage(const ChatMessage& message) {
  data_->bytes += message.content.size() + message.reasoning.size();
  for (const ChatToolCall& call : message.tool_calls) data_->bytes += call.arguments.size();
  Value value = NewDict({{"role", RoleValue(message.role)}, {"content", Words(message.content)}});
  auto& dict = value.As<Dict>();
  if (!message.reasoning.empty()) dict.Set(Key("reasoning_content"), Words(message.reasoning));
  std::vector<Value> calls;
  for (const ChatToolCall& call : message.tool_calls) {
    Value item = NewDict({{"type", Key("function")},
                          {"function", NewDict({{"name", Words(call.name)}, {"arguments", Words(call.arguments)}})}});
    if (!call.id.empty()) item.As<Dict>().Set(Key("id"), Words(call.id));
    calls.push_back(std::move(item));
  }
  if (!calls.empty()) dict.Set(Key("tool_calls"), jinja::NewList(std::move(calls)));
  data_->messages.push_back(std::move(value));
}

Status ChatInput::SetMessages(std::string_view json, std::string_view name) {
  data_->bytes += json.size();
  MOTLEY_ASSIGN_OR_RETURN(const Value value, jinja::ReadJson(json, name, /*trusted=*/false));
  if (!value.is_list()) return Refuse(name, "", "must be an array of messages");
  std::vector<Value> messages;
  for (size_t i = 0; i < value.items().size(); ++i) {
    const Value& message = value.items()[i];
    const std::string place = "[" + std::to_string(i) + "]";
    if (!message.is_dict()) return Refuse(name, place, "must be an object with a role and content");
    const Value* role = message.dict().Find("role");
    if (role == nullptr || !role->is_str()) return Refuse(name, place + ".role", "must be there, and a string");
    auto* dict = new Dict(message.dict());
    dict->refs = 0;
    messages.push_back(Value::Of(Type::kDict, dict));
    dict->Set(Key("role"), RoleValue(role->view()));
  }
  data_->messages = std::move(messages);
  return OkStatus();
}

Status ChatInput::SetTools(std::string_view json, std::string_view name) {
  data_->bytes += json.size();
  MOTLEY_ASSIGN_OR_RETURN(Value value, jinja::ReadJson(json, name, /*trusted=*/false));
  if (value.is_none()) {
    data_->tools = Value();
    return OkStatus();
  }
  if (!value.is_list()) return Refuse(name, "", "must be an array of tools, or null");
  for (size_t i = 0; i < value.items().size(); ++i) {
    if (!value.items()[i].is_dict()) return Refuse(name, "[" + std::to_string(i) + "]", "must be an object");
  }
  data_->tools = std::move(value);
  return OkStatus();
}

Status ChatInput::SetVariables(std::string_view json, std::string_view name) {
  data_->bytes += json.size();
  MOTLEY_ASSIGN_OR_RETURN(const Value value, jinja::ReadJson(json, name, /*trusted=*/false));
  if (!value.is_dict()) return Refuse(name, "", "must be an object of variables");
  for (const auto& [key, entry] : value.dict().entries) {
    if (key.view() == "messages") return Refuse(name, ".messages", "messages are given apart from variables");
    data_->variables.insert_or_assign(std::string(key.view()), entry);
  }
  return OkStatus();
}

void ChatInput::SetVariable(std::string_view name, bool value) {
  data_->variables.insert_or_assign(std::string(name), Value::Bool(value, false));
}
void ChatInput::SetVariable(std::string_view name, std::string_view value) {
  data_->variables.insert_or_assign(std::string(name), Words(value));
}

size_t ChatInput::message_count() const { return data_->messages.size(); }
bool ChatInput::has_tools() const { return !data_->tools.is_missing(); }

}  // namespace motley
