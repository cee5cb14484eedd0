#include "core/backend/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <system_error>

namespace motley {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == 4 && std::atomic<uint32_t>::is_always_lock_free);

// Set while this thread is a member of a run: runs do not nest.
thread_local bool inside_run = false;

void FutexWait(std::atomic<uint32_t>& word, uint32_t while_value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, while_value, nullptr, nullptr,
          0);
}

void FutexWakeAll(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Polls `done` for up to spin_us; whether it came true.
template <typename Done>
bool Spin(uint32_t spin_us, Done done) {
  if (done()) return true;
  if (spin_us == 0) return false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(spin_us);
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

// Signals are for main's thread, not for whichever member is awake.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Best effort: a member elsewhere is slower, not wrong.
void KeepOn(std::thread& thread, const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const size_t count = static_cast<size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1;
  cpu_set_t* set = CPU_ALLOC(count);
  if (set == nullptr) return;
  CPU_ZERO_S(CPU_ALLOC_SIZE(count), set);
  for (const int cpu : cpus) CPU_SET_S(static_cast<size_t>(cpu), CPU_ALLOC_SIZE(count), set);
  pthread_setaffinity_np(thread.native_handle(), CPU_ALLOC_SIZE(count), set);
  CPU_FREE(set);
}

}  // namespace

StatusOr<std::unique_ptr<Team>> Team::Start(uint32_t threads, const std::vector<int>& cpus,
                                            uint32_t spin_us) {
  std::unique_ptr<Team> team(new Team(threads, spin_us));
  const BlockedSignals blocked;
  team->members_.reserve(threads - 1);
  for (uint32_t i = 1; i < threads; ++i) {
    try {
      team->members_.emplace_back(&Team::Member, team.get(), i);
    } catch (const std::system_error& error) {
      return ResourceExhaustedError("thread " + std::to_string(i) + " of " + std::to_string(threads) + ": " +
                                    error.what());
    }
    pthread_setname_np(team->members_.back().native_handle(), "motley-team");
    KeepOn(team->members_.back(), cpus);
  }
  return team;
}

Team::~Team() {
  stop_ = true;
  run_.fetch_add(1);
  FutexWakeAll(run_);
  for (std::thread& member : members_) member.join();
}

Status Team::Run(TeamFunction fn, void* arg) {
  if (inside_run) return FailedPreconditionError("team_run inside a run: runs do not nest");
  if (running_.exchange(true, std::memory_order_acquire)) {
    return FailedPreconditionError("team_run during another run of the team: one at a time");
  }
  fn_ = fn;
  arg_ = arg;
  pending_.store(threads_ - 1, std::memory_order_relaxed);
  // Order matters here and in AwaitRun: a member first counts itself as a sleeper, then looks at run_; this
  // first changes run_, then looks at the sleepers. So one of the two sees the other.
  run_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) FutexWakeAll(run_);
  Call(0);
  AwaitMembers();
  const bool threw = threw_.exchange(false, std::memory_order_relaxed);
  running_.store(false, std::memory_order_release);
  return threw ? InternalError("the function of team_run let an exception out") : OkStatus();
}

bool Team::Inside() {
  return inside_run;
}

void Team::Member(uint32_t i) {
  for (uint32_t last = 0;; ++last) {
    AwaitRun(last);
    if (stop_) return;
    Call(i);
    // The mirror image of AwaitMembers. The object outlives this: the destructor joins.
    if (pending_.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
        caller_sleeps_.load(std::memory_order_seq_cst) != 0) {
      FutexWakeAll(pending_);
    }
  }
}

void Team::Call(uint32_t i) {
  inside_run = true;
  try {
    fn_(arg_, i, threads_);
  } catch (...) {
    threw_.store(true, std::memory_order_relaxed);
  }
  inside_run = false;
}

void Team::AwaitRun(uint32_t last) {
  const auto started = [&] { return run_.load(std::memory_order_acquire) != last; };
  if (Spin(spin_us_, started)) return;
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (run_.load(std::memory_order_seq_cst) == last) FutexWait(run_, last);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void Team::AwaitMembers() {
  const auto all_back = [&] { return pending_.load(std::memory_order_acquire) == 0; };
  if (Spin(spin_us_, all_back)) return;
  caller_sleeps_.store(1, std::memory_order_seq_cst);
  for (uint32_t left; (left = pending_.load(std::memory_order_seq_cst)) != 0;) FutexWait(pending_, left);
  caller_sleeps_.store(0, std::memory_order_relaxed);
}

}  // namespace motley
