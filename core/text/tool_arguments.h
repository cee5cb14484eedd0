// ToolArguments: the arguments of one call, from values as models write them without quotes, to a JSON
// object.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/tool_call_body.h"

namespace motley {

// The string that a JSON text is; false where it is something else.
bool ParseJsonString(std::string_view json, std::string* out);

class ToolArguments {
 public:
  // `tools` must outlive this.
  explicit ToolArguments(const ToolSchemas& tools) : tools_(tools) {}

  // A later value of one name replaces the earlier one.
  void Add(std::string_view tool, std::string_view key, std::string_view value);
  void AddString(std::string_view key, std::string_view value);

  std::string Json() const;

 private:
  void Set(std::string_view key, std::string json);

  const ToolSchemas& tools_;
  std::vector<std::pair<std::string, std::string>> values_;  // name, JSON text
};

}  // namespace motley
