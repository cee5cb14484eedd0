// Conversation: what was said, as JSON messages in OpenAI's form: what motley render --messages reads, and
// many others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "core/base/status.h"

namespace motley {

struct Turn {
  std::string role;  // "user", "assistant" or "tool"
  std::string content;
  std::string reasoning;  // of an assistant that thought first; "reasoning_content" in JSON
  // What else the message holds, as it is: tool_calls, tool_call_id, a content in parts.
  boost::json::object extra;
};

struct Conversation {
  std::string system;  // "" = none
  std::vector<Turn> turns;
};

// [{"role":"system","content":"…"}, …], a message a line.
std::string ConversationJson(const Conversation& conversation);

// The same back, or an object with "messages". `name` is what an error begins with; it names the message.
StatusOr<Conversation> ParseConversation(std::string_view json, const std::string& name);

inline constexpr uint64_t kMostConversationBytes = 64u << 20;

}  // namespace motley
