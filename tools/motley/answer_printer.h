// AnswerPrinter: an answer as it comes, for a person or a pipe.
//
// On a terminal thinking is dim (where there are no colours, it stands between marks), and control characters
// of the model are made harmless. In a pipe or a file stdout is the answer's bytes and nothing else; thinking
// is then shown on stderr where that is a terminal.
#pragma once

#include <string>
#include <string_view>

#include "tools/motley/chat_model.h"
#include "tools/motley/output.h"
#include "tools/motley/terminal_text.h"
#include "tools/motley/waiting_note.h"

namespace motley {

class AnswerPrinter {
 public:
  AnswerPrinter(Output& out, Interrupt& interrupt);
  ~AnswerPrinter() { End(); }
  AnswerPrinter(const AnswerPrinter&) = delete;
  AnswerPrinter& operator=(const AnswerPrinter&) = delete;

  // What tells this object of an answer; it must outlive the sink.
  AnswerSink Sink();
  void Print(std::string_view text, Channel channel);
  // The line's end, once.
  void End();

 private:
  void PrintAnswer(std::string_view text);
  void PrintReasoning(std::string_view text);
  void EndReasoning();
  void ToTerminal(std::string_view text);  // where reasoning is shown
  bool coloured() const { return on_stdout_ ? out_.coloured() : out_.coloured_messages(); }

  Output& out_;
  const bool on_stdout_;  // stdout is a terminal: all of it is shown there
  const bool show_reasoning_;
  TerminalText safe_;
  bool reasoning_ = false;  // is being shown
  bool ended_ = false;
  char last_ = '\n';  // of the answer's characters
  char last_reasoning_ = '\n';
  bool any_ = false;
  WaitingNote waiting_;
  const Interrupt::Undo plain_;  // a process that ends at once leaves no dim terminal behind
};

}  // namespace motley
