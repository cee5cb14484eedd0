#include "tools/motley/bench_limits.h"

#include <algorithm>
#include <utility>

#include "core/base/read_bandwidth.h"
#include "core/engine/device_read.h"

namespace motley {
namespace {

constexpr double kReadSeconds = 0.3;
constexpr double kMultiplySeconds = 0.5;
// Beyond this the rate no longer depends on the size, and filling the memory would take longer than reading
// it.
constexpr double kMostReadBytes = 1e9;
constexpr size_t kMostShapes = 4;  // of linear nodes that are measured, those with the most operations

bool IsHostMemory(const Device& device) {
  const std::string& pool = device.info().pool;
  return pool == "ram" || pool.rfind("ram:", 0) == 0;
}

double RowsOf(const LinearWork& linear, uint64_t tokens) {
  return linear.outputs_only ? 1 : static_cast<double>(tokens);
}

double OperationsOf(const SegmentWork& work, uint64_t tokens) {
  double operations = 0;
  for (const LinearWork& linear : work.linears)
    operations += linear.operations_a_row() * RowsOf(linear, tokens);
  return operations;
}

double ReadBytes(const SegmentWork& work, double context_tokens) {
  return static_cast<double>(work.decode_weight_bytes()) +
         static_cast<double>(work.kv_bytes_per_token) * context_tokens;
}

}  // namespace

BenchLimits::BenchLimits(const PlannedModel& planned, uint32_t threads, Cancelled cancelled)
    : planned_(planned),
      threads_(threads),
      cancelled_(std::move(cancelled)),
      work_(planned.compiled->devices().size()) {
  for (size_t s = 0; s < planned.segment_work.size(); ++s)
    AddWork(planned.segment_work[s], &work_[planned.compiled->segments()[s].device]);
}

double BenchLimits::Operations(uint64_t tokens) const {
  double operations = 0;
  for (const SegmentWork& work : work_) operations += OperationsOf(work, tokens);
  return operations;
}

StatusOr<double> BenchLimits::ReadRate(double context_tokens) {
  double bytes = 0, seconds = 0;
  for (uint32_t d = 0; d < work_.size(); ++d) {
    const double own = ReadBytes(work_[d], context_tokens);
    if (own <= 0) continue;
    MOTLEY_ASSIGN_OR_RETURN(const double rate, DeviceReadRate(d, own));
    bytes += own;
    seconds += own / rate;
  }
  return seconds > 0 ? bytes / seconds : 0.0;
}

StatusOr<double> BenchLimits::DeviceReadRate(uint32_t device, double bytes) {
  Device& raw = *planned_.compiled->devices()[device];
  const auto set = static_cast<uint64_t>(std::min(bytes, kMostReadBytes));
  if (IsHostMemory(raw)) {
    if (cancelled_()) return CancelledError("interrupted");
    MOTLEY_ASSIGN_OR_RETURN(const ReadBandwidth read, MeasureReadBandwidth({set, threads_, kReadSeconds}));
    return read.best_bytes_per_s;
  }
  if (const auto known = device_reads_.find(device); known != device_reads_.end()) return known->second;
  MOTLEY_ASSIGN_OR_RETURN(const DeviceRead read, MeasureDeviceRead(raw, set, kReadSeconds, cancelled_));
  device_reads_[device] = read.bytes_per_s.median;
  return read.bytes_per_s.median;
}

StatusOr<double> BenchLimits::MultiplyRate(uint64_t tokens) {
  double seconds = 0;
  for (uint32_t d = 0; d < work_.size(); ++d) {
    MOTLEY_ASSIGN_OR_RETURN(const double own, DeviceMultiplySeconds(d, tokens));
    seconds += own;
  }
  return seconds > 0 ? Operations(tokens) / seconds : 0.0;
}

// What is not measured is taken to run at the mean rate of what is.
StatusOr<double> BenchLimits::DeviceMultiplySeconds(uint32_t device, uint64_t tokens) {
  std::vector<LinearWork> linears = work_[device].linears;
  std::sort(linears.begin(), linears.end(), [&](const LinearWork& a, const LinearWork& b) {
    return a.operations_a_row() * RowsOf(a, tokens) > b.operations_a_row() * RowsOf(b, tokens);
  });
  double measured_operations = 0, measured_seconds = 0;
  for (size_t i = 0; i < linears.size() && i < kMostShapes; ++i) {
    const LinearWork& linear = linears[i];
    const auto rows = static_cast<int64_t>(RowsOf(linear, tokens));
    MOTLEY_ASSIGN_OR_RETURN(const auto loop,
                            LinearLoop::Create(*planned_.compiled->devices()[device],
                                               {linear.format, linear.rows, linear.cols, rows}));
    MeasureLimits limits;
    limits.seconds = kMultiplySeconds;
    MOTLEY_ASSIGN_OR_RETURN(const Figure took, loop->Measure(rows, limits, cancelled_));
    measured_operations += loop->operations(rows) * linear.count;
    measured_seconds += took.low * linear.count;  // a limit: what it does when nothing disturbs it
  }
  if (measured_operations <= 0) return 0.0;
  return measured_seconds * OperationsOf(work_[device], tokens) / measured_operations;
}

}  // namespace motley
