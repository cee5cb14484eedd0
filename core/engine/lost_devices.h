// LostDevices: the devices that are gone for good, and what a configuration says without them. One thread.
//
// A lost device answers UNAVAILABLE to every call (motley/plugin.h), so it is asked; whose fences were
// poisoned by whose loss, and in which order, does not matter then.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/backend/device.h"
#include "core/engine/config.h"

namespace motley {

class LostDevices {
 public:
  // Asks the devices that are not known to be lost whether they are still there. True where one more is lost.
  bool Find(std::span<Device* const> devices);

  bool any() const { return !lost_.empty(); }
  bool Has(const Device& device) const;
  bool Has(const std::string& name) const;

  // "device async_device:1 was lost (why); device ..." of those from the `first`-th on, in the order of their
  // loss.
  std::string Text(size_t first = 0) const;
  size_t size() const { return lost_.size(); }

  // The configuration without the pins that name a lost device, each with a notice.
  Config WithoutTheirPins(const Config& config, std::vector<std::string>* notices) const;

 private:
  struct Lost {
    const Device* device;
    std::string why;
  };
  std::vector<Lost> lost_;
};

}  // namespace motley
