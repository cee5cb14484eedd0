// The probe's profile, as the commands of the launcher use it.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/engine/profile_file.h"
#include "tools/motley/backends.h"

namespace motley {

// Where motley probe writes, and where the others look, when nobody names a file; "" where this user has no
// home.
std::string DefaultProfilePath();

// The profile for these devices. What was ignored is warned of. A corrupt file is an error, with its place.
StatusOr<LoadedProfile> OpenProfile(const Config& config, const OpenedBackends& opened);

// The same for a command that does something else: a corrupt default file is warned of, and there is no
// profile then. One that the configuration names is an error all the same.
StatusOr<LoadedProfile> OpenProfileIfSound(const Config& config, const OpenedBackends& opened);

}  // namespace motley
