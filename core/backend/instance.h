// Instance: an opened plugin and its compute table. Every handle that came from it keeps it, so it closes after the
// last of them; the Host must outlive it. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <motley/plugin.h>

#include "core/backend/host.h"
#include "core/backend/library.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace motley {

class Instance {
 public:
  // Opens the plugin and takes MOTLEY_IFACE_COMPUTE version 1. Refused: a status, an exception or NULL from open, a
  // table that is too short, a required function that is missing. What was opened is closed again.
  static StatusOr<std::shared_ptr<Instance>> Open(std::shared_ptr<Library> library, const OptionValues& values,
                                                  Host& host, Logger& logger);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  motley_instance* raw() const { return raw_; }
  // All functions but fence_notify are there.
  const motley_compute& compute() const { return *compute_; }
  const Library& library() const { return *library_; }
  const std::string& plugin() const { return library_->name(); }
  bool has_fence_notify() const;

  // The handles of its devices, at least one.
  StatusOr<std::vector<motley_device*>> Devices() const;

  // For what fails where nobody can be told: a destructor.
  void Warn(const Status& status) const;

 private:
  Instance(std::shared_ptr<Library> library, Host& host, Logger& logger);

  std::shared_ptr<Library> library_;
  Host& host_;
  Logger& logger_;
  const motley_host* table_ = nullptr;
  motley_instance* raw_ = nullptr;
  const motley_compute* compute_ = nullptr;
};

}  // namespace motley
