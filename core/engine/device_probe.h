// ProbeDevice: what one device does, measured through the ABI alone. Inside core/engine; Probe (probe.h) is
// for tools.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/device.h"
#include "core/base/status.h"
#include "core/engine/linear_loop.h"
#include "core/plan/probe_profile.h"

namespace motley {

struct DeviceProbeOptions {
  double seconds = 20;  // about
  bool quick = false;
  std::vector<Format> formats;                          // empty = the usual ones
  Cancelled cancelled;                                  // may be empty
  std::function<void(std::string_view what)> progress;  // may be empty
};

// What was not measured is told in *notices, by the device's name.
StatusOr<DeviceProbe> ProbeDevice(Device& device, const DeviceProbeOptions& options,
                                  std::vector<std::string>* notices);

}  // namespace motley
