// WaitingNote: a line on a terminal while there is nothing else to see: a long prompt that is being read.
#pragma once

#include <chrono>
#include <string>

#include "tools/motley/output.h"

namespace motley {

class WaitingNote {
 public:
  // Silent unless stderr is a terminal that can redraw a line, and with -q.
  WaitingNote(const Output& out, std::string what);
  ~WaitingNote() { Clear(); }
  WaitingNote(const WaitingNote&) = delete;
  WaitingNote& operator=(const WaitingNote&) = delete;

  // The waiting goes on; shown once it has taken a second.
  void Step();
  // It is over: the line goes.
  void Clear();

 private:
  std::string what_;
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_, last_;
};

}  // namespace motley
