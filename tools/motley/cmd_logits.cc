#include "tools/motley/launcher.h"

namespace motley {

void AddLogits(CLI::App& app, Launcher& launcher) {
  AddCommand(app, launcher, "logits", "", "", [](Launcher&) { return UnimplementedError("not yet"); });
}

}  // namespace motley
