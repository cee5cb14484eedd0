#include "tools/motley/answer_printer.h"

#include <unistd.h>

namespace motley {

AnswerPrinter::AnswerPrinter(Output& out, Interrupt& interrupt)
    : out_(out),
      on_stdout_(out.stdout_is_terminal()),
      show_reasoning_(on_stdout_ || (out.stderr_is_terminal() && !out.quiet)),
      waiting_(out, "reading the prompt"),
      plain_(interrupt, [fd = on_stdout_ ? STDOUT_FILENO : STDERR_FILENO, styled = coloured()] {
        if (styled && write(fd, kPlain.data(), kPlain.size()) < 0) return;  // nobody is there
      }) {}

AnswerSink AnswerPrinter::Sink() {
  return {[this](int32_t, std::string_view text, Channel channel) { Print(text, channel); },
          [this] { waiting_.Step(); }};
}

void AnswerPrinter::Print(std::string_view text, Channel channel) {
  waiting_.Clear();
  if (text.empty() || ended_) return;
  if (channel == Channel::kReasoning) {
    if (show_reasoning_) PrintReasoning(text);
    return;
  }
  EndReasoning();
  PrintAnswer(text);
}

void AnswerPrinter::PrintAnswer(std::string_view text) {
  const std::string safe = on_stdout_ ? safe_.Push(text) : std::string(text);
  out_.PrintExact(safe);
  out_.Flush();
  any_ = true;
  if (!safe.empty()) last_ = safe.back();
}

void AnswerPrinter::PrintReasoning(std::string_view text) {
  std::string safe;
  if (!reasoning_) safe = coloured() ? std::string(kDim) : "[thinking]\n";
  reasoning_ = true;
  safe += safe_.Push(text);
  ToTerminal(safe);
  if (!safe.empty()) last_reasoning_ = safe.back();
}

void AnswerPrinter::EndReasoning() {
  if (!reasoning_) return;
  reasoning_ = false;
  std::string end = safe_.Flush();
  if (last_reasoning_ != '\n') end += "\n";
  end += coloured() ? std::string(kPlain) + "\n" : "[answer]\n";
  ToTerminal(end);
}

void AnswerPrinter::End() {
  if (ended_) return;
  waiting_.Clear();
  EndReasoning();
  ended_ = true;
  const std::string rest = safe_.Flush();
  out_.PrintExact(rest);
  if (!rest.empty()) last_ = rest.back();
  if (any_ && last_ != '\n') out_.PrintExact("\n");
  out_.Flush();
}

void AnswerPrinter::ToTerminal(std::string_view text) {
  if (on_stdout_) {
    out_.PrintExact(text);
    out_.Flush();
  } else {
    out_.NotePart(text);
  }
}

}  // namespace motley
