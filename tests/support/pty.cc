#include "tests/support/pty.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace motley::test {
namespace {

constexpr std::string_view kPasteOn = "\x1b[?2004h", kPrompt = "[PROMPT]";

// Bytes of the escape sequence that `text` begins with.
size_t EscapeLength(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == '[') {  // ends in one of @ to ~
    for (size_t i = 2; i < text.size(); ++i) {
      if (text[i] >= '@' && text[i] <= '~') return i + 1;
    }
    return text.size();
  }
  if (text[1] == ']') {  // ends in BEL or ESC backslash
    const size_t bell = text.find('\a'), string_end = text.find("\x1b\\", 2);
    return std::min({bell == std::string_view::npos ? text.size() : bell + 1,
                     string_end == std::string_view::npos ? text.size() : string_end + 2});
  }
  return text[1] == '(' || text[1] == ')' ? std::min<size_t>(3, text.size()) : 2;
}

}  // namespace

std::string VisibleText(std::string_view raw, std::vector<size_t>* at) {
  std::string text;
  const auto add = [&](std::string_view part, size_t where) {
    text += part;
    if (at != nullptr) at->insert(at->end(), part.size(), where);
  };
  for (size_t i = 0; i < raw.size();) {
    if (raw.substr(i, kPasteOn.size()) == kPasteOn) {
      add(kPrompt, i);
      i += kPasteOn.size();
    } else if (raw[i] == '\x1b') {
      i += EscapeLength(raw.substr(i));
    } else {
      if (raw[i] != '\r') add(raw.substr(i, 1), i);
      ++i;
    }
  }
  return text;
}

Pty::Pty(const std::vector<std::string>& command, const PtyOptions& options) : options_(options) {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(options.rows);
  size.ws_col = static_cast<unsigned short>(options.columns);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  child_ = forkpty(&terminal_, nullptr, nullptr, &size);
  if (child_ < 0) throw std::runtime_error("no pseudo-terminal");
  if (child_ > 0) return;
  for (const std::string& variable : options_.environment) putenv(const_cast<char*>(variable.c_str()));
  execv(argv[0], argv.data());
  _exit(127);
}

Pty::~Pty() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  close(terminal_);
}

void Pty::Send(std::string_view keys) {
  while (!keys.empty()) {
    const ssize_t count = write(terminal_, keys.data(), keys.size());
    if (count <= 0) return;
    keys.remove_prefix(static_cast<size_t>(count));
    ReadSome(0);  // a program that waits for its output to be read takes no input
  }
}

bool Pty::ReadSome(int wait_ms) {
  pollfd fd{terminal_, POLLIN, 0};
  if (closed_ || poll(&fd, 1, wait_ms) <= 0) return !closed_;
  char buffer[4096];
  const ssize_t count = read(terminal_, buffer, sizeof(buffer));
  if (count <= 0) {  // EIO: nobody has the terminal open
    closed_ = true;
  } else {
    raw_.append(buffer, static_cast<size_t>(count));
  }
  return !closed_;
}

testing::AssertionResult Pty::WaitFor(std::string_view text) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(options_.timeout_s);
  for (bool more = true;;) {
    std::vector<size_t> at;
    const std::string visible = VisibleText(std::string_view(raw_).substr(found_), &at);
    const size_t where = visible.find(text);
    if (where != std::string::npos) {
      const size_t next = where + text.size();
      found_ = next < at.size() ? found_ + at[next] : raw_.size();
      return testing::AssertionSuccess();
    }
    if (!more || std::chrono::steady_clock::now() > deadline)
      return testing::AssertionFailure() << (more ? "no \"" : "the program ended without \"") << text
                                         << "\" behind what was found before; there is: " << visible;
    more = ReadSome(100);
  }
}

testing::AssertionResult Pty::WaitUntil(const std::function<bool()>& there) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(options_.timeout_s);
  while (!there()) {
    if (std::chrono::steady_clock::now() > deadline)
      return testing::AssertionFailure() << "it did not happen; there is: " << VisibleText(raw_);
    ReadSome(1);
  }
  return testing::AssertionSuccess();
}

int Pty::WaitExit() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(options_.timeout_s);
  int status = 0;
  while (waitpid(child_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) return -1000;
    if (!ReadSome(20)) usleep(5000);
  }
  child_ = -1;
  while (ReadSome(0) && !closed_) {
    pollfd fd{terminal_, POLLIN, 0};
    if (poll(&fd, 1, 0) <= 0) break;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void Pty::Resize(int rows, int columns) {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  ioctl(terminal_, TIOCSWINSZ, &size);
}

void Pty::Signal(int signal) const {
  if (child_ > 0) kill(child_, signal);
}

bool Pty::InShellModes() const {
  termios modes{};
  if (tcgetattr(terminal_, &modes) != 0) return false;
  constexpr tcflag_t kWanted = ECHO | ICANON | ISIG;
  return (modes.c_lflag & kWanted) == kWanted;
}

}  // namespace motley::test
