#include "tools/motley/line_reader.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "core/text/utf8.h"
#include "tools/motley/message_text.h"
#include "tools/motley/terminal_input.h"

namespace motley {
namespace {

// A terminal that cannot move its cursor: the system's own line editing, and nothing sent but a prompt.
class PlainReader final : public LineReader {
 public:
  PlainReader(Interrupt& interrupt, int prompt_fd) : input_(STDIN_FILENO, interrupt), prompt_fd_(prompt_fd) {}

  TypedMessage Read(const std::vector<std::string>&) override {
    const TerminalInput::Listening listening(input_);
    std::string message;
    Prompt("> ");
    for (;;) {
      size_t end = 0;
      while ((end = input_.bytes.find('\n')) == std::string::npos) {
        switch (input_.Wait()) {
          case TerminalInput::Event::kBytes:
          case TerminalInput::Event::kResize: continue;
          case TerminalInput::Event::kInterrupt: return {TypedMessage::kInterrupt, message};
          case TerminalInput::Event::kEnd: break;
        }
        if (message.empty() && input_.bytes.empty()) return {TypedMessage::kEnd, ""};
        end = input_.bytes.size();  // what was typed before the end is a message
        break;
      }
      message += ToValidUtf8(std::string_view(input_.bytes).substr(0, end));
      const bool last = end == input_.bytes.size();
      input_.bytes.erase(0, end + 1);
      if (last || !MessageGoesOn(message)) return {TypedMessage::kMessage, MessageOf(message)};
      message = ContinuedMessage(message);
      Prompt(". ");
    }
  }

 private:
  void Prompt(std::string_view text) const {
    if (prompt_fd_ >= 0 && write(prompt_fd_, text.data(), text.size()) < 0) return;  // nobody sees it
  }

  TerminalInput input_;
  int prompt_fd_;
};

}  // namespace

std::unique_ptr<LineReader> MakePlainReader(Interrupt& interrupt, int prompt_fd) {
  return std::make_unique<PlainReader>(interrupt, prompt_fd);
}

std::unique_ptr<LineReader> MakeLineReader(const Output& out, Interrupt& interrupt, Completer completer) {
  const bool on_stdout = out.stdout_is_terminal();
  const bool visible = on_stdout || out.stderr_is_terminal();
  if (visible && out.stdin_is_terminal() && out.terminal_can_edit()) {
    auto reader =
        MakeEditedReader(interrupt, on_stdout ? stdout : stderr,
                         on_stdout ? out.coloured() : out.coloured_messages(), std::move(completer));
    if (reader != nullptr) return reader;
  }
  return MakePlainReader(interrupt, !visible ? -1 : on_stdout ? STDOUT_FILENO : STDERR_FILENO);
}

}  // namespace motley
