#include "core/sched/lane_threads.h"

namespace motley {

LaneThreads::LaneThreads(std::vector<Lane*> lanes) : lanes_(std::move(lanes)), results_(lanes_.size()) {
  for (size_t i = 1; i < lanes_.size(); ++i) threads_.emplace_back([this, i] { Serve(i); });
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
  if (!lanes_.empty()) results_[0] = lanes_[0]->Run();
  for (uint32_t left = running_; left != 0; left = running_) running_.wait(left);

  Status worst;
  for (const Status& result : results_) {
    if (result.ok()) continue;
    if (worst.ok() || (worst.code() == Code::kAborted && result.code() != Code::kAborted)) worst = result;
  }
  return worst;
}

void LaneThreads::Serve(size_t lane) {
  for (uint32_t seen = 0;;) {
    step_.wait(seen);
    seen = step_;
    if (stop_) return;
    results_[lane] = lanes_[lane]->Run();
    if (--running_ == 0) running_.notify_all();
  }
}

}  // namespace motley
