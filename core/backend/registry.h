// Backends: every device of every plugin that could be used, and a reason for each that could not.
//
// Made in main after the Host, which must outlive it. Open runs in one thread; reading afterwards is free to all.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/backend/device.h"
#include "core/backend/discovery.h"
#include "core/backend/host.h"
#include "core/backend/prober.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace motley {

class Backends {
 public:
  // A plugin that fails is skipped, with a reason, and leaves the others working. Errors are the operator's: a folder
  // that is not there (NOT_FOUND), a wrong option, options for a plugin that nobody found (INVALID_ARGUMENT).
  static StatusOr<std::unique_ptr<Backends>> Open(const DiscoveryOptions& options, Host& host, Logger& logger);

  // All of them, in the order of discovery, but reference devices behind the others and test devices last. They live
  // as long as this.
  std::span<Device* const> devices() const { return device_pointers_; }
  Device* Find(std::string_view name) const;  // nullptr where there is none

  // One a candidate, used or not.
  std::span<const PluginReport> reports() const { return reports_; }
  std::span<const std::string> folders() const { return folders_; }

 private:
  Backends() = default;
  Status OpenPlugin(const Manifest& manifest, const PluginSettings& settings, Prober& prober, Host& host,
                    Logger& logger, PluginReport& report);

  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> device_pointers_;
  std::vector<PluginReport> reports_;
  std::vector<std::string> folders_;
};

}  // namespace motley
