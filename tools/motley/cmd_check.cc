// motley check: a TOML file, and the plan it leads to, without loading weights.
#include <memory>

#include "core/engine/engine.h"
#include "core/plan/selector.h"
#include "core/text/utf8.h"
#include "tools/motley/backends.h"
#include "tools/motley/launcher.h"
#include "tools/motley/plan_report.h"

namespace motley {
namespace {

struct CheckFlags {
  std::string file;
  bool keys = false;
};

void PrintKeys(Output& out) {
  if (out.json) {
    boost::json::array keys;
    for (const ConfigKey& key : ConfigKeys())
      keys.push_back(boost::json::object{
          {"key", key.name}, {"type", key.type}, {"default", key.fallback}, {"doc", key.doc}});
    out.PrintJson({{"keys", std::move(keys)}});
    return;
  }
  std::vector<std::vector<std::string>> rows{{"key", "type", "default", "what it is"}};
  for (const ConfigKey& key : ConfigKeys())
    rows.push_back(
        {std::string(key.name), std::string(key.type), std::string(key.fallback), std::string(key.doc)});
  out.Print(out.Table(rows));
  out.Print("\n[plugin.NAME] holds the options of a plugin: motley plugins NAME --schema\n");
}

// Pins without a model: their form and their devices.
StatusOr<PlanReport> CheckPins(const Config& config, const Backends& backends) {
  std::vector<std::string> names;
  for (const Device* device : backends.devices()) names.push_back(device->name());
  PlanReport report;
  for (const ConfigPin& pin : config.placement.pins) {
    const auto selector = ParseSelector(pin.what);
    if (!selector.ok()) return selector.status().WithPrefix(pin.what_position);
    if (Status s = CheckDeviceName(pin.on, names); !s.ok()) return s.WithPrefix(pin.on_position);
    report.pins.push_back({pin.what, pin.on, 0});
  }
  return report;
}

void Report(const PlanReport& report, bool with_model, Output& out) {
  if (out.json) {
    boost::json::array pins = PinsJson(report);
    if (!with_model) {
      for (auto& pin : pins) pin.as_object()["matches"] = nullptr;  // nobody can tell
    }
    out.PrintJson({{"ok", true}, {"model", with_model}, {"pins", std::move(pins)}});
    return;
  }
  if (with_model) {
    out.Print(PinsText(report));
    for (const std::string& notice : report.notices) out.Print("notice: " + notice + "\n");
    out.Print("ok: the file is right and the model fits, with a context of " +
              std::to_string(report.context) + " tokens\n");
  } else {
    out.Print(
        "ok: the file is right; it names no model, so whether pins match and the model fits was not "
        "checked\n");
  }
}

Status Check(const CheckFlags& flags, Launcher& launcher) {
  if (flags.keys) {
    PrintKeys(launcher.out);
    return OkStatus();
  }
  if (!flags.file.empty()) {
    if (!launcher.flags.config_file.empty())
      return InvalidArgumentError("motley check: CONFIG and -c: give the file once");
    launcher.flags.config_file = flags.file;
  }
  if (launcher.flags.config_file.empty())
    return InvalidArgumentError("motley check: which file? Write motley check motley.toml");
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  MOTLEY_ASSIGN_OR_RETURN(const OpenedBackends opened, OpenBackends(launcher.flags, config));
  MOTLEY_RETURN_IF_ERROR(CandidateDevices(config, *opened.backends).status());
  if (config.model.path.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const PlanReport report, CheckPins(config, *opened.backends));
    Report(report, false, launcher.out);
    return OkStatus();
  }
  const auto files = OpenModel(config.model.path, *opened.logger);
  if (!files.ok()) return files.status().WithPrefix(config.Where("model.path"));
  MOTLEY_ASSIGN_OR_RETURN(const auto planned,
                          MakePlan(config, *files->model, *files->file, *opened.backends, {}));
  Report(planned->report, true, launcher.out);
  return OkStatus();
}

}  // namespace

void AddCheck(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = AddCommand(app, launcher, "check",
                                 "whether a TOML file is right, and the plan it leads to; no weight is read",
                                 "  motley check motley.toml\n"
                                 "  motley check motley.toml -m other-model.gguf\n"
                                 "  motley check --keys                      every key of the file",
                                 [flags](Launcher& l) { return Check(*flags, l); });
  AddModelFlag(*command, launcher);
  command->add_option("CONFIG", flags->file, "the TOML file")->type_name("CONFIG");
  command->add_flag("--keys", flags->keys, "print every key that the file may hold");
}

}  // namespace motley
