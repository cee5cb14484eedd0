// Interrupt: Ctrl-C and a friendly kill become a flag that long work looks at. A second one ends the process,
// and so does the first where nobody has said that he looks.
//
// Made in main before any other thread, as those inherit the blocked signals and a thread of its own receives
// them: no handler, and so no global.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace motley {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  const std::atomic<bool>& flag() const { return flag_; }
  bool IsSet() const { return flag_.load(std::memory_order_relaxed); }
  // A chat goes on after an answer was interrupted.
  void Clear() { flag_.store(false, std::memory_order_relaxed); }

  // Called on the watching thread when a signal comes, e.g. to cancel a request. nullptr: the process ends.
  void OnInterrupt(std::function<void()> action);
  // From now on the work that is under way looks at the flag.
  void OnInterruptOnlySetFlag() {
    OnInterrupt([] {});
  }

 private:
  void Watch();

  std::atomic<bool> flag_{false};
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::function<void()> action_;
  std::thread watcher_;
};

}  // namespace motley
