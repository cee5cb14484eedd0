#include "tools/motley/conversation.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "core/model/printable.h"
#include "core/text/utf8.h"

namespace motley {
namespace {

std::string MessageJson(const Turn& turn) {
  boost::json::object message{{"role", turn.role}, {"content", ToValidUtf8(turn.content)}};
  if (!turn.reasoning.empty()) message["reasoning_content"] = ToValidUtf8(turn.reasoning);
  for (const auto& [key, value] : turn.extra) message[key] = value;
  return boost::json::serialize(message);
}

// Takes a text out of the message: "" where it is absent or null.
StatusOr<std::string> TakeText(boost::json::object& message, const char* key, const std::string& where) {
  const boost::json::value* value = message.if_contains(key);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return InvalidArgumentError(where + "." + key + ": must be a text");
  std::string text(value->as_string());
  message.erase(key);
  return text;
}

Status AddMessage(const boost::json::value& value, const std::string& where, bool first,
                  Conversation* conversation) {
  if (!value.is_object()) return InvalidArgumentError(where + ": must be an object with role and content");
  Turn turn;
  turn.extra = value.as_object();
  MOTLEY_ASSIGN_OR_RETURN(turn.role, TakeText(turn.extra, "role", where));
  const boost::json::value* content = turn.extra.if_contains("content");
  const bool in_parts = content != nullptr && content->is_array();  // for the template to take or refuse
  if (!in_parts) {
    MOTLEY_ASSIGN_OR_RETURN(turn.content, TakeText(turn.extra, "content", where));
  }
  MOTLEY_ASSIGN_OR_RETURN(turn.reasoning, TakeText(turn.extra, "reasoning_content", where));
  if (turn.role == "system" && first && !in_parts) {
    conversation->system = turn.content;
    return OkStatus();
  }
  if (turn.role != "user" && turn.role != "assistant" && turn.role != "tool") {
    return InvalidArgumentError(where + ".role = \"" + Printable(turn.role, 40) +
                                "\": must be user, assistant or tool, and system for the first message");
  }
  conversation->turns.push_back(std::move(turn));
  return OkStatus();
}

}  // namespace

std::string ConversationJson(const Conversation& conversation) {
  std::string text = "[";
  const auto add = [&](const Turn& turn) { text += (text.size() > 1 ? ",\n " : "") + MessageJson(turn); };
  if (!conversation.system.empty()) add({"system", conversation.system, "", {}});
  for (const Turn& turn : conversation.turns) add(turn);
  return text + "]\n";
}

StatusOr<Conversation> ParseConversation(std::string_view json, const std::string& name) {
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse(json, error);
  if (error) return InvalidArgumentError(name + ": is no JSON: " + error.message());
  const boost::json::value* list = &value;
  if (value.is_object() && value.as_object().contains("messages")) list = &value.at("messages");
  if (!list->is_array())
    return InvalidArgumentError(name +
                                ": must be a list of messages, [{\"role\":\"user\",\"content\":\"…\"}]");
  Conversation conversation;
  size_t index = 0;
  for (const boost::json::value& message : list->as_array()) {
    MOTLEY_RETURN_IF_ERROR(
        AddMessage(message, name + ": messages[" + std::to_string(index) + "]", index == 0, &conversation));
    ++index;
  }
  return conversation;
}

}  // namespace motley
