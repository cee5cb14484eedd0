#include "tools/motley/profile.h"

#include <cstdlib>

namespace motley {

std::string DefaultProfilePath() {
  const char *state = std::getenv("XDG_STATE_HOME"), *home = std::getenv("HOME");
  return DefaultProfilePath(state == nullptr ? "" : state, home == nullptr ? "" : home);
}

StatusOr<LoadedProfile> OpenProfile(const Config& config, const OpenedBackends& opened) {
  MOTLEY_ASSIGN_OR_RETURN(LoadedProfile loaded,
                          LoadProfile(config, DefaultProfilePath(), ReadHostIdentity(opened.host->threads()),
                                      opened.backends->devices()));
  for (const std::string& notice : loaded.notices)
    opened.logger->Write(LogLevel::kWarning, "profile", notice);
  return loaded;
}

StatusOr<LoadedProfile> OpenProfileIfSound(const Config& config, const OpenedBackends& opened) {
  StatusOr<LoadedProfile> loaded = OpenProfile(config, opened);
  if (loaded.ok() || !config.probe.profile.empty()) return loaded;
  opened.logger->Write(LogLevel::kWarning, "profile", loaded.status().message() + "; it is ignored");
  return LoadedProfile();
}

}  // namespace motley
