// Prober: decides by a probe in a child process, or by a remembered one, whether a plugin may be opened in this process
// (docs/decisions/042-probe-in-child.md).
#pragma once

#include <optional>
#include <string>

#include "core/backend/discovery.h"
#include "core/backend/manifest.h"
#include "core/backend/verdict_cache.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace motley {

class Prober {
 public:
  // Without options.probe_program nothing is probed. One thread. `logger` outlives it.
  Prober(const DiscoveryOptions& options, Logger& logger);

  // OK: open it. Otherwise the reason for which it is skipped. A probe that cannot be run is told to the logger and
  // is no reason.
  Status MayOpen(const Manifest& manifest, const PluginSettings& settings);

 private:
  std::optional<Status> Remembered(const LibraryId& library, const Manifest& manifest, const PluginSettings& settings);
  void Remember(const LibraryId& library, const RememberedVerdict& verdict);

  std::string program_;
  VerdictCache cache_;
  Logger& logger_;
  bool told_ = false;  // that probes cannot be run
};

}  // namespace motley
