// The probe's profile on disk: where it is, whether it speaks of this machine, and how it is written.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/device.h"
#include "core/base/status.h"
#include "core/engine/config.h"
#include "core/plan/probe_profile.h"

namespace motley {

// ${XDG_STATE_HOME}/motley/profile.toml, else HOME/.local/state/motley/profile.toml; "" where neither is an
// absolute path.
std::string DefaultProfilePath(std::string_view xdg_state_home, std::string_view home);

// This machine; `root` as in ReadSystemMemory. threads: that compute at once.
HostIdentity ReadHostIdentity(uint32_t threads, const std::string& root = "/");

// Options: as [plugin.NAME] sets them, for the profile to be told from one that was made with others. The
// library is read for its hash.
StatusOr<DeviceIdentity> IdentifyDevice(const Device& device, const Config& config);

struct LoadedProfile {
  std::string path;  // of the file that was read; "" = there is none
  std::optional<ProbeProfile>
      profile;  // with the devices alone that are as they were measured; absent = nothing of use
  std::vector<std::string> notices;  // what was ignored and why: another machine, another build of a plugin
};

// Reads config.probe.profile, or `default_path` ("" = none) where the configuration names no file. NOT_FOUND:
// the file that the configuration names is missing; a missing default is no error. INVALID_ARGUMENT: a
// corrupt file, with the place.
StatusOr<LoadedProfile> LoadProfile(const Config& config, const std::string& default_path,
                                    const HostIdentity& host, std::span<Device* const> devices);

// Whether a profile could be written to `path`, before the time to measure one is spent; makes the folders.
Status CheckProfilePath(const std::string& path);

// Writes beside `path` first and then takes its place, so that nobody reads half of it; makes the folders.
Status WriteProfile(const ProbeProfile& profile, const std::string& path);

}  // namespace motley
