#include "core/backend/child_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

extern char** environ;

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostReport = 1 << 16;
constexpr size_t kMostSaid = 1 << 12;  // the last of it
constexpr auto kKilledDies = std::chrono::seconds(1);  // one inside a driver that hangs may not: then it is left

struct Pipe {
  int read_end = -1, write_end = -1;
  ~Pipe() {
    Close(read_end);
    Close(write_end);
  }
  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0], write_end = ends[1];
    return fcntl(read_end, F_SETFL, O_NONBLOCK) == 0;
  }
  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  // Appends what there is. Closes at the end.
  void Read(std::string& text) {
    char buffer[4096];
    while (read_end >= 0) {
      const ssize_t count = read(read_end, buffer, sizeof buffer);
      if (count > 0) text.append(buffer, static_cast<size_t>(count));
      if (count < 0 && errno == EINTR) continue;
      if (count == 0 || (count < 0 && errno != EAGAIN)) Close(read_end);
      if (count <= 0) return;
      if (text.size() > kMostReport) return;  // the rest waits for its turn
    }
  }
};

// The plan of posix_spawn: descriptors, signals, a group of its own.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnPlan(int report, int said) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, said, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, report, kReportFd);
    posix_spawn_file_actions_addclosefrom_np(&actions, kReportFd + 1);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

// Descriptors up to kReportFd are what the plan writes over: a pipe must not lie there.
bool MoveAbove(int& fd) {
  if (fd > kReportFd) return true;
  const int higher = fcntl(fd, F_DUPFD_CLOEXEC, kReportFd + 1);
  if (higher < 0) return false;
  close(fd);
  fd = higher;
  return true;
}

// Whether it has ended; sets how.
bool HasEnded(pid_t child, ChildRun& run) {
  int status = 0;
  const pid_t ended = waitpid(child, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  if (ended == child && WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  if (ended == child && WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  return true;  // also where nobody can say how, as the process ignores SIGCHLD
}

void KillGroup(pid_t child, ChildRun& run) {
  run.timed_out = true;
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  const auto end = Clock::now() + kKilledDies;
  while (!HasEnded(child, run) && Clock::now() < end) poll(nullptr, 0, 1);
  run.signal = 0, run.exit_code = -1;
}

}  // namespace

StatusOr<ChildRun> RunChild(const std::string& program, const std::vector<std::string>& args, uint64_t timeout_ns) {
  Pipe report, said;
  if (!report.Open() || !said.Open() || !MoveAbove(report.write_end) || !MoveAbove(said.write_end))
    return UnavailableError(program + ": no pipe: " + std::strerror(errno));
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  const SpawnPlan plan(report.write_end, said.write_end);
  pid_t child = -1;
  const auto deadline = Clock::now() + std::chrono::nanoseconds(timeout_ns);
  if (const int error = posix_spawn(&child, program.c_str(), &plan.actions, &plan.attributes, argv.data(), environ))
    return UnavailableError(program + ": cannot be started: " + std::strerror(error));
  Pipe::Close(report.write_end);
  Pipe::Close(said.write_end);

  ChildRun run;
  for (bool ended = false; !ended;) {
    // A process that the child started may hold the pipes open, so their end is not waited for alone.
    const int wait_ms = report.read_end < 0 ? 1 : 20;
    pollfd fds[] = {{report.read_end, POLLIN, 0}, {said.read_end, POLLIN, 0}};
    poll(fds, 2, wait_ms);
    ended = HasEnded(child, run);
    report.Read(run.report);
    said.Read(run.said);
    if (run.said.size() > kMostSaid) run.said.erase(0, run.said.size() - kMostSaid);
    run.report.resize(std::min(run.report.size(), kMostReport));
    if (!ended && Clock::now() >= deadline) {
      KillGroup(child, run);
      ended = true;
    }
  }
  return run;
}

}  // namespace motley
