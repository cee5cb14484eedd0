// How the members of a team share the work of a stage. In the workspace, so that executes of one program that run at
// once do not meet.
//
// A stage is done when its items are, not when all members have come by: a member that the system has taken off its
// CPU holds up the others only by what it has in hand, and finds nothing left when it is back. So whoever works on a
// stage's data must hold an item of it; a member that holds none may be stages behind.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace motley::cpu {

// `total` items, handed out to whoever asks first.
class alignas(64) Phase {
 public:
  void Reset() {
    next_.store(0, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    sleepers_.store(0, std::memory_order_relaxed);
  }

  // Calls work(begin, end) for pieces of at most `piece` items until none is left, then waits until all of them are
  // done by whoever has them. What they wrote is visible then.
  template <class Work>
  void Run(int64_t total, int64_t piece, Work&& work) {
    uint32_t finished = 0;
    for (int64_t from = next_.fetch_add(piece, std::memory_order_relaxed); from < total;
         from = next_.fetch_add(piece, std::memory_order_relaxed)) {
      const int64_t end = from + piece < total ? from + piece : total;
      work(from, end);
      finished += static_cast<uint32_t>(end - from);
    }
    Finish(finished, static_cast<uint32_t>(total));
    Await(static_cast<uint32_t>(total));
  }

 private:
  void Finish(uint32_t finished, uint32_t total) {
    if (finished == 0 || done_.fetch_add(finished) + finished != total) return;
    if (sleepers_.load() > 0) syscall(SYS_futex, &done_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

  void Await(uint32_t total) {
    // The others are nearly done. If not, one of them has lost its CPU, which spinning would only keep from it.
    for (int spins = 0; spins < 256; ++spins) {
      if (done_.load(std::memory_order_acquire) == total) return;
      __builtin_ia32_pause();
    }
    sleepers_.fetch_add(1);
    for (uint32_t done = done_.load(); done != total; done = done_.load()) {
      syscall(SYS_futex, &done_, FUTEX_WAIT_PRIVATE, done, nullptr, nullptr, 0);
    }
    sleepers_.fetch_sub(1);
  }

  std::atomic<int64_t> next_;
  std::atomic<uint32_t> done_;  // a futex
  std::atomic<uint32_t> sleepers_;
};

}  // namespace motley::cpu
