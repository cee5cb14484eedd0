// The plugins that a configuration finds, for commands that need no model.
#pragma once

#include <memory>

#include "core/backend/host.h"
#include "core/backend/registry.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/engine/config.h"
#include "tools/motley/launcher.h"

namespace motley {

// Where plugins are looked for: the configuration's folders, MOTLEY_PLUGIN_PATH, the install prefix.
DiscoveryOptions DiscoveryOf(const Config& config);

// Everything that devices stand on, destroyed in the right order.
struct OpenedBackends {
  std::unique_ptr<Logger> logger;
  std::unique_ptr<Host> host;
  std::unique_ptr<Backends> backends;
};
StatusOr<OpenedBackends> OpenBackends(const CommonFlags& flags, const Config& config);

}  // namespace motley
