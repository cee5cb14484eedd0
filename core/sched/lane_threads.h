// LaneThreads: runs all lanes of a step at once. The caller runs the first lane, so that a model on one device costs
// no thread at all; each further lane has a thread that sleeps between steps.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "core/sched/lane.h"

namespace motley {

class LaneThreads {
 public:
  explicit LaneThreads(std::vector<Lane*> lanes);
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

  // Makes the threads. RESOURCE_EXHAUSTED where the system gives none.
  Status Start();

  // Returns when every lane has ended. The first failure that is no mere consequence of another lane's.
  Status Run();

 private:
  void Serve(size_t lane);
  Status RunLane(size_t lane);

  std::vector<Lane*> lanes_;
  std::vector<Status> results_;
  std::atomic<uint32_t> step_{0};     // counts up to start one
  std::atomic<uint32_t> running_{0};  // lanes of other threads that have not ended
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace motley
