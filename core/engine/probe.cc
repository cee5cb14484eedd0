#include "core/engine/probe.h"

#include <algorithm>
#include <chrono>

#include "core/base/read_bandwidth.h"
#include "core/base/system_memory.h"
#include "core/base/units.h"
#include "core/engine/device_probe.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kHostSizes[] = {64ull << 10, 512ull << 10, 4ull << 20,
                                   32ull << 20, 256ull << 20, 1ull << 30};
constexpr uint64_t kQuickHostSizes[] = {64ull << 10, 4ull << 20, 128ull << 20};
constexpr PageKind kPageKinds[] = {PageKind::kBase, PageKind::kTransparent, PageKind::kHuge};
constexpr double kHostShare = 0.15;  // of the time

class Prober {
 public:
  Prober(std::span<Device* const> devices, const ProbeOptions& options)
      : devices_(devices), options_(options), start_(Clock::now()) {}

  StatusOr<ProbeResult> Run() {
    MOTLEY_RETURN_IF_ERROR(ProbeHost());
    double weights = 0;
    for (const Device* device : devices_) weights += WeightOf(*device);
    for (Device* device : devices_) {
      const double seconds = (options_.seconds - Spent()) * WeightOf(*device) / weights;
      weights -= WeightOf(*device);
      MOTLEY_RETURN_IF_ERROR(ProbeOne(*device, std::max(seconds, 0.5)));
    }
    return std::move(result_);
  }

 private:
  double Spent() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  // A device that nobody computes on by choice need not be known well.
  static double WeightOf(const Device& device) {
    return device.info().kind == DeviceKind::kReference ? 1 : 4;
  }
  bool IsCancelled() const { return options_.cancelled && options_.cancelled(); }

  Status ProbeHost() {
    const std::span<const uint64_t> sizes =
        options_.quick ? std::span<const uint64_t>(kQuickHostSizes) : std::span<const uint64_t>(kHostSizes);
    uint64_t most = UINT64_MAX;
    if (const auto memory = ReadSystemMemory(); memory.ok()) most = memory->available_bytes / 3;
    const double each =
        options_.seconds * kHostShare / static_cast<double>(sizes.size() * std::size(kPageKinds));
    std::vector<PageKind> kinds(std::begin(kPageKinds), std::end(kPageKinds));
    for (uint64_t bytes : sizes) {
      // Touching a large set may take longer than reading it: on a slow machine the largest are left out.
      if (bytes > most || Spent() > 2 * kHostShare * options_.seconds) break;
      for (size_t k = 0; k < kinds.size();) {
        if (IsCancelled()) return CancelledError("interrupted");
        if (options_.progress) {
          options_.progress(
              "host memory, " + std::string(PageKindName(kinds[k])) + " pages, " + FormatSize(bytes),
              Spent() / options_.seconds);
        }
        MOTLEY_ASSIGN_OR_RETURN(const bool there, ReadHost(kinds[k], bytes, each));
        if (there) {
          ++k;
        } else {
          kinds.erase(kinds.begin() +
                      static_cast<std::ptrdiff_t>(k));  // larger sets won't be in such pages either
        }
      }
    }
    return OkStatus();
  }

  // false: there are no pages of the kind, and a notice says so.
  StatusOr<bool> ReadHost(PageKind kind, uint64_t bytes, double seconds) {
    if (kind != PageKind::kBase) {
      const auto pages = HostPages::Allocate(bytes, kind);
      if (!pages.ok() || pages->kind() != kind) {
        result_.notices.push_back("host: " + (pages.ok() ? pages->notice() : pages.status().message()));
        return false;
      }
    }
    const auto read = MeasureReadBandwidth({bytes, options_.threads, seconds, kind});
    if (!read.ok()) {
      result_.notices.push_back("host: " + read.status().message());
      return false;
    }
    result_.reads.push_back({read->pages, read->bytes, read->bytes_per_s});
    return true;
  }

  Status ProbeOne(Device& device, double seconds) {
    DeviceProbeOptions options;
    options.seconds = seconds;
    options.quick = options_.quick;
    options.formats = options_.formats;
    options.cancelled = options_.cancelled;
    if (options_.progress) {
      options.progress = [&](std::string_view what) {
        options_.progress(device.name() + ", " + std::string(what), Spent() / options_.seconds);
      };
    }
    StatusOr<DeviceProbe> probe = ProbeDevice(device, options, &result_.notices);
    if (probe.ok()) {
      result_.devices.push_back(*std::move(probe));
    } else if (probe.status().code() == Code::kCancelled) {
      return probe.status();
    } else {
      result_.notices.push_back(probe.status().message());
    }
    return OkStatus();
  }

  std::span<Device* const> devices_;
  const ProbeOptions& options_;
  const Clock::time_point start_;
  ProbeResult result_;
};

}  // namespace

StatusOr<ProbeResult> Probe(std::span<Device* const> devices, const ProbeOptions& options) {
  return Prober(devices, options).Run();
}

}  // namespace motley
