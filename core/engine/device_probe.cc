#include "core/engine/device_probe.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "core/base/suggest.h"
#include "core/base/system_memory.h"
#include "core/base/units.h"
#include "core/engine/device_read.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kReadSizes[] = {64ull << 10, 1ull << 20,   8ull << 20,
                                   64ull << 20, 256ull << 20, 1ull << 30};
constexpr uint64_t kQuickReadSizes[] = {1ull << 20, 128ull << 20};
constexpr uint64_t kFormatTrialBytes = 8ull << 20;  // which plain format reads fastest
constexpr double kSlowReadSeconds = 0.5;  // a pass that takes longer shows nothing that a shorter does not
constexpr uint64_t kCopySizes[] = {4096, 32ull << 20};
constexpr uint32_t kChain = 65;
constexpr int64_t kSmall = 256;  // rows and columns of a node that is next to no work

// Beyond any cache, so that one row of activation is bound by memory as it is in a model.
constexpr uint64_t kWeightBytes = 128ull << 20, kQuickWeightBytes = 64ull << 20;
constexpr int64_t kCols = 4096;
constexpr int64_t kRowUnit = 64;
constexpr int64_t kFewTokens[] = {1, 2, 4, 8}, kManyTokens[] = {32, 128, 512};
constexpr int64_t kQuickFewTokens[] = {1, 8}, kQuickManyTokens[] = {512};
constexpr size_t kQuickFormats = 6;
constexpr double kLeastSeconds = 0.1;  // for a format: with less its figures are noise
constexpr double kOthersShare = 0.4;   // of the time, for all that comes before the formats

// The commonest first, as time may end.
constexpr Format kFormats[] = {
    Format::kQ4_K,    Format::kQ8_0,  Format::kQ6_K,   Format::kQ4_0,    Format::kF16,   Format::kBF16,
    Format::kQ5_K,    Format::kF32,   Format::kQ4_1,   Format::kIQ4_XS,  Format::kMXFP4, Format::kNVFP4,
    Format::kIQ4_NL,  Format::kQ3_K,  Format::kQ2_K,   Format::kQ5_0,    Format::kQ5_1,  Format::kIQ3_S,
    Format::kIQ3_XXS, Format::kIQ2_S, Format::kIQ2_XS, Format::kIQ2_XXS, Format::kIQ1_M, Format::kIQ1_S};

class DeviceProber {
 public:
  DeviceProber(Device& device, const DeviceProbeOptions& options, std::vector<std::string>* notices)
      : device_(device), options_(options), notices_(*notices), start_(Clock::now()) {
    probe_.identity.name = device.name();
  }

  StatusOr<DeviceProbe> Run() {
    MOTLEY_RETURN_IF_ERROR(Launches());
    MOTLEY_RETURN_IF_ERROR(Reads());
    MOTLEY_RETURN_IF_ERROR(Copies());
    MOTLEY_RETURN_IF_ERROR(Linears());
    return std::move(probe_);
  }

 private:
  double Left() const {
    return options_.seconds - std::chrono::duration<double>(Clock::now() - start_).count();
  }
  void Tell(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }
  MeasureLimits Limits(double share) const {
    MeasureLimits limits;
    limits.seconds = std::max(options_.seconds * share, 0.01);
    return limits;
  }

  // A segment of one small node, and of many: the difference is what a node costs.
  Status Launches() {
    Tell("launch");
    for (Format format : {Format::kF32, Format::kF16, Format::kQ8_0, Format::kQ4_K}) {
      const auto one = LinearLoop::Create(device_, {format, kSmall, kSmall, 1, 1});
      if (!one.ok() && one.status().code() == Code::kUnimplemented) continue;
      if (!one.ok()) return one.status();
      MOTLEY_ASSIGN_OR_RETURN(probe_.launch_s, (*one)->Measure(1, Limits(0.01), options_.cancelled));
      MOTLEY_ASSIGN_OR_RETURN(const auto chain,
                              LinearLoop::Create(device_, {format, kSmall, kSmall, 1, kChain}));
      MOTLEY_ASSIGN_OR_RETURN(const Figure many, chain->Measure(1, Limits(0.01), options_.cancelled));
      const auto node = [&](double all, double first) { return std::max(all - first, 1e-9) / (kChain - 1); };
      const double launch = probe_.launch_s.median;
      probe_.node_s = {node(many.median, launch), node(many.low, launch), node(many.high, launch), many.runs};
      return OkStatus();
    }
    notices_.push_back(device_.name() + ": runs no linear node of a common format: nothing more is measured");
    return OkStatus();
  }

