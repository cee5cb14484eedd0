// Children with a deadline.
#include "core/backend/child_run.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>
#include <csignal>

#include <chrono>

namespace motley {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

StatusOr<ChildRun> Shell(const std::string& script, uint64_t timeout_ns = 20 * kSecond) {
  return RunChild("/bin/sh", {"-c", script}, timeout_ns);
}

TEST(ChildRun, TellsHowItEndedAndWhatItSaid) {
  const StatusOr<ChildRun> run = Shell("echo report >&3; echo said; echo also said >&2; exit 7");
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->exit_code, 7);
  EXPECT_EQ(run->signal, 0);
  EXPECT_FALSE(run->timed_out);
  EXPECT_EQ(run->report, "report\n");
  EXPECT_EQ(run->said, "said\nalso said\n");
}

TEST(ChildRun, NamesTheSignal) {
  const StatusOr<ChildRun> run = Shell("kill -SEGV $$");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->signal, SIGSEGV);
  EXPECT_EQ(run->exit_code, -1);
}

TEST(ChildRun, TheDeadlineEndsItAndWhatItStarted) {
  const auto begin = std::chrono::steady_clock::now();
  const StatusOr<ChildRun> run = Shell("sleep 60 & echo $! >&3; wait", kSecond / 2);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(run->timed_out);
  EXPECT_LT(seconds, 30);
  const pid_t grandchild = std::stoi(run->report);
  bool gone = false;
  for (int i = 0; i < 1000 && !gone; ++i) {  // killed at once, though whoever adopts it may take its time
    char stat[256] = "";
    const std::string path = "/proc/" + std::to_string(grandchild) + "/stat";
    const int fd = open(path.c_str(), O_RDONLY);
    if (fd >= 0) [[maybe_unused]]
      const ssize_t count = read(fd, stat, sizeof stat - 1);
    if (fd >= 0) close(fd);
    gone = fd < 0 || std::string(stat).find(") Z ") != std::string::npos;
    if (!gone) usleep(1000);
  }
  EXPECT_TRUE(gone);
}

// A process that the child left behind holds its pipes; nobody waits for it.
TEST(ChildRun, DoesNotWaitForWhatTheChildLeftBehind) {
  const auto begin = std::chrono::steady_clock::now();
  const StatusOr<ChildRun> run = Shell("sleep 5 & exit 3");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->exit_code, 3);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 4.0);
}

TEST(ChildRun, HasNoDescriptorsOfOurs) {
  const int ours = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GE(ours, 0);
  const StatusOr<ChildRun> run = Shell("ls /proc/self/fd >&3");
  close(ours);
  ASSERT_TRUE(run.ok());
  // 4 is the folder that ls reads.
  EXPECT_TRUE(run->report == "0\n1\n2\n3\n4\n") << run->report;
}

TEST(ChildRun, MuchOutputIsCutNotKept) {
  const StatusOr<ChildRun> run = Shell("head -c 3000000 /dev/zero; head -c 300000 /dev/zero >&3; echo end");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->exit_code, 0);
  EXPECT_LE(run->said.size(), 4096u);
  EXPECT_NE(run->said.find("end"), std::string::npos);
  EXPECT_LE(run->report.size(), 65536u);
}

TEST(ChildRun, AProgramThatIsNotThereIsAnError) {
  const StatusOr<ChildRun> run = RunChild("/does/not/exist", {}, kSecond);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.status().message(), "/does/not/exist: cannot be started: No such file or directory");
}

}  // namespace
}  // namespace motley
