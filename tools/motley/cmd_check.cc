#include "tools/motley/launcher.h"

namespace motley {

void AddCheck(CLI::App& app, Launcher& launcher) {
  AddCommand(app, launcher, "check", "", "", [](Launcher&) { return UnimplementedError("not yet"); });
}

}  // namespace motley