  Status Reads() {
    if (probe_.launch_s.runs == 0) return OkStatus();
    Tell("read");
    const auto trial =
        MeasureDeviceRead(device_, kFormatTrialBytes, Limits(0.01).seconds, options_.cancelled);
    if (!trial.ok()) {
      if (trial.status().code() == Code::kCancelled) return trial.status();
      notices_.push_back(trial.status().message());
      return OkStatus();
    }
    const std::span<const uint64_t> sizes =
        options_.quick ? std::span<const uint64_t>(kQuickReadSizes) : std::span<const uint64_t>(kReadSizes);
    double rate = trial->bytes_per_s.median;
    for (uint64_t bytes : sizes) {
      if (static_cast<double>(bytes) / rate > kSlowReadSeconds || bytes > MostWeightBytes()) break;
      if (Left() < options_.seconds * (1 - kOthersShare)) break;
      Tell("read " + FormatSize(bytes));
      MOTLEY_ASSIGN_OR_RETURN(const DeviceRead read, MeasureDeviceRead(device_, bytes, Limits(0.02).seconds,
                                                                       options_.cancelled, trial->format));
      probe_.reads.push_back({read.bytes, read.bytes_per_s});
      rate = read.bytes_per_s.median;
    }
    if (probe_.reads.empty()) probe_.reads.push_back({trial->bytes, trial->bytes_per_s});
    return OkStatus();
  }

  Status Copies() {
    Tell("copies");
    MOTLEY_ASSIGN_OR_RETURN(Fence fence, device_.CreateFence());
    MOTLEY_ASSIGN_OR_RETURN(Queue queue, device_.CreateQueue());
    uint64_t value = 0;
    for (uint64_t bytes : kCopySizes) {
      if (bytes > MostWeightBytes()) continue;
      MOTLEY_ASSIGN_OR_RETURN(const Buffer buffer, device_.AllocBuffer(bytes, Usage::kWork));
      std::vector<std::byte> host(bytes, std::byte{1});
      for (const bool to_device : {true, false}) {
        const auto figure = Measure(Limits(0.01), [&]() -> StatusOr<double> {
          if (options_.cancelled && options_.cancelled()) return CancelledError("interrupted");
          const motley_point point = fence.At(++value);
          const motley_sync sync = MakeSync({}, {&point, 1});
          const auto start = Clock::now();
          MOTLEY_RETURN_IF_ERROR(to_device ? queue.Write(buffer.Whole(), host.data(), &sync)
                                           : queue.Read(host.data(), buffer.Whole(), &sync));
          MOTLEY_RETURN_IF_ERROR(queue.Flush());
          MOTLEY_RETURN_IF_ERROR(fence.Wait(value));
          return std::chrono::duration<double>(Clock::now() - start).count();
        });
        if (!figure.ok()) return figure.status();
        probe_.copies.push_back({to_device, bytes, *figure});
      }
    }
    return OkStatus();
  }

