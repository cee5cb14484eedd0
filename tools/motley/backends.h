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

// Everything that devices stand on, destroyed in the right order.
struct OpenedBackends {
  std::unique_ptr<Logger> logger;
  std::unique_ptr<Host> host;
  std::unique_ptr<Backends> backends;
};

// The configuration's folders are searched, then MOTLEY_PLUGIN_PATH, then the install prefix.
StatusOr<OpenedBackends> OpenBackends(const CommonFlags& flags, const Config& config);

}  // namespace motley
