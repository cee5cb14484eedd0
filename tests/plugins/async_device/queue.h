// A queue: commands held back until a flush, then run in order by the queue's own thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "device.h"

namespace motley::async_device {

struct Command {
  plugin::HeldSync sync;
  std::function<Fault(Queue*)> work;
};

class Queue {
 public:
  Queue(Device* device, uint64_t seed);
  ~Queue();  // flushes and waits
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void Push(Command command);
  void Flush();
  // For work: sleeps in pieces, so that a lost device ends soon.
  Fault Sleep(int64_t us);

  Device* const device;

 private:
  void Loop();
  void RunOne(Command* command);
  Fault WaitFor(const Command& command);
  int64_t RandomDelayUs();

  std::mt19937_64 random_;  // the thread's
  std::mutex mutex_;        // guards what follows
  std::condition_variable changed_;
  std::deque<Command> held_, ready_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace motley::async_device
