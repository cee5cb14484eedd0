#include "core/engine/lost_devices.h"

#include <algorithm>

namespace motley {
namespace {

// The plugin's words alone: what the core puts before them is the device's name and the function that was
// called.
std::string PluginsWords(const Device& device, const std::string& message) {
  const std::string prefix = device.name() + ": device_memory: ";
  return message.rfind(prefix, 0) == 0 ? message.substr(prefix.size()) : message;
}

}  // namespace

bool LostDevices::Find(std::span<Device* const> devices) {
  const size_t known = lost_.size();
  for (const Device* device : devices) {
    if (Has(*device)) continue;
    const Status status = device->Memory().status();
    if (status.code() == Code::kUnavailable)
      lost_.push_back({device, PluginsWords(*device, status.message())});
  }
  return lost_.size() > known;
}

bool LostDevices::Has(const Device& device) const {
  return std::any_of(lost_.begin(), lost_.end(), [&](const Lost& lost) { return lost.device == &device; });
}

bool LostDevices::Has(const std::string& name) const {
  return std::any_of(lost_.begin(), lost_.end(),
                     [&](const Lost& lost) { return lost.device->name() == name; });
}

std::string LostDevices::Text(size_t first) const {
  std::string text;
  for (size_t i = first; i < lost_.size(); ++i) {
    text +=
        (i > first ? "; device " : "device ") + lost_[i].device->name() + " was lost (" + lost_[i].why + ")";
  }
  return text;
}

Config LostDevices::WithoutTheirPins(const Config& config, std::vector<std::string>* notices) const {
  Config kept = config;
  std::erase_if(kept.placement.pins, [&](const ConfigPin& pin) {
    if (!Has(pin.on)) return false;
    notices->push_back("pin " + pin.what + " = " + pin.on + " falls away: that device was lost");
    return true;
  });
  return kept;
}

}  // namespace motley
