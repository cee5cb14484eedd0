// Pty: a program on a pseudo-terminal, as a person has it: what is sent is typed, what comes is what the
// terminal got.
//
//   Pty chat({MOTLEY_LAUNCHER, "run", "-m", model}, {.environment = {"TERM=xterm"}});
//   ASSERT_TRUE(chat.WaitFor("> "));
//   chat.Send("Hi\r");
//
// A test waits for output and never for time; the deadlines are for programs that hang.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>
#include <termios.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace motley::test {

struct PtyOptions {
  std::vector<std::string> environment;  // "NAME=value" beside the test's own; "NAME" takes one away
  int rows = 24, columns = 80;
  int timeout_s = 120;  // of each wait
};

class Pty {
 public:
  Pty(const std::vector<std::string>& command, const PtyOptions& options);
  ~Pty();  // kills what still runs
  Pty(const Pty&) = delete;
  Pty& operator=(const Pty&) = delete;

  void Send(std::string_view keys);
  // Waits until `text` is there, behind what earlier waits have found. Escape sequences and carriage returns
  // are left out before it looks; "bracketed paste on" shows as "[PROMPT]", so that a new prompt can be told
  // from an old one.
  testing::AssertionResult WaitFor(std::string_view text);
  // The same for something else than output.
  testing::AssertionResult WaitUntil(const std::function<bool()>& there);
  // The end of the program: its exit code, or minus the signal that ended it; -1000: it did not end.
  int WaitExit();

  // The program gets SIGWINCH.
  void Resize(int rows, int columns);
  void Signal(int signal) const;

  // All that came, as it came.
  const std::string& raw() const { return raw_; }
  // The modes that the terminal is in: whether it echoes, takes lines and makes signals of Ctrl-C, as a shell
  // wants it.
  bool InShellModes() const;

 private:
  bool ReadSome(int wait_ms);  // false: the other side is closed

  PtyOptions options_;
  pid_t child_ = -1;
  int terminal_ = -1;
  std::string raw_;
  size_t found_ = 0;  // in raw_: the end of what the last wait found
  bool closed_ = false;
};

// What is left of terminal output without escape sequences and carriage returns. With `at`: where each byte
// stood.
std::string VisibleText(std::string_view raw, std::vector<size_t>* at = nullptr);

}  // namespace motley::test
