#include "core/engine/device_read.h"

#include <algorithm>

namespace motley {
namespace {

// A format that is cheap to decode shows the memory, and not the arithmetic.
constexpr Format kFormats[] = {Format::kF16, Format::kF32, Format::kQ8_0};
constexpr int64_t kColumnUnit = 32;
constexpr int64_t kMostColumns = 8192;

// A weight of about `bytes`, neither so wide that a row is all of it nor so narrow that a row is nothing.
StatusOr<LinearSpec> SpecFor(Format format, uint64_t bytes) {
  MOTLEY_ASSIGN_OR_RETURN(const uint64_t unit_bytes, FormatBytes(format, kColumnUnit));
  LinearSpec spec;
  spec.format = format;
  spec.cols = kColumnUnit;
  while (spec.cols < kMostColumns &&
         static_cast<uint64_t>(4 * spec.cols * spec.cols / kColumnUnit) * unit_bytes <= bytes)
    spec.cols *= 2;
  const uint64_t row_bytes = static_cast<uint64_t>(spec.cols / kColumnUnit) * unit_bytes;
  spec.rows = std::max<int64_t>(1, static_cast<int64_t>(bytes / row_bytes));
  return spec;
}

}  // namespace

StatusOr<DeviceRead> MeasureDeviceRead(Device& device, uint64_t bytes, double seconds,
                                       const Cancelled& cancelled, std::optional<Format> only) {
  MOTLEY_ASSIGN_OR_RETURN(const MemoryInfo memory, device.Memory());
  // Room for what a plugin packs, and what it packs from.
  bytes = std::min({bytes, memory.free_bytes / 3, device.info().max_alloc / 2});
  DeviceRead best;
  Status refusal = UnimplementedError(device.name() + ": runs no linear node");
  for (Format format : kFormats) {
    if (only && format != *only) continue;
    MOTLEY_ASSIGN_OR_RETURN(const LinearSpec spec, SpecFor(format, bytes));
    const auto loop = LinearLoop::Create(device, spec);
    if (!loop.ok()) {
      if (loop.status().code() != Code::kUnimplemented) return loop.status();
      refusal = loop.status();
      continue;
    }
    MeasureLimits limits;
    limits.seconds = seconds;
    MOTLEY_ASSIGN_OR_RETURN(const Figure took, (*loop)->Measure(1, limits, cancelled));
    const Figure rate = RateOf(static_cast<double>((*loop)->weight_bytes()), took);
    if (rate.median <= best.bytes_per_s.median) continue;
    best = {rate, (*loop)->weight_bytes(), format};
  }
  if (best.bytes_per_s.runs == 0) return refusal;
  return best;
}

}  // namespace motley
