#include "tests/support/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>

namespace motley::test {
namespace {

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }
  void CloseRead() { Close(&read_end); }
  void CloseWrite() { Close(&write_end); }
  static void Close(int* fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
};

[[noreturn]] void BecomeChild(const std::vector<std::string>& command, const ChildOptions& options,
                              const Pipe& in, const Pipe& out, const Pipe& err) {
  dup2(in.read_end, STDIN_FILENO);
  int out_fd = out.write_end;
  if (!options.stdout_path.empty()) out_fd = open(options.stdout_path.c_str(), O_WRONLY);
  dup2(out_fd, STDOUT_FILENO);
  dup2(err.write_end, STDERR_FILENO);
  for (const std::string& variable : options.environment) putenv(const_cast<char*>(variable.c_str()));
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

// Appends what there is; false at the end.
bool ReadSome(int fd, std::string* text) {
  char buffer[4096];
  const ssize_t count = read(fd, buffer, sizeof(buffer));
  if (count > 0) text->append(buffer, static_cast<size_t>(count));
  return count > 0;
}

}  // namespace

ChildResult RunChild(const std::vector<std::string>& command, const ChildOptions& options) {
  signal(SIGPIPE, SIG_IGN);  // a child that ends without reading its stdin
  Pipe in, out, err;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    BecomeChild(command, options, in, out, err);
  }
  in.CloseRead();
  out.CloseWrite();
  err.CloseWrite();
  // Inputs of tests fit in a pipe, so this cannot block for ever.
  if (!options.input.empty() && write(in.write_end, options.input.data(), options.input.size()) < 0)
    in.CloseWrite();
  in.CloseWrite();

  ChildResult result;
  bool signalled = false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(options.timeout_s);
  while (out.read_end >= 0 || err.read_end >= 0) {
    pollfd fds[] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}};
    poll(fds, 2, 100);
    if (fds[0].revents != 0 && !ReadSome(out.read_end, &result.out)) out.CloseRead();
    if (fds[1].revents != 0 && !ReadSome(err.read_end, &result.err)) err.CloseRead();
    if (!signalled && options.signal_when && options.signal_when(result.out)) {
      kill(child, options.signal);
      signalled = true;
    }
    if (std::chrono::steady_clock::now() > deadline) kill(child, SIGKILL);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  result.peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) << 10;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace motley::test
