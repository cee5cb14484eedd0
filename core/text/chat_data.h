// What a ChatInput holds, and how it is made ready for a template: between chat_input.cc, chat_prepare.cc and
// chat_template.cc.
#pragma once

#include <vector>

#include "core/text/chat_template.h"
#include "core/text/template/budget.h"
#include "core/text/template/interp.h"

namespace motley {

struct ChatInput::Data {
  std::vector<jinja::Value> messages;  // dicts
  jinja::Value tools;                  // a list; missing = none
  jinja::Interp::Context variables;
  uint64_t bytes = 0;                  // of the texts that came in
};

// OpenAI's form has three things that many templates do not know. What is set here is changed into what all know.
struct ChatForms {
  bool null_content = false;      // content null, or missing beside tool calls: becomes ""
  bool parts = false;             // content as a list of text parts: becomes their text
  bool string_arguments = false;  // arguments of tool calls as JSON text: become the object

  bool any() const { return null_content || parts || string_arguments; }
};

// Which of them are in the messages at all.
ChatForms FormsIn(const std::vector<jinja::Value>& messages);

// The messages with the forms in `change` changed, and the others watched (Value::Watched). An error where a part is
// no text.
StatusOr<std::vector<jinja::Value>> PrepareMessages(const std::vector<jinja::Value>& messages, const ChatForms& change);

}  // namespace motley
