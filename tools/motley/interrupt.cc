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
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR2}) sigaddset(&set, signal);
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

void Interrupt::OnInterrupt(std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  action_ = std::move(action);
}

void Interrupt::Watch() {
  const sigset_t set = WatchedSignals();
  for (int signal = 0; !ending_;) {
    if (sigwait(&set, &signal) != 0 || signal == SIGUSR2) continue;
    // Somebody who asks twice does not want to wait for a step to end.
    if (flag_.exchange(true)) _exit(kExitInterrupted);
    const std::lock_guard lock(mutex_);
    if (!action_) _exit(kExitInterrupted);
    action_();
  }
}

}  // namespace motley
