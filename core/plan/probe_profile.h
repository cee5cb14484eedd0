// ProbeProfile: what `motley probe` measured of a machine and its devices, as plain data and as the TOML file
// that keeps it. `motley plan` and `motley bench` predict times from it.
//
//   schema = 1
//   date = "2026-11-30T12:00:00Z"
//   [host]
//   cpu = "AMD EPYC 7763 64-Core Processor"
//   threads = 16                  # that computed at once
//   memory_bytes = 134217728000
//   read = [
//     { pages = "base", bytes = 65536, bytes_per_s = [4.1e11, 4.0e11, 4.2e11], runs = 12 },
//   ]
//   [[device]]
//   name = "cpu_avx2:0"
//   plugin = "cpu_avx2"
//   version = "0.1.0"
//   build = "0123..."             # sha256 of the plugin's library
//   options = "threads = 16"      # of [plugin.NAME], as they were set
//   launch = { seconds = [...], runs = 9 }
//   ...
//
// A measured value is [median, lower quartile, upper quartile]. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/figure.h"
#include "core/base/host_pages.h"
#include "core/base/status.h"
#include "core/tensor/format.h"

namespace motley {

inline constexpr int64_t kProbeSchema = 1;
inline constexpr uint64_t kMaxProfileBytes = 4ull << 20;  // of the file

// The machine. Speeds are of as many threads as may compute.
struct HostIdentity {
  std::string cpu;
  uint32_t threads = 0;
  uint64_t memory_bytes = 0;
};

struct HostReadRow {
  PageKind pages = PageKind::kBase;
  uint64_t bytes = 0;  // of the working set, over all threads
  Figure bytes_per_s;
};

// A device, the plugin that drives it and how it was set up: any of them changes its speeds.
struct DeviceIdentity {
  std::string name;  // "cpu_avx2:0"
  std::string plugin, version;
  std::string build;    // sha256 of the library
  std::string options;  // of the plugin, in the order of their names; "" = none set
};

struct DeviceReadRow {
  uint64_t bytes = 0;  // of the weight that was read
  Figure bytes_per_s;
};

struct CopyRow {
  bool to_device = false;  // else from the device to the host
  uint64_t bytes = 0;
  Figure seconds;
};

struct LinearRow {
  Format format = Format::kF32;
  int64_t tokens = 0;          // rows of the activation
  int64_t rows = 0, cols = 0;  // of the weight
  uint64_t weight_bytes = 0;   // as the device holds it
  Figure seconds;
};

struct DeviceProbe {
  DeviceIdentity identity;
  Figure launch_s;                   // a segment of one small node
  Figure node_s;                     // each further small node in a segment
  std::vector<DeviceReadRow> reads;  // by rising bytes
  std::vector<CopyRow> copies;
  std::vector<LinearRow> linears;
};

struct ProbeProfile {
  std::string date;    // UTC, "2026-11-30T12:00:00Z"
  std::string motley;  // version that wrote it
  bool quick = false;  // fewer and shorter measurements
  HostIdentity host;
  std::vector<HostReadRow> reads;
  std::vector<DeviceProbe> devices;

  const DeviceProbe* Find(std::string_view device) const;  // nullptr where it was not measured
};

// The file's text; ParseProbeProfile gives the same profile back.
std::string FormatProbeProfile(const ProbeProfile& profile);

// INVALID_ARGUMENT names the place, the value and the fix: `profile.toml:7:11: host.threads = "8": must be
// ...`. FAILED_PRECONDITION: a sound file of another schema, which this version cannot use.
StatusOr<ProbeProfile> ParseProbeProfile(std::string_view text, const std::string& file_name);

// What differs, for people ("its CPU is ..., this one's ..."); "" where they are the same. Memory is the same
// within a sixteenth, as kernels keep some of it for themselves.
std::string WhyOtherHost(const HostIdentity& profile, const HostIdentity& now);
std::string WhyOtherDevice(const DeviceIdentity& profile, const DeviceIdentity& now);

}  // namespace motley
