// RunChild: a program of ours as a child process with a deadline, for work that may crash or hang.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace motley {

// How it ended, and what it said.
struct ChildRun {
  bool timed_out = false;  // and was killed
  int signal = 0;          // that ended it; 0 = none did
  int exit_code = -1;      // -1: ended by a signal or by the deadline
  std::string report;      // what it wrote to kReportFd
  std::string said;        // the last it wrote to stdout and stderr
};

// The descriptor on which the child reports.
inline constexpr int kReportFd = 3;

// Starts `program` (a path) in a process group of its own, with no descriptors but stdin (empty), stdout, stderr and
// kReportFd, and waits for its end. At the deadline the whole group is killed. Starts by posix_spawn, so that it may
// be called in a process with threads; any thread. An error says why the program could not be started.
StatusOr<ChildRun> RunChild(const std::string& program, const std::vector<std::string>& args, uint64_t timeout_ns);

}  // namespace motley
