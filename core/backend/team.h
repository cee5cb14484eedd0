// Team: n members that run one function at once, member 0 being the caller. Inside core/backend only; Host hands it to
// plugins.
//
// Between runs the other members spin for spin_us, then sleep on a futex, so that segments that follow each other
// pay no wake-up and an idle process costs nothing. Run allocates nothing and takes no lock. One Run at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/status.h"

namespace motley {

using TeamFunction = void (*)(void* arg, uint32_t i, uint32_t n);

class Team {
 public:
  // threads >= 1. cpus: where the members may run, empty = anywhere. RESOURCE_EXHAUSTED when the system has no more
  // threads.
  static StatusOr<std::unique_ptr<Team>> Start(uint32_t threads, const std::vector<int>& cpus, uint32_t spin_us);
  ~Team();  // joins; not from a member
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  uint32_t threads() const { return threads_; }

  // Returns when all members have. FAILED_PRECONDITION, with fn not called, inside a run of any team or during a
  // run of this one; INTERNAL when fn let an exception out.
  Status Run(TeamFunction fn, void* arg);

  // Whether the calling thread is inside a run.
  static bool Inside();

 private:
  Team(uint32_t threads, uint32_t spin_us) : threads_(threads), spin_us_(spin_us) {}
  void Member(uint32_t i);
  void Call(uint32_t i);
  void AwaitRun(uint32_t last);
  void AwaitMembers();

  const uint32_t threads_;
  const uint32_t spin_us_;
  // Written by Run before run_ changes, read by members after.
  TeamFunction fn_ = nullptr;
  void* arg_ = nullptr;
  bool stop_ = false;
  std::atomic<bool> running_{false};
  std::atomic<bool> threw_{false};
  // Apart, so that members that poll the one do not slow down those that count down the other.
  alignas(64) std::atomic<uint32_t> run_{0};       // number of the run; a futex
  std::atomic<uint32_t> sleepers_{0};              // members that may be asleep on run_
  alignas(64) std::atomic<uint32_t> pending_{0};   // members not yet back; a futex
  std::atomic<uint32_t> caller_sleeps_{0};
  std::vector<std::thread> members_;
};

}  // namespace motley
