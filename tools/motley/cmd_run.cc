#include "tools/motley/launcher.h"

namespace motley {

void AddRun(CLI::App& app, Launcher& launcher) {
  AddCommand(app, launcher, "run", "", "", [](Launcher&) { return UnimplementedError("not yet"); });
}

}  // namespace motley
