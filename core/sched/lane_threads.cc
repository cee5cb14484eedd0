#include "core/sched/lane_threads.h"

#include <new>
#include <system_error>

namespace motley {

LaneThreads::LaneThreads(std::vector<Lane*> lanes) : lanes_(std::move(lanes)), results_(lanes_.size()) {}

Status LaneThreads::Start() {
  threads_.reserve(lanes_.size());
  try {
    for (size_t i = 1; i < lanes_.size(); ++i) threads_.emplace_back([this, i] { Serve(i); });
  } catch (const std::system_error& error) {
    return ResourceExhaustedError("a thread for " + lanes_[threads_.size() + 1]->device().name() +
                                  " can't be started: " + error.what());
  }
  return OkStatus();
}

LaneThreads::~LaneThreads() {
  stop_ = true;
  ++step_;
  step_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status LaneThreads::Run() {
  if (!threads_.empty()) {
    running_ = static_cast<uint32_t>(threads_.size());
    ++step_;
    step_.notify_all();
  }
  if (!lanes_.empty()) results_[0] = RunLane(0);
  for (uint32_t left = running_; left != 0; left = running_) running_.wait(left);

  Status worst;
  for (const Status& result : results_) {
    if (result.ok()) continue;
    if (worst.ok() || (worst.code() == Code::kAborted && result.code() != Code::kAborted)) worst = result;
  }
  return worst;
}

// Only a lack of memory for an error's text can throw here; the other lanes must hear of it all the same.
Status LaneThreads::RunLane(size_t lane) {
  try {
    return lanes_[lane]->Run();
  } catch (const std::bad_alloc&) {
    lanes_[lane]->Poison(Code::kResourceExhausted);
    return Status(Code::kResourceExhausted, "");
  }
}

void LaneThreads::Serve(size_t lane) {
  for (uint32_t seen = 0;;) {
    step_.wait(seen);
    seen = step_;
    if (stop_) return;
    results_[lane] = RunLane(lane);
    if (--running_ == 0) running_.notify_all();
  }
}

}  // namespace motley
