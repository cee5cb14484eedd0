#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "core/text/json_slice.h"
#include "core/text/tool_call_body.h"
#include "core/text/utf8.h"

namespace motley {
namespace {

namespace json = boost::json;

const json::object* ObjectAt(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains({key.data(), key.size()});
  return value == nullptr ? nullptr : value->if_object();
}

uint32_t TypeNamed(std::string_view name) {
  if (name == "string") return ToolSchemas::kString;
  if (name == "number" || name == "integer") return ToolSchemas::kNumber;
  if (name == "boolean") return ToolSchemas::kBoolean;
  if (name == "null") return ToolSchemas::kNull;
  if (name == "object") return ToolSchemas::kObject;
  if (name == "array") return ToolSchemas::kArray;
  return 0;
}

uint32_t TypeOf(const json::value& value) {
  switch (value.kind()) {
    case json::kind::string: return ToolSchemas::kString;
    case json::kind::bool_: return ToolSchemas::kBoolean;
    case json::kind::null: return ToolSchemas::kNull;
    case json::kind::object: return ToolSchemas::kObject;
    case json::kind::array: return ToolSchemas::kArray;
    default: return ToolSchemas::kNumber;
  }
}

// Of "type", else of the alternatives, else of the values listed. 0 = not said, or said by reference.
uint32_t TypesOfSchema(const json::object& schema, size_t depth = 0) {
  uint32_t types = 0;
  if (const json::value* type = schema.if_contains("type")) {
    if (const json::string* name = type->if_string()) types |= TypeNamed(*name);
    if (const json::array* names = type->if_array()) {
      for (const json::value& name : *names) {
        if (name.is_string()) types |= TypeNamed(name.get_string());
      }
    }
    return types;
  }
  for (const char* alternatives : {"anyOf", "oneOf"}) {
    const json::value* list = schema.if_contains(alternatives);
    if (list == nullptr || !list->is_array() || depth == kMaxJsonDepth) continue;
    for (const json::value& branch : list->get_array()) {
      const json::object* object = branch.if_object();
      const uint32_t more = object == nullptr ? 0 : TypesOfSchema(*object, depth + 1);
      if (more == 0) return 0;
      types |= more;
    }
    if (types != 0) return types;
  }
  if (const json::value* values = schema.if_contains("enum"); values != nullptr && values->is_array()) {
    for (const json::value& value : values->get_array()) types |= TypeOf(value);
  }
  return types;
}

}  // namespace

StatusOr<ToolSchemas> ToolSchemas::Parse(std::string_view tools) {
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  boost::system::error_code error;
  const json::value parsed = json::parse({tools.data(), tools.size()}, error, {}, options);
  if (error) return InvalidArgumentError("tools: is no JSON: " + error.message());
  if (!parsed.is_array()) return InvalidArgumentError("tools: must be a JSON array of functions");
  ToolSchemas schemas;
  for (size_t i = 0; i < parsed.get_array().size(); ++i) {
    const std::string where = "tools[" + std::to_string(i) + "]";
    const json::object* tool = parsed.get_array()[i].if_object();
    if (tool == nullptr) return InvalidArgumentError(where + ": must be an object");
    const json::object* function = tool->contains("function") ? ObjectAt(*tool, "function") : tool;
    if (function == nullptr) return InvalidArgumentError(where + ".function: must be an object");
    const json::value* name = function->if_contains("name");
    if (name == nullptr || !name->is_string() || name->get_string().empty()) {
      return InvalidArgumentError(where + (function == tool ? "" : ".function") + ".name: must be a text");
    }
    auto& arguments = schemas.tools_[std::string(name->get_string())];
    const json::object* parameters = ObjectAt(*function, "parameters");
    const json::object* properties = parameters == nullptr ? nullptr : ObjectAt(*parameters, "properties");
    if (properties == nullptr) continue;
    for (const auto& property : *properties) {
      const json::object* schema = property.value().if_object();
      arguments[std::string(property.key())] = schema == nullptr ? 0 : TypesOfSchema(*schema);
    }
  }
  return schemas;
}

uint32_t ToolSchemas::TypesOf(std::string_view tool, std::string_view argument) const {
  const auto found = tools_.find(tool);
  if (found == tools_.end()) return 0;
  const auto types = found->second.find(argument);
  return types == found->second.end() ? 0 : types->second;
}

}  // namespace motley
