// An answer out of one input: nothing that a model writes is an error, calls have JSON arguments, and the
// parts do not depend on where the pieces were cut.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/text/answer_parser.h"
#include "core/text/json_slice.h"
#include "core/text/utf8.h"

namespace motley {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// The parts as one text, those of one kind joined.
class Collected {
 public:
  void Add(const std::vector<AnswerPart>& parts) {
    for (const AnswerPart& part : parts) {
      if (part.kind == AnswerPart::Kind::kToolCall) {
        Require(IsJson(part.call.arguments) && part.call.arguments.front() == '{' && !part.call.name.empty());
        text_ += "\x01T" + part.call.id + part.call.name + part.call.arguments;
      } else {
        if (part.kind != last_ || text_.empty())
          text_ += part.kind == AnswerPart::Kind::kReasoning ? "\x01R" : "\x01C";
        text_ += part.text;
      }
      last_ = part.kind;
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  AnswerPart::Kind last_ = AnswerPart::Kind::kToolCall;
};

void Parse(FuzzedDataProvider* input) {
  AnswerFormat format;
  format.think_open = "<think>";
  format.think_close = "</think>";
  format.tools = static_cast<ToolSyntax>(input->ConsumeIntegralInRange(0, 2));
  format.start = static_cast<AnswerStart>(input->ConsumeIntegralInRange(0, 2));
  std::vector<size_t> cuts(input->ConsumeIntegralInRange<size_t>(0, 12));
  for (size_t& cut : cuts) cut = input->ConsumeIntegralInRange<size_t>(0, 40);
  const auto tools = ToolSchemas::Parse(
      R"([{"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": ["number", "null"]}}}}])");
  const std::string answer = input->ConsumeRemainingBytesAsString();
  std::vector<AnswerPart> parts;
  Collected whole, pieces;
  AnswerParser at_once(format, &*tools);
  at_once.Push(answer, &parts);
  at_once.Finish(&parts);
  whole.Add(parts);
  AnswerParser cut_up(format, &*tools);
  size_t at = 0;
  for (size_t i = 0; at < answer.size(); ++i) {
    const size_t size = i < cuts.size() ? cuts[i] : 1;
    parts.clear();
    cut_up.Push(std::string_view(answer).substr(at, size), &parts);
    pieces.Add(parts);
    at += size;
  }
  parts.clear();
  cut_up.Finish(&parts);
  pieces.Add(parts);
  Require(pieces.text() == whole.text());
}

}  // namespace
}  // namespace motley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  if (input.ConsumeBool()) {
    motley::Parse(&input);
  } else {
    (void)motley::ToolSchemas::Parse(input.ConsumeRemainingBytesAsString());
  }
  return 0;
}
