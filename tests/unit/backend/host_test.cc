// Teams of threads and the log, through the table that a plugin gets.
#include "core/backend/host.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace motley {
namespace {

using std::chrono::milliseconds;

// Holds each of `n` until all have come: passes only when all n run at once.
class Barrier {
 public:
  void Wait(uint32_t n) {
    const uint32_t phase = phase_.load();
    if (here_.fetch_add(1) + 1 == n) {
      here_.store(0);
      phase_.fetch_add(1);
      return;
    }
    while (phase_.load() == phase) std::this_thread::yield();
  }

 private:
  std::atomic<uint32_t> here_{0}, phase_{0};
};

class HostTest : public ::testing::Test {
 protected:
  static HostOptions Threads(uint32_t threads) {
    HostOptions options;
    options.threads = threads;
    return options;
  }
  motley_team* Create(const motley_host* table, uint32_t threads) {
    motley_team* team = nullptr;
    EXPECT_EQ(table->team_create(table->self, threads, -1, &team), MOTLEY_OK);
    return team;
  }
  Logger logger_{LogLevel::kError};
};

TEST_F(HostTest, RunsExactlyNMembersAtOnce) {
  Host host(logger_, Threads(8));
  const motley_host* table = host.LendTo("test");
  for (const uint32_t n : {1u, 2u, 3u, 8u}) {
    struct Job {
      Barrier barrier;
      std::atomic<uint32_t> mask{0}, wrong_n{0};
      std::thread::id zero;
      uint32_t expected;
    } job;
    job.expected = n;
    motley_team* team = Create(table, n);
    for (int run = 0; run < 50; ++run) {
      job.mask = 0;
      table->team_run(
          team,
          [](void* arg, uint32_t i, uint32_t members) {
            Job& job = *static_cast<Job*>(arg);
            if (i == 0) job.zero = std::this_thread::get_id();
            job.mask.fetch_or(1u << i);
            if (members != job.expected) job.wrong_n.fetch_add(1);
            job.barrier.Wait(members);
            job.barrier.Wait(members);
          },
          &job);
      ASSERT_EQ(job.mask.load(), (1u << n) - 1);
      ASSERT_EQ(job.zero, std::this_thread::get_id());
    }
    EXPECT_EQ(job.wrong_n.load(), 0u);
    table->team_destroy(team);
  }
  EXPECT_EQ(host.threads_left(), 8u);
}

// What members write is seen by the caller, and what the caller writes by the next run's members, without
// atomics.
TEST_F(HostTest, TenThousandRunsSeeEachOthersWrites) {
  Host host(logger_, Threads(4));
  const motley_host* table = host.LendTo("test");
  motley_team* team = Create(table, 4);
  struct Job {
    uint64_t input = 0;
    uint64_t sums[4][16] = {};
  } job;
  for (uint64_t run = 1; run <= 10000; ++run) {
    job.input = run;
    table->team_run(
        team,
        [](void* arg, uint32_t i, uint32_t) {
          Job& job = *static_cast<Job*>(arg);
          job.sums[i][0] += job.input + i;
        },
        &job);
  }
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(job.sums[i][0], 10000u * 10001u / 2 + 10000u * i);
  table->team_destroy(team);
}

// Members that have gone to sleep are woken: gaps longer than they spin.
TEST_F(HostTest, WakesSleepers) {
  HostOptions options = Threads(3);
  options.spin_us = 0;
  Host host(logger_, options);
  const motley_host* table = host.LendTo("test");
  motley_team* team = Create(table, 3);
  std::atomic<uint32_t> calls{0};
  for (int run = 0; run < 200; ++run) {
    if (run % 10 == 0) std::this_thread::sleep_for(milliseconds(2));
    table->team_run(
        team, [](void* arg, uint32_t, uint32_t) { ++*static_cast<std::atomic<uint32_t>*>(arg); }, &calls);
  }
  EXPECT_EQ(calls.load(), 600u);
  table->team_destroy(team);
}

TEST_F(HostTest, RefusesNestedAndConcurrentRuns) {
  Host host(logger_, Threads(4));
  const motley_host* table = host.LendTo("test");
  struct Job {
    const motley_host* table;
    motley_team *team, *other;
    std::atomic<uint32_t> inner{0};
  } job{table, Create(table, 2), Create(table, 2), {}};
  table->team_run(
      job.team,
      [](void* arg, uint32_t, uint32_t) {
        Job& job = *static_cast<Job*>(arg);
        const auto count = [](void* arg, uint32_t, uint32_t) { ++static_cast<Job*>(arg)->inner; };
        job.table->team_run(job.team, count, &job);
        job.table->team_run(job.other, count, &job);
        job.table->team_destroy(job.team);
      },
      &job);
  EXPECT_EQ(job.inner.load(), 0u);
  // Afterwards both still work.
  const auto count = [](void* arg, uint32_t, uint32_t) { ++static_cast<Job*>(arg)->inner; };
  table->team_run(job.team, count, &job);
  table->team_run(job.other, count, &job);
  EXPECT_EQ(job.inner.load(), 4u);
  table->team_destroy(job.team);
  table->team_destroy(job.other);
}

TEST_F(HostTest, AnExceptionOfAMemberStaysInside) {
  Host host(logger_, Threads(2));
  const motley_host* table = host.LendTo("test");
  motley_team* team = Create(table, 2);
  table->team_run(
      team, [](void*, uint32_t, uint32_t) { throw 42; }, nullptr);
  std::atomic<uint32_t> calls{0};
  table->team_run(
      team, [](void* arg, uint32_t, uint32_t) { ++*static_cast<std::atomic<uint32_t>*>(arg); }, &calls);
  EXPECT_EQ(calls.load(), 2u);
  table->team_destroy(team);
}

TEST_F(HostTest, TheSumOfAllTeamsStaysInsideTheLimit) {
  Host host(logger_, Threads(4));
  const motley_host* first = host.LendTo("first");
  const motley_host* second = host.LendTo("second");
  motley_team* a = Create(first, 3);
  motley_team* refused = reinterpret_cast<motley_team*>(&host);
  EXPECT_EQ(second->team_create(second->self, 3, -1, &refused), MOTLEY_RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused, nullptr);
  EXPECT_EQ(host.threads_left(), 2u);
  motley_team* b = Create(second, 2);
  motley_team* alone = Create(second, 1);  // owns no thread: never refused
  EXPECT_EQ(host.threads_left(), 1u);
  first->team_destroy(a);
  EXPECT_EQ(host.threads_left(), 3u);
  EXPECT_EQ(host.ReclaimTeams(second), 2u);
  EXPECT_EQ(host.threads_left(), 4u);
  (void)b, (void)alone;
}

TEST_F(HostTest, RefusesWhatMakesNoSense) {
  Host host(logger_, Threads(4));
  const motley_host* table = host.LendTo("test");
  motley_team* team = nullptr;
  EXPECT_EQ(table->team_create(table->self, 0, -1, &team), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(table->team_create(table->self, UINT32_MAX, -1, &team), MOTLEY_RESOURCE_EXHAUSTED);
  EXPECT_EQ(table->team_create(table->self, 2, 12345, &team), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(table->team_create(table->self, 2, -2, &team), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(table->team_create(nullptr, 2, -1, &team), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(table->team_create(table->self, 2, -1, nullptr), MOTLEY_INVALID_ARGUMENT);
  table->team_run(nullptr, nullptr, nullptr);
  table->team_destroy(nullptr);
  team = Create(table, 2);
  table->team_run(team, nullptr, nullptr);
  table->team_destroy(team);
}

TEST_F(HostTest, MembersStayOnTheirNode) {
  test::TempDir root;
  std::filesystem::create_directories(root.path() / "sys/devices/system/node/node3");
  const int mine = ReadCpuAllowance().cpus.back();
  root.Write("sys/devices/system/node/node3/cpulist", std::to_string(mine) + ",4095\n");
  HostOptions options = Threads(2);
  options.root = root.path().string();
  Host host(logger_, options);
  const motley_host* table = host.LendTo("test");
  motley_team* team = nullptr;
  ASSERT_EQ(table->team_create(table->self, 2, 3, &team), MOTLEY_OK);
  cpu_set_t set;
  CPU_ZERO(&set);
  table->team_run(
      team,
      [](void* arg, uint32_t i, uint32_t) {
        if (i == 1) pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), static_cast<cpu_set_t*>(arg));
      },
      &set);
  EXPECT_EQ(CPU_COUNT(&set), 1);
  EXPECT_TRUE(CPU_ISSET(static_cast<size_t>(mine), &set));
  table->team_destroy(team);
}

TEST_F(HostTest, MembersLeaveSignalsToMain) {
  Host host(logger_, Threads(2));
  const motley_host* table = host.LendTo("test");
  motley_team* team = Create(table, 2);
  sigset_t blocked;
  sigemptyset(&blocked);
  table->team_run(
      team,
      [](void* arg, uint32_t i, uint32_t) {
        if (i == 1) pthread_sigmask(SIG_BLOCK, nullptr, static_cast<sigset_t*>(arg));
      },
      &blocked);
  EXPECT_TRUE(sigismember(&blocked, SIGINT));
  EXPECT_TRUE(sigismember(&blocked, SIGTERM));
  table->team_destroy(team);
}

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_F(HostTest, IdleTeamsCostNothing) {
  Host host(logger_, Threads(8));
  const motley_host* table = host.LendTo("test");
  motley_team* team = Create(table, 8);
  table->team_run(
      team, [](void*, uint32_t, uint32_t) {}, nullptr);
  std::this_thread::sleep_for(milliseconds(20));
  const double before = CpuSeconds();
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_LT(CpuSeconds() - before, 0.05 * 0.4);  // of one CPU
  table->team_destroy(team);
}

// P09: by default the quota and the affinity decide.
TEST_F(HostTest, FieldFailure_P09_ThreadsFollowTheQuota) {
  test::TempDir root;
  std::filesystem::create_directories(root.path() / "proc/self");
  std::filesystem::create_directories(root.path() / "sys/fs/cgroup/box");
  root.Write("proc/self/cgroup", "0::/box\n");
  root.Write("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
  root.Write("sys/fs/cgroup/box/cpu.max", "100000 100000\n");
  HostOptions options;
  options.root = root.path().string();
  Host host(logger_, options);
  EXPECT_EQ(host.threads(), 1u);
  const motley_host* table = host.LendTo("test");
  motley_team* team = nullptr;
  EXPECT_EQ(table->team_create(table->self, 2, -1, &team), MOTLEY_RESOURCE_EXHAUSTED);
}

TEST_F(HostTest, LogsWhateverItIsGiven) {
  ::testing::internal::CaptureStderr();
  Host host(logger_);
  const motley_host* table = host.LendTo("ref");
  const std::string text = "two\nlines\x1b[31m";
  table->log(table->self, 99, {nullptr, 7}, {text.data(), text.size()});
  table->log(table->self, 3, {"ref", 3}, {nullptr, 1u << 30});
  const std::string few(3, 'x');  // of which no more may be read, whatever the length says
  table->log(table->self, 3, {few.data(), 1ull << 40}, {few.data(), 1ull << 40});
  const std::string logged = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(logged.find("plugin.ref: two lines [31m"), std::string::npos) << logged;
  EXPECT_NE(logged.find("(a text of 1099511627776 bytes, not read)"), std::string::npos) << logged;
}

}  // namespace
}  // namespace motley
