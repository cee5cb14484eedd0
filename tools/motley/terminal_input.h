// TerminalInput: bytes from a terminal, and the signals that come while one waits for them, in one place.
#pragma once

#include <string>

#include "core/base/status.h"
#include "tools/motley/interrupt.h"

namespace motley {

class TerminalInput {
 public:
  // Reads `fd`, which is borrowed.
  TerminalInput(int fd, Interrupt& interrupt);
  ~TerminalInput();
  TerminalInput(const TerminalInput&) = delete;
  TerminalInput& operator=(const TerminalInput&) = delete;

  enum class Event { kBytes, kInterrupt, kResize, kEnd };
  // Waits; new bytes are put behind `bytes`. kEnd: the end of the input, or the process is to end.
  Event Wait();

  // What was read and not taken yet: the user of this object takes from the front.
  std::string bytes;

  // While one of these lives, signals come to Wait. Behind it they set the flag alone.
  class Listening {
   public:
    explicit Listening(TerminalInput& input);
    ~Listening();
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

   private:
    TerminalInput& input_;
  };

 private:
  void Wake(char why) const;

  int fd_;
  Interrupt& interrupt_;
  int wake_read_ = -1, wake_write_ = -1;
};

}  // namespace motley
