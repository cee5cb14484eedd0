// RunChild: a program as a child process, with what it says on stdout and stderr kept apart.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace motley::test {

struct ChildOptions {
  std::string input;                     // its stdin, then the end
  std::vector<std::string> environment;  // "NAME=value" beside the test's own
  int timeout_s = 120;                   // then it is killed
  std::string stdout_path;               // a file that takes its stdout; "" = kept in ChildResult
  // Called with what stdout held so far, each time there is more; true sends the signal, once.
  std::function<bool(std::string_view so_far)> signal_when;
  int signal = 0;
};

struct ChildResult {
  int exit_code = -1;  // -1: ended by a signal, or killed
  int signal = 0;      // that ended it
  std::string out, err;
  // Most resident memory at once, mapped pages of files included; no less than what the parent had when it forked.
  uint64_t peak_bytes = 0;
};

ChildResult RunChild(const std::vector<std::string>& command, const ChildOptions& options = {});

}  // namespace motley::test
