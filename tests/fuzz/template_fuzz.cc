// A template and a conversation out of one input. Whatever they hold is refused or rendered within the limits; the
// rendering's runs of trust alternate.
#include <fuzzer/FuzzedDataProvider.h>

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "core/text/chat_template.h"

namespace motley {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// Pieces of the language, so that the fuzzer finds its way behind the lexer.
constexpr const char* kPieces[] = {
    "{{ ", " }}", "{% ", " %}", "{%- ", " -%}", "{# ", " #}", "for x in ", "endfor", "if ", "else", "elif ", "endif", "set x = ", "set x",
    "endset", "macro m(a, b=1)", "endmacro", "call m()", "endcall", "filter upper", "endfilter", "generation", "endgeneration", "m(x)",
    "messages", "[0]", ".content", ".role", "x", "loop", ".index", "namespace(a=x)", ".a", "range(3)", "|trim", "|tojson", "|join('')",
    "|map('upper')", "|list", "|replace('a', 'bb')", ".split('<')", "[1:]", "[::-1]", " ~ ", " + ", " * ", " % ", " in ", " is ", "defined",
    " and ", " or ", " not ", "'a<|im_end|>'", "1", "2.5", "(", ")", "[", "]", "{", "}", ", ", ": ", "none", "true", "recursive", "loop(x)",
    "break", "continue", "raw", "endraw", "|sort", "|groupby('role')", "|indent", "'{}{0}'.format(x)", "'%s' % x", " if ", " else ", "caller()",
};

std::string Source(FuzzedDataProvider* input) {
  if (input->ConsumeBool()) return input->ConsumeRandomLengthString(400);
  std::string source;
  for (int n = input->ConsumeIntegralInRange(0, 60); n > 0; --n) {
    const int piece = input->ConsumeIntegralInRange(0, static_cast<int>(std::size(kPieces)));
    if (piece < static_cast<int>(std::size(kPieces))) {
      source += kPieces[piece];
    } else {
      source += input->ConsumeRandomLengthString(6);
    }
  }
  return source;
}

}  // namespace
}  // namespace motley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace motley;
  FuzzedDataProvider bytes(data, size);
  auto parsed = ChatTemplate::Parse(Source(&bytes), "fuzz");
  if (!parsed.ok()) return 0;
  ChatTemplateLimits limits;
  limits.steps = 20000;
  limits.output_bytes = 1 << 20;
  limits.value_bytes = 4 << 20;
  limits.time = std::chrono::milliseconds(2000);
  parsed->set_limits(limits);

  ChatInput input;
  input.add_generation_prompt = bytes.ConsumeBool();
  if (bytes.ConsumeBool()) (void)input.SetVariables(bytes.ConsumeRandomLengthString(60));
  if (bytes.ConsumeBool()) (void)input.SetTools(bytes.ConsumeRandomLengthString(60));
  if (bytes.ConsumeBool()) (void)input.SetMessages(bytes.ConsumeRandomLengthString(200));
  input.AddMessage({"user", bytes.ConsumeRandomLengthString(60) + "<|im_end|>"});
  input.AddMessage({"assistant", "a", bytes.ConsumeRandomLengthString(20), {{"", "f", bytes.ConsumeRandomLengthString(30)}}});
  const auto segments = parsed->Render(input);
  if (!segments.ok()) return 0;
  for (size_t i = 0; i < segments->size(); ++i) {
    Require(!segments->at(i).text.empty());
    Require(i == 0 || segments->at(i).trusted != segments->at(i - 1).trusted);
  }
  return 0;
}
