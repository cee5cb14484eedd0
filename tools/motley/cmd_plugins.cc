// motley plugins: each plugin found, used or not; with a name, that plugin's options.
#include <algorithm>
#include <memory>

#include <boost/json/array.hpp>

#include "core/base/suggest.h"
#include "core/text/utf8.h"
#include "tools/motley/backends.h"
#include "tools/motley/launcher.h"

namespace motley {
namespace {

struct PluginsFlags {
  std::string name;
  bool schema = false;
};

boost::json::array OptionsJson(const PluginReport& report) {
  boost::json::array options;
  for (const OptionSchema& option : report.options) {
    options.push_back(boost::json::object{{"name", ToValidUtf8(option.name)},
                                          {"type", OptionTypeName(option.type)},
                                          {"default", ToValidUtf8(option.fallback)},
                                          {"allowed", ToValidUtf8(option.allowed)},
                                          {"doc", ToValidUtf8(option.doc)}});
  }
  return options;
}

boost::json::object ReportJson(const PluginReport& report, bool schema) {
  boost::json::array devices;
  for (const std::string& device : report.devices) devices.emplace_back(ToValidUtf8(device));
  boost::json::object object{{"name", ToValidUtf8(report.name)},       {"path", ToValidUtf8(report.path)},
                             {"version", ToValidUtf8(report.version)}, {"vendor", ToValidUtf8(report.vendor)},
                             {"build", ToValidUtf8(report.build)},     {"used", report.used},
                             {"reason", ToValidUtf8(report.reason)},   {"devices", std::move(devices)}};
  if (schema) object["options"] = OptionsJson(report);
  return object;
}

void PrintOptions(const PluginReport& report, Output& out) {
  out.Print(out.Bold("[plugin." + report.name + "]") + "\n");
  out.Print("  enabled (true or false, default true): whether the plugin is used at all\n");
  out.Print("  probe_in_child (true or false): whether it is opened in a child process first; default: true, until it "
            "came through that once\n");
  out.Print("  probe_timeout_s (a whole number, 1..3600, default 10): how many seconds it has for that\n");
  for (const OptionSchema& option : report.options) {
    std::string line = "  " + option.name + " (" + std::string(OptionTypeName(option.type));
    if (!option.allowed.empty()) line += ", " + option.allowed;
    if (!option.fallback.empty()) line += ", default " + option.fallback;
    out.Print(line + "): " + option.doc + "\n");
  }
}

void PrintReport(const PluginReport& report, Output& out) {
  std::string line = out.Bold(report.name) + (report.version.empty() ? "" : " " + report.version) +
                     (report.vendor.empty() ? "" : " (" + report.vendor + ")");
  line += report.used ? ": used" : ": skipped: " + report.reason;
  out.Print(line + "\n  " + report.path + "\n");
  if (!report.devices.empty()) out.Print("  devices: " + ListNames(report.devices, 64) + "\n");
}

Status Plugins(const PluginsFlags& flags, Launcher& launcher) {
  if (flags.schema && flags.name.empty())
    return InvalidArgumentError(
        "motley plugins: --schema needs a plugin's name: motley plugins NAME --schema");
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  MOTLEY_ASSIGN_OR_RETURN(const OpenedBackends opened, OpenBackends(launcher.flags, config));
  Output& out = launcher.out;
  std::vector<std::string> names;
  boost::json::array all;
  for (const PluginReport& report : opened.backends->reports()) {
    names.push_back(report.name);
    if (!flags.name.empty() && report.name != flags.name) continue;
    if (out.json) {
      all.push_back(ReportJson(report, flags.schema));
    } else {
      if (!flags.schema) PrintReport(report, out);
      if (flags.schema) PrintOptions(report, out);
    }
    if (flags.schema && report.options.empty() && !report.reason.empty())
      out.Note(report.name + " was skipped: " + report.reason);
  }
  if (!flags.name.empty() && std::find(names.begin(), names.end(), flags.name) == names.end()) {
    std::string suggestion = DidYouMean(flags.name, names);
    if (suggestion.empty())
      suggestion = names.empty() ? ": none was found" : ": there are " + ListNames(names);
    return NotFoundError("no plugin \"" + flags.name + "\"" + suggestion);
  }
  if (out.json) out.PrintJson({{"plugins", std::move(all)}});
  if (names.empty())
    out.Note("no plugin was found; folders searched: " +
             ListNames(std::vector<std::string>(opened.backends->folders().begin(),
                                                opened.backends->folders().end())));
  return OkStatus();
}

}  // namespace

void AddPlugins(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<PluginsFlags>();
  CLI::App* command =
      AddCommand(app, launcher, "plugins", "each plugin found, used or skipped and why; and its options",
                 "  motley plugins\n"
                 "  motley plugins cpu_avx512 --schema   what may stand in [plugin.cpu_avx512]",
                 [flags](Launcher& l) { return Plugins(*flags, l); });
  command->add_option("NAME", flags->name, "one plugin only");
  command->add_flag("--schema", flags->schema, "the options that the plugin takes");
}

}  // namespace motley
