// The bodies of tool calls, as models write them, to a name and arguments in JSON.
//
//   JSON (Qwen, Hermes, Llama)  {"name": "f", "arguments": {...}}, also "parameters"
//   pairs (GLM)                 f<arg_key>k</arg_key><arg_value>v</arg_value>..., white space between; v is
//   the text
//                               itself of a string, else JSON
//   function (Qwen3-Coder)      <function=f><parameter=k>\nv\n</parameter>...</function>
//   call (Llama's own tools)    f.call(k="v", ...)
// The first three stand before </tool_call>. What a value without quotes is, the tool's schema decides;
// without one it is JSON where it can be, else a string.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace motley {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // a JSON object, valid always
};

// What tools take, from their JSON schemas. Immutable.
class ToolSchemas {
 public:
  // JSON types, as bits.
  enum Type : uint32_t { kString = 1, kNumber = 2, kBoolean = 4, kNull = 8, kObject = 16, kArray = 32 };

  ToolSchemas() = default;  // no tool is known
  // `tools`: OpenAI's form, a JSON array of {"type":"function","function":{"name":...,"parameters":SCHEMA}};
  // the functions alone will do. INVALID_ARGUMENT names what is wrong: tools[2].function.name.
  static StatusOr<ToolSchemas> Parse(std::string_view tools);

  bool empty() const { return tools_.empty(); }
  bool Has(std::string_view name) const { return tools_.find(name) != tools_.end(); }
  // The types that an argument may have; 0 = not said.
  uint32_t TypesOf(std::string_view tool, std::string_view argument) const;

 private:
  std::map<std::string, std::map<std::string, uint32_t, std::less<>>, std::less<>> tools_;
};

// One body, read as it grows.
class ToolCallBody {
 public:
  enum class Result : uint8_t { kMore, kBad, kDone };

  virtual ~ToolCallBody() = default;
  // `text`: all that came behind the opening, longer each time. `final`: nothing more comes. kDone sets
  // used(), the bytes of the body with its closing tag. The result for a text does not depend on the calls
  // before.
  virtual Result Read(std::string_view text, bool final) = 0;
  size_t used() const { return used_; }
  // After kDone. The id is left empty.
  const ToolCall& call() const { return call_; }

 protected:
  size_t used_ = 0;
  ToolCall call_;
};

// A body before </tool_call>, whichever of the three forms it has.
std::unique_ptr<ToolCallBody> NewTaggedBody(const ToolSchemas& tools);
// JSON or a call, with nothing behind. Where tools are known it must be one of them, as any JSON may look
// like a call.
std::unique_ptr<ToolCallBody> NewBareBody(const ToolSchemas& tools);
// The call alone.
std::unique_ptr<ToolCallBody> NewPythonBody(const ToolSchemas& tools);

}  // namespace motley
