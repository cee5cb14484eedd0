#include "tools/motley/waiting_note.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "tools/motley/terminal_text.h"

namespace motley {
namespace {

constexpr std::chrono::milliseconds kPatience{1000}, kRedraw{500};

}  // namespace

WaitingNote::WaitingNote(const Output& out, std::string what)
    : what_(std::move(what)),
      shown_(out.stderr_is_terminal() && out.terminal_can_edit() && !out.quiet),
      begin_(std::chrono::steady_clock::now()),
      last_(begin_) {}

void WaitingNote::Step() {
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || now - begin_ < kPatience || (drawn_ && now - last_ < kRedraw)) return;
  last_ = now;
  drawn_ = true;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begin_).count();
  const std::string line =
      FitInto(what_ + ", " + std::to_string(seconds) + " s", TerminalColumns(STDERR_FILENO) - 1);
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
}

void WaitingNote::Clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = shown_ = false;
}

}  // namespace motley
