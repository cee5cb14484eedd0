#include "core/backend/registry.h"

#include <algorithm>

#include "core/base/suggest.h"

namespace motley {
namespace {

// Options for a plugin that nobody found are a mistake in writing, not a plugin that does not fit this
// machine.
Status CheckNames(const DiscoveryOptions& options, const Discovery& found) {
  std::vector<std::string> names;
  for (const Candidate& candidate : found.candidates) names.push_back(candidate.report.name);
  for (const auto& [name, settings] : options.plugins) {
    if (!settings.enabled || std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string position = settings.position;
    if (position.empty() && !settings.options.empty()) position = settings.options.front().position;
    const std::string near = DidYouMean(name, names);
    const std::string searched = found.folders.empty() ? "no folder to search" : ListNames(found.folders);
    return InvalidArgumentError((position.empty() ? "" : position + ": ") + "plugin." + name +
                                ": there is no such plugin" +
                                (near.empty() ? "; searched: " + searched : near));
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<Library>> LoadLibrary(const Manifest& manifest, PluginReport& report) {
  MOTLEY_ASSIGN_OR_RETURN(std::shared_ptr<Library> library, Library::Load(manifest.library));
  report.version = library->version();
  report.vendor = library->vendor();
  report.build = library->build();
  report.options = library->options();
  if (library->name() == manifest.name) return library;
  return FailedPreconditionError(manifest.library + ": calls itself \"" + library->name() +
                                 "\", its manifest is " + manifest.name + std::string(kManifestSuffix) +
                                 ": both names must be equal");
}

using Devices = std::vector<std::unique_ptr<Device>>;

StatusOr<Devices> OpenDevices(std::shared_ptr<Library> library, const OptionValues& values, Host& host,
                              Logger& logger) {
  MOTLEY_ASSIGN_OR_RETURN(const std::shared_ptr<Instance> instance,
                          Instance::Open(std::move(library), values, host, logger));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<motley_device*> handles, instance->Devices());
  Devices devices;
  for (motley_device* handle : handles) {
    MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, Device::Make(instance, handle));
    devices.push_back(std::move(device));
  }
  return devices;
}

// The order of opening, and so of devices(): what serves first has its threads first, test devices come last.
std::vector<const Candidate*> InOrder(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> order;
  for (const Candidate& candidate : candidates) order.push_back(&candidate);
  const auto rank = [](const Candidate* c) {
    return c->manifest.kind == "test" ? 2 : c->manifest.kind == "reference" ? 1 : 0;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Candidate* a, const Candidate* b) { return rank(a) < rank(b); });
  return order;
}

// Skipping is worth a warning but where the plugin is well and its hardware is not here.
void Skip(const Status& why, Logger& logger, PluginReport& report) {
  report.reason = why.message();
  const bool absent =
      why.code() == Code::kNotFound || why.code() == Code::kUnavailable || why.code() == Code::kUnimplemented;
  logger.Write(absent ? LogLevel::kInfo : LogLevel::kWarning, "plugin." + report.name,
               "skipped: " + report.reason);
}

}  // namespace

StatusOr<std::unique_ptr<Backends>> Backends::Open(const DiscoveryOptions& options, Host& host,
                                                   Logger& logger) {
  MOTLEY_ASSIGN_OR_RETURN(Discovery found, Discover(options));
  MOTLEY_RETURN_IF_ERROR(CheckNames(options, found));
  for (const std::string& warning : found.warnings) logger.Write(LogLevel::kWarning, "plugins", warning);

  std::unique_ptr<Backends> backends(new Backends());
  backends->folders_ = found.folders;
  Prober prober(options, logger);
  for (const Candidate* candidate : InOrder(found.candidates)) {
    PluginReport report = candidate->report;
    if (report.reason.empty()) {
      const auto it = options.plugins.find(report.name);
      const PluginSettings settings = it != options.plugins.end() ? it->second : PluginSettings();
      MOTLEY_RETURN_IF_ERROR(backends->OpenPlugin(candidate->manifest, settings, prober, host, logger, report));
    } else {
      logger.Write(LogLevel::kInfo, "plugin." + report.name, "skipped: " + report.reason);
    }
    backends->reports_.push_back(std::move(report));
  }
  return backends;
}

Device* Backends::Find(std::string_view name) const {
  for (Device* device : device_pointers_) {
    if (device->name() == name) return device;
  }
  return nullptr;
}

// Only an error of the operator's comes back; the plugin's own go to the report.
Status Backends::OpenPlugin(const Manifest& manifest, const PluginSettings& settings, Prober& prober, Host& host,
                            Logger& logger, PluginReport& report) {
  if (const Status sound = prober.MayOpen(manifest, settings); !sound.ok())
    return Skip(sound, logger, report), OkStatus();
  StatusOr<std::shared_ptr<Library>> library = LoadLibrary(manifest, report);
  if (!library.ok()) return Skip(library.status(), logger, report), OkStatus();
  MOTLEY_ASSIGN_OR_RETURN(const OptionValues values,
                          ResolveOptions(manifest.name, (*library)->options(), settings.options));
  StatusOr<Devices> devices = OpenDevices(*std::move(library), values, host, logger);
  if (!devices.ok()) return Skip(devices.status(), logger, report), OkStatus();

  std::vector<std::string> names;
  for (const auto& device : *devices) {
    if (Find(device->name()) != nullptr ||
        std::find(names.begin(), names.end(), device->name()) != names.end()) {
      Skip(FailedPreconditionError(manifest.library + ": its device \"" + device->name() +
                                   "\" is there already"),
           logger, report);
      return OkStatus();
    }
    names.push_back(device->name());
  }
  for (auto& device : *devices) {
    device_pointers_.push_back(device.get());
    devices_.push_back(std::move(device));
  }
  report.used = true;
  report.devices = std::move(names);
  logger.Write(LogLevel::kDebug, "plugin." + report.name, "version " + report.version + " of " + report.path);
  return OkStatus();
}

}  // namespace motley
