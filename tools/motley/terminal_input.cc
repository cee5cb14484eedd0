#include "tools/motley/terminal_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace motley {
namespace {

constexpr char kInterruptByte = 'i', kResizeByte = 'r';

}  // namespace

TerminalInput::TerminalInput(int fd, Interrupt& interrupt) : fd_(fd), interrupt_(interrupt) {
  int ends[2];
  // Full or not, a byte that waits there wakes as well as many: writing must not block the thread of the
  // signals.
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("no pipe: too many open files");
  wake_read_ = ends[0];
  wake_write_ = ends[1];
}

TerminalInput::~TerminalInput() {
  close(wake_read_);
  close(wake_write_);
}

void TerminalInput::Wake(char why) const {
  while (write(wake_write_, &why, 1) < 0 && errno == EINTR) {
  }
}

TerminalInput::Event TerminalInput::Wait() {
  for (;;) {
    if (interrupt_.terminated()) return Event::kEnd;
    pollfd fds[] = {{wake_read_, POLLIN, 0}, {fd_, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return Event::kEnd;
    char why = 0;
    if (fds[0].revents != 0 && read(wake_read_, &why, 1) == 1) {
      if (interrupt_.terminated()) return Event::kEnd;
      return why == kInterruptByte ? Event::kInterrupt : Event::kResize;
    }
    if (fds[1].revents == 0) continue;
    char buffer[4096];
    const ssize_t count = read(fd_, buffer, sizeof(buffer));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return Event::kEnd;
    bytes.append(buffer, static_cast<size_t>(count));
    return Event::kBytes;
  }
}

TerminalInput::Listening::Listening(TerminalInput& input) : input_(input) {
  char old[256];
  while (read(input.wake_read_, old, sizeof(old)) > 0) {  // of another wait
  }
  input.interrupt_.OnInterrupt([&input] { input.Wake(kInterruptByte); });
  input.interrupt_.OnResize([&input] { input.Wake(kResizeByte); });
}

TerminalInput::Listening::~Listening() {
  input_.interrupt_.OnResize(nullptr);
  input_.interrupt_.OnInterruptOnlySetFlag();
}

}  // namespace motley
