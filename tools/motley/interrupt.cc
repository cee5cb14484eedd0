#include "tools/motley/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "tools/motley/exit_code.h"

namespace motley {
namespace {

// SIGUSR2 ends the watching thread.
sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = WatchedSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::thread([this] { Watch(); });
}

Interrupt::~Interrupt() {
  ending_ = true;
  pthread_kill(watcher_.native_handle(), SIGUSR2);
  watcher_.join();
}

void Interrupt::Clear() {
  const std::lock_guard lock(mutex_);
  if (terminated()) return;
  count_ = 0;
  flag_ = false;
}

void Interrupt::OnInterrupt(std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  action_ = std::move(action);
}

void Interrupt::WarnFirst(std::string text) {
  const std::lock_guard lock(mutex_);
  warning_ = std::move(text);
}

void Interrupt::OnResize(std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  on_resize_ = std::move(action);
}

Interrupt::Undo::Undo(Interrupt& interrupt, std::function<void()> action) : interrupt_(interrupt) {
  const std::lock_guard lock(interrupt.mutex_);
  key_ = interrupt.next_undo_++;
  interrupt.undo_[key_] = std::move(action);
}

Interrupt::Undo::~Undo() {
  const std::lock_guard lock(interrupt_.mutex_);
  interrupt_.undo_.erase(key_);
}

void Interrupt::Watch() {
  const sigset_t set = WatchedSignals();
  for (int signal = 0; !ending_;) {
    if (sigwait(&set, &signal) != 0 || signal == SIGUSR2) continue;
    OnSignal(signal);
  }
}

void Interrupt::OnSignal(int signal) {
  const std::lock_guard lock(mutex_);
  if (signal == SIGWINCH) {
    if (on_resize_) on_resize_();
    return;
  }
  if (signal != SIGINT) terminated_ = true;
  flag_ = true;
  ++count_;
  // Somebody who asks once more does not want to wait for a step to end.
  if (!action_ || count_ > (warning_.empty() ? 1 : 2)) Leave();
  if (count_ == 2 && write(STDERR_FILENO, warning_.data(), warning_.size()) < 0) Leave();
  action_();
}

void Interrupt::Leave() {
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) undo->second();
  _exit(kExitInterrupted);
}

}  // namespace motley
