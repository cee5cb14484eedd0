#include "queue.h"

#include <algorithm>
#include <chrono>

namespace motley::async_device {

Queue::Queue(Device* owner, uint64_t seed) : device(owner), random_(seed) {
  device->AddQueue(this);
  thread_ = std::thread([this] { Loop(); });
}

Queue::~Queue() {
  Flush();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
  device->RemoveQueue(this);
}

void Queue::Push(Command command) {
  const std::lock_guard<std::mutex> lock(mutex_);
  held_.push_back(std::move(command));
  // A device that was lost a moment ago must not hold anything back.
  if (!device->lost()) return;
  for (Command& c : held_) ready_.push_back(std::move(c));
  held_.clear();
  changed_.notify_all();
}

void Queue::Flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Command& command : held_) ready_.push_back(std::move(command));
  held_.clear();
  changed_.notify_all();
}

Fault Queue::Sleep(int64_t us) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  while (true) {
    MOTLEY_TRY(device->CheckAlive());
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return {};
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds(20)));
  }
}

void Queue::Loop() {
  while (true) {
    Command command;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return !ready_.empty() || closing_; });
      if (ready_.empty()) return;
      command = std::move(ready_.front());
      ready_.pop_front();
    }
    RunOne(&command);
  }
}

void Queue::RunOne(Command* command) {
  Fault fault = WaitFor(*command);
  if (fault.ok()) fault = Sleep(RandomDelayUs());
  if (fault.ok()) {
    try {
      fault = command->work(this);
    } catch (const std::exception& e) {
      fault = Fail(MOTLEY_INTERNAL, "exception in async_device: %s", e.what());
    }
  }
  if (fault.ok()) fault = device->CheckAlive();
  command->work = nullptr;  // gives back what it holds before the host hears of it
  if (fault.ok()) return command->sync.Signal();
  command->sync.Poison(fault.code, fault.text);
  if (command->sync.signal.empty()) {
    const bool own_fault = fault.code != MOTLEY_UNAVAILABLE && fault.code != MOTLEY_ABORTED;
    plugin::Log(device->instance->host, own_fault ? plugin::LogLevel::kWarning : plugin::LogLevel::kDebug,
                "async_device", "a command that signals nothing failed: " + fault.text);
  }
}

Fault Queue::WaitFor(const Command& command) {
  constexpr uint64_t kPieceNs = 20'000'000;
  for (const plugin::HeldPoint& point : command.sync.wait) {
    while (true) {
      MOTLEY_TRY(device->CheckAlive());
      const Fault fault = point.line->Wait(point.value, kPieceNs);
      if (fault.ok()) break;
      uint64_t value = 0;
      const Fault poison = point.line->Query(&value);
      if (!poison.ok()) return Fail(MOTLEY_ABORTED, "%s", poison.text.c_str());
    }
  }
  return device->CheckAlive();
}

int64_t Queue::RandomDelayUs() {
  const int64_t limit = device->instance->settings.delay_us;
  return limit > 0 ? static_cast<int64_t>(random_() % static_cast<uint64_t>(limit + 1)) : 0;
}

}  // namespace motley::async_device
