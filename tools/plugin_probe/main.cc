// motley-plugin-probe LIBRARY: opens one plugin and ends. The host starts it before it opens a plugin itself;
// it lies beside the plugins. It reports on a descriptor of the host's (core/backend/plugin_probe.h), so it
// says nothing to somebody who starts it by hand: motley plugins is for that.
#include <cstdio>

#include "core/backend/plugin_probe.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs(
        "motley-plugin-probe is started by motley; \"motley plugins\" says what became of each plugin\n",
        stderr);
    return 2;
  }
  return motley::ProbeInThisProcess(argv[1]);
}
