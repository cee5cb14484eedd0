// Python's str(), repr() and json.dumps() of values.
//
// What a container's brackets and quotes add is not trusted; what it holds keeps its origin.
#pragma once

#include <optional>
#include <string>

#include "core/text/template/budget.h"
#include "core/text/template/value.h"

namespace motley::jinja {

Status AppendStr(Budget& budget, const Value& value, Text* out);
Status AppendRepr(Budget& budget, const Value& value, Text* out);

// For a message: numbers and strings whole or cut, of others the type.
std::string ShortRepr(const Value& value);

struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  // of one level; absent: all on one line
  Text item_separator{", ", false};
  Text key_separator{": ", false};
  bool sort_keys = false;
};
Status AppendJson(Budget& budget, const Value& value, const JsonStyle& style, Text* out);

}  // namespace motley::jinja
