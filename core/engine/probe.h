// Probe: measures the host's memory and every device through the ABI, for a profile that plans can be made
// from.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/device.h"
#include "core/base/status.h"
#include "core/engine/linear_loop.h"
#include "core/plan/probe_profile.h"

namespace motley {

struct ProbeOptions {
  double seconds = 45;   // of all measurements together, about; what is not measured by then is left out
  bool quick = false;    // fewer sizes, formats and numbers of rows
  uint32_t threads = 1;  // that read the host's memory at once
  std::vector<Format> formats;  // of weights; empty = the usual ones, as far as a device runs them
  Cancelled cancelled;          // may be empty
  std::function<void(std::string_view what, double share)>
      progress;  // what begins now, and the share of the time
};

struct ProbeResult {
  std::vector<HostReadRow> reads;
  std::vector<DeviceProbe> devices;  // in the order that was given; of `identity` the name alone is filled in
  std::vector<std::string> notices;  // what was not measured and why, for people
};

// The machine should have nothing else to do meanwhile. A device that fails is left out with a notice;
// CANCELLED after an interruption.
StatusOr<ProbeResult> Probe(std::span<Device* const> devices, const ProbeOptions& options);

}  // namespace motley
