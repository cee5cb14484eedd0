// motley devices: each device that was found, and each plugin that was skipped, with the reason.
#include <boost/json/array.hpp>

#include "core/base/units.h"
#include "core/text/utf8.h"
#include "tools/motley/backends.h"
#include "tools/motley/launcher.h"

namespace motley {
namespace {

void PrintJson(const Backends& backends, Output& out) {
  boost::json::array devices, skipped;
  for (const Device* device : backends.devices()) {
    const DeviceInfo& info = device->info();
    devices.push_back(boost::json::object{{"name", ToValidUtf8(info.name)},
                                          {"kind", DeviceKindName(info.kind)},
                                          {"arch", ToValidUtf8(info.arch)},
                                          {"pool", ToValidUtf8(info.pool)},
                                          {"memory_bytes", info.memory_bytes},
                                          {"plugin", ToValidUtf8(device->plugin())}});
  }
  for (const PluginReport& report : backends.reports()) {
    if (!report.used)
      skipped.push_back(
          boost::json::object{{"plugin", ToValidUtf8(report.name)}, {"reason", ToValidUtf8(report.reason)}});
  }
  out.PrintJson({{"devices", std::move(devices)}, {"skipped", std::move(skipped)}});
}

void PrintText(const Backends& backends, Output& out) {
  std::vector<std::vector<std::string>> rows{{"device", "kind", "arch", "pool", "memory"}};
  for (const Device* device : backends.devices()) {
    const DeviceInfo& info = device->info();
    rows.push_back({info.name, std::string(DeviceKindName(info.kind)), info.arch, info.pool,
                    info.memory_bytes == 0 ? "unknown" : FormatSize(info.memory_bytes)});
  }
  if (rows.size() > 1) out.Print(out.Table(rows));
  for (const PluginReport& report : backends.reports()) {
    if (!report.used) out.Print("skipped " + report.name + ": " + report.reason + "\n");
  }
  if (rows.size() > 1) return;
  std::string folders;
  for (const std::string& folder : backends.folders()) folders += "\n  " + folder;
  out.Note("no device was found; folders searched for plugins:" + (folders.empty() ? " none" : folders));
}

Status Devices(Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  MOTLEY_ASSIGN_OR_RETURN(const OpenedBackends opened, OpenBackends(launcher.flags, config));
  if (launcher.out.json) {
    PrintJson(*opened.backends, launcher.out);
  } else {
    PrintText(*opened.backends, launcher.out);
  }
  return OkStatus();
}

}  // namespace

void AddDevices(CLI::App& app, Launcher& launcher) {
  AddCommand(app, launcher, "devices", "each device found, and each plugin skipped, with the reason",
             "  motley devices\n"
             "  motley devices --plugin-path /opt/vendor/motley --json",
             Devices);
}

}  // namespace motley
