// Progress: how far a long task is, on a terminal as a bar that redraws itself, elsewhere nothing.
// One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "tools/motley/output.h"

namespace motley {

class Progress {
 public:
  // `what`: "loading model.gguf". Silent unless stderr is a terminal that can redraw a line, and with -q.
  // `unit` "": bytes.
  Progress(const Output& out, std::string what, std::string unit = "");
  ~Progress();  // clears the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `total` 0: nobody knows.
  void Update(uint64_t done, uint64_t total);

 private:
  std::string Amount(double value) const;

  std::string what_, unit_;
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_, last_;
};

}  // namespace motley
