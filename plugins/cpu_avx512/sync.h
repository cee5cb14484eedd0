// What the members of a team share while they run a program: a barrier and work counters. In the workspace, so that
// executes of one program that run at once do not meet.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace motley::cpu {

inline void SpinPause() { __builtin_ia32_pause(); }

class alignas(64) Barrier {
 public:
  void Reset() { arrived_.store(0, std::memory_order_relaxed); }

  // Every member calls it equally often; `round` is the member's own count of calls.
  void Wait(uint32_t members, uint32_t* round) {
    if (members == 1) return;
    const uint32_t target = members * ++*round;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 >= target) return;
    // Members run at once, each on a CPU, so the others are near. Where CPUs are shared after all, give way.
    for (uint32_t spins = 0; arrived_.load(std::memory_order_acquire) < target;) {
      if (++spins < 1024) {
        SpinPause();
      } else {
        sched_yield();
      }
    }
  }

 private:
  std::atomic<uint32_t> arrived_;
};

// Hands out [0, count) in pieces to whoever asks first.
class alignas(64) Counter {
 public:
  void Reset() { next_.store(0, std::memory_order_relaxed); }
  // The first index of the next `size`, perhaps beyond the end.
  int64_t Take(int64_t size) { return next_.fetch_add(size, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> next_;
};

}  // namespace motley::cpu