  Status Linears() {
    if (probe_.launch_s.runs == 0) return OkStatus();
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<Format> formats, RunnableFormats());
    std::vector<std::string> late;
    for (size_t i = 0; i < formats.size(); ++i) {
      // What was asked for by name, and the commonest format, are measured though the time is up.
      const bool must = i == 0 || !options_.formats.empty();
      const double seconds =
          std::max(Left() / static_cast<double>(formats.size() - i), must ? kLeastSeconds : 0);
      const std::string name(FormatName(formats[i]));
      if (seconds < kLeastSeconds) {
        late.push_back(name);
        continue;
      }
      Tell("linear " + name);
      const Status status = LinearRates(formats[i], seconds);
      if (status.code() == Code::kCancelled || status.code() == Code::kUnavailable) return status;
      if (!status.ok()) notices_.push_back("linear " + name + ": " + status.message());
    }
    if (!late.empty()) {
      notices_.push_back(device_.name() + ": the time was up before " + ListNames(late, 40) +
                         ": --format measures the formats that you choose");
    }
    return OkStatus();
  }

  // Those that the device runs, found with a weight that costs nothing. Formats asked for by name must be
  // among them.
  StatusOr<std::vector<Format>> RunnableFormats() {
    std::vector<Format> wanted = options_.formats, runnable;
    if (wanted.empty()) wanted.assign(std::begin(kFormats), std::end(kFormats));
    for (Format format : wanted) {
      const auto loop = LinearLoop::Create(device_, {format, kSmall, kSmall, 1, 1});
      if (loop.ok()) {
        runnable.push_back(format);
      } else if (loop.status().code() != Code::kUnimplemented) {
        return loop.status();
      } else if (!options_.formats.empty()) {
        notices_.push_back(loop.status().message());
      }
      if (options_.quick && options_.formats.empty() && runnable.size() == kQuickFormats) break;
    }
    return runnable;
  }

  // Few rows over a weight beyond the caches; many rows, where the arithmetic is the limit, over one that is
  // so small that a run fits into the time.
  Status LinearRates(Format format, double seconds) {
    MOTLEY_ASSIGN_OR_RETURN(const uint64_t row_bytes, FormatBytes(format, kCols));
    uint64_t bytes = std::min(options_.quick ? kQuickWeightBytes : kWeightBytes, MostWeightBytes());
    // Not more than is read in a part of the time, of which packing takes one too.
    double rate = probe_.reads.empty() ? 1e9 : probe_.reads.back().bytes_per_s.median;
    if (elements_per_s_ > 0) rate = elements_per_s_ * static_cast<double>(row_bytes) / kCols;
    bytes = std::min(bytes, static_cast<uint64_t>(rate * seconds / 20));
    const int64_t rows = RoundRows(static_cast<double>(bytes / row_bytes));
    const std::span<const int64_t> few = options_.quick ? std::span<const int64_t>(kQuickFewTokens)
                                                        : std::span<const int64_t>(kFewTokens),
                                   many = options_.quick ? std::span<const int64_t>(kQuickManyTokens)
                                                         : std::span<const int64_t>(kManyTokens);
    MOTLEY_RETURN_IF_ERROR(LinearRows(format, rows, few, seconds * 0.35));
    const LinearRow& last = probe_.linears.back();
    const double operations_per_s =
        2.0 * static_cast<double>(last.rows * last.cols * last.tokens) / last.seconds.median;
    elements_per_s_ = operations_per_s / 2 / static_cast<double>(last.tokens);
    const double fits = operations_per_s * seconds * 0.04 / (2.0 * kCols * static_cast<double>(many.back()));
    return LinearRows(format, std::min(rows, RoundRows(fits)), many, seconds * 0.35);
  }

  Status LinearRows(Format format, int64_t rows, std::span<const int64_t> tokens, double seconds) {
    const auto loop = LinearLoop::Create(device_, {format, rows, kCols, tokens.back(), 1});
    if (!loop.ok()) return loop.status();
    for (int64_t count : tokens) {
      MeasureLimits limits;
      limits.seconds = seconds / static_cast<double>(tokens.size());
      MOTLEY_ASSIGN_OR_RETURN(const Figure took, (*loop)->Measure(count, limits, options_.cancelled));
      probe_.linears.push_back({format, count, rows, kCols, (*loop)->weight_bytes(), took});
    }
    return OkStatus();
  }

  static int64_t RoundRows(double rows) {
    return std::max<int64_t>(1, static_cast<int64_t>(rows) / kRowUnit) * kRowUnit;
  }

  // Of one weight, so that it and what it is packed from leave room for others.
  uint64_t MostWeightBytes() const {
    uint64_t most = device_.info().max_alloc / 2;
    if (const auto memory = device_.Memory(); memory.ok()) most = std::min(most, memory->free_bytes / 4);
    if (const auto memory = ReadSystemMemory(); memory.ok())
      most = std::min(most, memory->available_bytes / 4);
    return most;
  }

  Device& device_;
  const DeviceProbeOptions& options_;
  std::vector<std::string>& notices_;
  const Clock::time_point start_;
  double elements_per_s_ = 0;  // of a weight with one row of activation, at least: from the format before
  DeviceProbe probe_;
};

}  // namespace

StatusOr<DeviceProbe> ProbeDevice(Device& device, const DeviceProbeOptions& options,
                                  std::vector<std::string>* notices) {
  return DeviceProber(device, options, notices).Run();
}

}  // namespace motley
