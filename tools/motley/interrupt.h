// Interrupt: Ctrl-C and a friendly kill become a flag that long work looks at. A second one ends the process,
// and so does the first where nobody has said that he looks.
//
// Made in main before any other thread, as those inherit the blocked signals and a thread of its own receives
// them: no handler, and so no global.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
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
  // A chat goes on after an answer was interrupted; not after a kill.
  void Clear();
  // A kill, or a terminal that is gone: more than Ctrl-C, which may end an answer and not the chat.
  bool terminated() const { return terminated_.load(std::memory_order_relaxed); }

  // Called on the watching thread when a signal comes, e.g. to cancel a request. nullptr: the process ends.
  void OnInterrupt(std::function<void()> action);
  // From now on the work that is under way looks at the flag.
  void OnInterruptOnlySetFlag() {
    OnInterrupt([] {});
  }
  // The second interrupt since Clear writes `text` to stderr, and the third ends the process; "": the second
  // does.
  void WarnFirst(std::string text);
  // Called on the watching thread when the terminal has another size; nullptr: nobody cares.
  void OnResize(std::function<void()> action);

  // What must not stay behind when a signal ends the process at once: a file that is half written, a terminal
  // in another mode. Runs on the watching thread, in the reverse order of making, unless the object was
  // destroyed before.
  class Undo {
   public:
    Undo(Interrupt& interrupt, std::function<void()> action);
    ~Undo();
    Undo(const Undo&) = delete;
    Undo& operator=(const Undo&) = delete;

   private:
    Interrupt& interrupt_;
    uint64_t key_;
  };

 private:
  void Watch();
  void OnSignal(int signal);
  [[noreturn]] void Leave();  // with mutex_ held

  std::atomic<bool> flag_{false}, terminated_{false};
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  int count_ = 0;  // signals since Clear
  std::string warning_;
  std::function<void()> action_, on_resize_;
  std::map<uint64_t, std::function<void()>> undo_;
  uint64_t next_undo_ = 0;
  std::thread watcher_;
};

}  // namespace motley
