// motley plan: where each part would go and what it takes, with no weight read.
#include <memory>

#include "core/engine/engine.h"
#include "tools/motley/backends.h"
#include "tools/motley/launcher.h"
#include "tools/motley/plan_report.h"
#include "tools/motley/profile.h"

namespace motley {
namespace {

struct PlanFlags {
  bool explain = false, toml = false;
  KeyFlag profile;
};

Status Plan(const PlanFlags& flags, Launcher& launcher) {
  Output& out = launcher.out;
  if (flags.toml && out.json) return InvalidArgumentError("motley plan: --toml and --json: choose one");
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags, {&flags.profile}));
  if (config.model.path.empty())
    return InvalidArgumentError(
        "motley plan: no model: give one by -m MODEL, or as model.path in the TOML file");
  MOTLEY_ASSIGN_OR_RETURN(const OpenedBackends opened, OpenBackends(launcher.flags, config));
  MOTLEY_ASSIGN_OR_RETURN(const ModelFiles files, OpenModel(config.model.path, *opened.logger));
  MOTLEY_ASSIGN_OR_RETURN(const LoadedProfile profile, OpenProfile(config, opened));
  PlanningOptions options;
  options.profile = profile.profile ? &*profile.profile : nullptr;
  MOTLEY_ASSIGN_OR_RETURN(const auto planned,
                          MakePlan(config, *files.model, *files.file, *opened.backends, options));
  if (out.json) {
    out.PrintJson(PlanJson(*planned));
  } else if (flags.toml) {
    out.Print(PlanToml(planned->report));
  } else {
    out.Print(PlanText(*planned, out, flags.explain));
  }
  return OkStatus();
}

}  // namespace

void AddPlan(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<PlanFlags>();
  CLI::App* command =
      AddCommand(app, launcher, "plan", "where each part of a model would go, and whether it fits",
                 "  motley plan -m model.gguf\n"
                 "  motley plan -m model.gguf --pin \"layers.*.experts=cpu_avx512:0\" --explain\n"
                 "  motley plan -m model.gguf --toml >> motley.toml      keep what was planned",
                 [flags](Launcher& l) { return Plan(*flags, l); });
  AddModelFlag(*command, launcher);
  command->add_flag("--explain", flags->explain, "why devices are unused, and what runs in which order");
  AddKeyFlag(*command, flags->profile, "--profile", "probe.profile", "what motley probe wrote, for times; default: the one in the state folder");
  command->add_flag("--toml", flags->toml, "the placement as pins for the TOML file");
}

}  // namespace motley
