#include "tools/motley/backends.h"

#include <cstdlib>

namespace motley {

DiscoveryOptions DiscoveryOf(const Config& config) {
  DiscoveryOptions options;
  options.paths = config.plugins.path;
  if (const char* path = std::getenv("MOTLEY_PLUGIN_PATH")) options.environment = path;
  options.install_folder = InstallFolder();
  options.plugins = config.plugin;
  return options;
}

StatusOr<OpenedBackends> OpenBackends(const CommonFlags& flags, const Config& config) {
  OpenedBackends opened;
  opened.logger = std::make_unique<Logger>(LogLevelOf(flags, config));
  opened.host = std::make_unique<Host>(*opened.logger);
  MOTLEY_ASSIGN_OR_RETURN(opened.backends, Backends::Open(DiscoveryOf(config), *opened.host, *opened.logger));
  return opened;
}

}  // namespace motley
