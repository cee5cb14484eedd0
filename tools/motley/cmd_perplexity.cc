#include "tools/motley/launcher.h"

namespace motley {

void AddPerplexity(CLI::App& app, Launcher& launcher) {
  AddCommand(app, launcher, "perplexity", "", "", [](Launcher&) { return UnimplementedError("not yet"); });
}

}  // namespace motley
