// Messages made ready for a template.
//
// A template gets them as they came. Where it fails, or writes one of the forms as data into the prompt (the word
// None, a Python list, arguments as a quoted string), it does not know that form, and gets it in the common one.
#include <utility>

#include "core/text/chat_data.h"
#include "core/text/template/json_read.h"

namespace motley {
namespace {

using jinja::Dict;
using jinja::Type;
using jinja::Value;

const Value* Find(const Value& dict, std::string_view key) { return dict.is_dict() ? dict.dict().Find(key) : nullptr; }

// A dict like `dict`, with another value for a key.
Value With(const Value& dict, std::string_view key, Value value) {
  auto* copy = new Dict(dict.dict());
  copy->refs = 0;
  Value result = Value::Of(Type::kDict, copy);
  copy->Set(Value::String(key, true), std::move(value));
  return result;
}

// The tool calls of a message: where the function's values stand, in the call or in its "function".
template <typename Change>
Value WithArguments(const Value& message, const Change& change) {
  const Value* calls = Find(message, "tool_calls");
  if (calls == nullptr || !calls->is_list()) return message;
  std::vector<Value> changed;
  for (const Value& call : calls->items()) {
    const Value* function = Find(call, "function");
    const bool inside = function != nullptr && function->is_dict();
    const Value& holder = inside ? *function : call;
    const Value* arguments = Find(holder, "arguments");
    if (arguments == nullptr || !arguments->is_str()) {
      changed.push_back(call);
      continue;
    }
    Value with = With(holder, "arguments", change(*arguments));
    changed.push_back(inside ? With(call, "function", std::move(with)) : std::move(with));
  }
  return With(message, "tool_calls", jinja::NewList(std::move(changed)));
}

// JSON text that is an object; anything else stays text.
Value ParsedArguments(const Value& text) {
  auto parsed = jinja::ReadJson(text.view(), "arguments", /*trusted=*/false);
  return parsed.ok() && parsed->is_dict() ? *std::move(parsed) : text;
}

StatusOr<Value> PartsText(const Value& parts, size_t message) {
  jinja::Text text;
  for (size_t i = 0; i < parts.items().size(); ++i) {
    const Value& part = parts.items()[i];
    const Value* words = part.is_str() ? &part : Find(part, "text");
    if (words == nullptr || !words->is_str()) {
      const Value* type = Find(part, "type");
      return InvalidArgumentError("messages[" + std::to_string(message) + "].content[" + std::to_string(i) +
                                  "] is " + (type != nullptr && type->is_str() ? "of type " + std::string(type->view()) : "no text") +
                                  ": this template takes text alone");
    }
    text.Append(words->str().text);
  }
  return Value::String(std::move(text));
}

bool LacksContent(const Value& message) {
  const Value* content = Find(message, "content");
  if (content != nullptr) return content->is_none();
  const Value* calls = Find(message, "tool_calls");
  return calls != nullptr && calls->is_list() && !calls->items().empty();
}

}  // namespace

ChatForms FormsIn(const std::vector<Value>& messages) {
  ChatForms forms;
  for (const Value& message : messages) {
    const Value* content = Find(message, "content");
    forms.null_content = forms.null_content || LacksContent(message);
    forms.parts = forms.parts || (content != nullptr && content->is_list());
    WithArguments(message, [&](const Value& arguments) {
      forms.string_arguments = forms.string_arguments || ParsedArguments(arguments).is_dict();
      return arguments;
    });
  }
  return forms;
}

StatusOr<std::vector<Value>> PrepareMessages(const std::vector<Value>& messages, const ChatForms& change) {
  std::vector<Value> prepared;
  for (size_t i = 0; i < messages.size(); ++i) {
    Value message = WithArguments(messages[i], [&](const Value& arguments) {
      return change.string_arguments ? ParsedArguments(arguments) : arguments.Watched();
    });
    const Value* content = Find(message, "content");
    if (LacksContent(message)) {
      if (change.null_content) {
        message = With(message, "content", Value::String("", false));
      } else if (content != nullptr) {
        message = With(message, "content", content->Watched());
      }
    } else if (content != nullptr && content->is_list()) {
      Value text = content->Watched();
      if (change.parts) {
        MOTLEY_ASSIGN_OR_RETURN(text, PartsText(*content, i));
      }
      message = With(message, "content", std::move(text));
    }
    prepared.push_back(std::move(message));
  }
  return prepared;
}

}  // namespace motley
