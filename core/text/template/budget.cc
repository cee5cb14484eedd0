#include "core/text/template/budget.h"

#include <algorithm>
#include <string>

namespace motley::jinja {
namespace {

constexpr uint64_t kStepsBetweenChecks = 4096;   // some 100 µs
constexpr uint64_t kBytesBetweenChecks = 1 << 20;
// Python gives up at about 200 macros inside one another. A construct takes up to 1 KiB of stack, more under a
// sanitizer.
constexpr int kMaxNesting = 2400;
constexpr int kMaxCalls = 220;

Status LimitError(const std::string& what) {
  return InvalidArgumentError("the template takes more than its limit of " + what);
}

}  // namespace

Budget::Budget(const ChatTemplateLimits& limits)
    : limits_(limits), end_(std::chrono::steady_clock::now() + limits.time) {}

Status Budget::CheckSteps() {
  if (steps_ > limits_.steps) return LimitError(std::to_string(limits_.steps) + " steps");
  next_check_ = std::min(steps_ + kStepsBetweenChecks, limits_.steps + 1);
  return CheckTime();
}

Status Budget::CheckTime() const {
  if (std::chrono::steady_clock::now() < end_) return OkStatus();
  return LimitError(std::to_string(limits_.time.count()) + " ms");
}

Status Budget::Bytes(uint64_t count) {
  if (count > limits_.value_bytes - bytes_) {
    return LimitError(std::to_string(limits_.value_bytes) + " bytes for the values that it makes");
  }
  bytes_ += count;
  if (bytes_ - checked_bytes_ < kBytesBetweenChecks) return OkStatus();
  checked_bytes_ = bytes_;
  return CheckTime();
}

Status Budget::Output(uint64_t bytes) const {
  if (bytes <= limits_.output_bytes) return OkStatus();
  return LimitError(std::to_string(limits_.output_bytes) + " bytes of output");
}

Status Budget::Enter() {
  if (++nesting_ <= kMaxNesting) return OkStatus();
  return LimitError(std::to_string(kMaxNesting) + " constructs inside one another (does it recurse without an end?)");
}

Status Budget::EnterCall() {
  if (++calls_ <= kMaxCalls) return OkStatus();
  return LimitError(std::to_string(kMaxCalls) + " calls inside one another (does it recurse without an end?)");
}

}  // namespace motley::jinja
