#include "core/text/tool_arguments.h"

#include <algorithm>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "core/text/json_slice.h"
#include "core/text/tag_match.h"

namespace motley {
namespace {

// Of a JSON text.
uint32_t TypeOfText(std::string_view json) {
  switch (json.front()) {
    case '{': return ToolSchemas::kObject;
    case '[': return ToolSchemas::kArray;
    case '"': return ToolSchemas::kString;
    case 't':
    case 'f': return ToolSchemas::kBoolean;
    case 'n': return ToolSchemas::kNull;
    default: return ToolSchemas::kNumber;
  }
}

// As Python prints them, and templates with it; "" = none of them.
std::string_view PythonWord(std::string_view text, uint32_t types) {
  if ((types & ToolSchemas::kBoolean) != 0 && text == "True") return "true";
  if ((types & ToolSchemas::kBoolean) != 0 && text == "False") return "false";
  if ((types & ToolSchemas::kNull) != 0 && text == "None") return "null";
  return "";
}

std::string ValueText(std::string_view written, uint32_t types) {
  if (types == ToolSchemas::kString) return JsonString(written);
  const std::string_view text = Trimmed(written);
  if (const std::string_view word = PythonWord(text, types); !word.empty()) return std::string(word);
  const std::string json = EscapeControls(text);
  if (json.empty() || !IsJson(json)) return JsonString(written);
  const uint32_t type = TypeOfText(json);
  // Strings are written without quotes, so those that are there belong to the text. And where a string will
  // do, only the other types that the schema names are read out of the text.
  const bool may_be_string = types == 0 || (types & ToolSchemas::kString) != 0;
  if (type == ToolSchemas::kString && may_be_string) return JsonString(written);
  if (types != 0 && (types & type) == 0 && may_be_string) return JsonString(written);
  return json;
}

}  // namespace

bool ParseJsonString(std::string_view json, std::string* out) {
  if (json.empty() || json.front() != '"') return false;
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse({json.data(), json.size()}, error);
  if (error || !value.is_string()) return false;
  out->assign(value.get_string().data(), value.get_string().size());
  return true;
}

void ToolArguments::Add(std::string_view tool, std::string_view key, std::string_view value) {
  Set(key, ValueText(value, tools_.TypesOf(tool, key)));
}

void ToolArguments::AddString(std::string_view key, std::string_view value) {
  Set(key, JsonString(value));
}

void ToolArguments::Set(std::string_view key, std::string json) {
  const auto same =
      std::find_if(values_.begin(), values_.end(), [&](const auto& v) { return v.first == key; });
  if (same != values_.end()) {
    same->second = std::move(json);
  } else {
    values_.emplace_back(key, std::move(json));
  }
}

std::string ToolArguments::Json() const {
  std::string out = "{";
  for (const auto& [key, json] : values_) {
    if (out.size() > 1) out += ", ";
    out += JsonString(key) + ": " + json;
  }
  return out + "}";
}

}  // namespace motley
