#include "tools/motley/backends.h"

#include <cstdlib>

#include "core/engine/engine.h"

namespace motley {

StatusOr<OpenedBackends> OpenBackends(const CommonFlags& flags, const Config& config) {
  OpenedBackends opened;
  opened.logger = std::make_unique<Logger>(LogLevelOf(flags, config));
  opened.host = std::make_unique<Host>(*opened.logger);
  const char* path = std::getenv("MOTLEY_PLUGIN_PATH");
  const std::string verdicts = VerdictFolder(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME"));
  MOTLEY_ASSIGN_OR_RETURN(opened.backends, OpenBackends(config, *opened.host, *opened.logger,
                                                        path == nullptr ? "" : path, verdicts));
  return opened;
}

}  // namespace motley
