#include "tools/motley/launcher.h"

namespace motley {

void AddBench(CLI::App& app, Launcher& launcher) {
  AddCommand(app, launcher, "bench", "", "", [](Launcher&) { return UnimplementedError("not yet"); });
}

}  // namespace motley
