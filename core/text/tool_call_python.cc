// Calls as Llama writes them for the tools that it was trained with: f.call(k="v", n=3)
#include <utility>

#include "core/text/tag_match.h"
#include "core/text/tool_arguments.h"
#include "core/text/tool_call_body.h"

namespace motley {
namespace {

class PythonBody : public ToolCallBody {
 public:
  explicit PythonBody(const ToolSchemas& tools) : tools_(tools) {}

  Result Read(std::string_view text, bool) override {
    const size_t begin = SkipSpace(text, 0);
    if (begin == std::string_view::npos) return Result::kMore;
    const size_t open = text.find('(', begin);
    if (std::min(open, text.size()) - begin > kMaxNameBytes) return Result::kBad;
    if (open == std::string_view::npos) return Result::kMore;
    const std::string_view head = text.substr(begin, open - begin);
    if (head.size() <= kCall.size() || head.substr(head.size() - kCall.size()) != kCall) return Result::kBad;
    call_.name = head.substr(0, head.size() - kCall.size());
    if (!IsName(call_.name)) return Result::kBad;
    ToolArguments arguments(tools_);
    const Result result = ReadPythonArguments(text, open + 1, call_.name, &arguments, &used_);
    if (result == Result::kDone) call_.arguments = arguments.Json();
    return result;
  }

 private:
  static constexpr std::string_view kCall = ".call";

  // k=v, ... ) from `at` on.
  static Result ReadPythonArguments(std::string_view text, size_t at, std::string_view tool,
                                    ToolArguments* arguments, size_t* used) {
    for (;;) {
      at = SkipSpace(text, at);
      if (at == std::string_view::npos) return Result::kMore;
      if (text[at] == ')') {
        *used = at + 1;
        return Result::kDone;
      }
      const size_t equals = text.find('=', at);
      if (std::min(equals, text.size()) - at > kMaxNameBytes) return Result::kBad;
      if (equals == std::string_view::npos) return Result::kMore;
      const std::string key(Trimmed(text.substr(at, equals - at)));
      if (!IsName(key)) return Result::kBad;
      at = SkipSpace(text, equals + 1);
      if (at == std::string_view::npos) return Result::kMore;
      const size_t end = PythonValueEnd(text, at);
      if (end == std::string_view::npos) return Result::kMore;
      if (text[at] == '"' || text[at] == '\'') {
        arguments->AddString(key, UnquotePython(text.substr(at, end - at)));
      } else {
        arguments->Add(tool, key, Trimmed(text.substr(at, end - at)));
      }
      at = SkipSpace(text, end);
      if (at == std::string_view::npos) return Result::kMore;
      if (text[at] == ',')
        ++at;
      else if (text[at] != ')')
        return Result::kBad;
    }
  }

  // Behind a string, or before the comma or bracket that ends another value.
  static size_t PythonValueEnd(std::string_view text, size_t at) {
    const char quote = text[at];
    if (quote != '"' && quote != '\'') return text.find_first_of(",)", at);
    for (++at; at < text.size(); ++at) {
      if (text[at] == '\\')
        ++at;
      else if (text[at] == quote)
        return at + 1;
    }
    return std::string_view::npos;
  }

  static std::string UnquotePython(std::string_view quoted) {
    std::string out;
    for (size_t i = 1; i + 1 < quoted.size(); ++i) {
      if (quoted[i] != '\\') {
        out.push_back(quoted[i]);
        continue;
      }
      const char c = quoted[++i];
      if (c == 'n')
        out.push_back('\n');
      else if (c == 't')
        out.push_back('\t');
      else if (c == '\\' || c == '"' || c == '\'')
        out.push_back(c);
      else
        out += {'\\', c};
    }
    return out;
  }

  const ToolSchemas& tools_;
};

}  // namespace

std::unique_ptr<ToolCallBody> NewPythonBody(const ToolSchemas& tools) {
  return std::make_unique<PythonBody>(tools);
}

}  // namespace motley
