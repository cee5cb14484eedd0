#include "tools/motley/launcher.h"

namespace motley {

void AddPlan(CLI::App& app, Launcher& launcher) {
  AddCommand(app, launcher, "plan", "", "", [](Launcher&) { return UnimplementedError("not yet"); });
}

}  // namespace motley
