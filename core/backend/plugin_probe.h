// plugin_probe: a plugin is opened in a child process first, so that what crashes or hangs there leaves the host alone.
//
// The child is a small program (tools/plugin_probe) that calls ProbeInThisProcess; the host calls ProbeInChild. The
// child loads the library, checks its table, opens an instance with the default options, lists its devices, closes and
// ends, and says before each step which it is, so that the host can tell where it stopped.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace motley {

// What the child was doing.
enum class ProbeStep : uint8_t { kStart, kLoad, kOpen, kList, kClose, kExit };

// What a probe has shown.
enum class ProbeResult : uint8_t {
  kSound,    // all steps were done
  kRefused,  // a step was refused in good order, with a code: no hardware, an option that has no default
  kBroken,   // it crashed, threw, or is no plugin that this host can load: not to be opened here
  kHung,     // it did not finish in time: likewise
};

struct ProbeVerdict {
  ProbeResult result = ProbeResult::kSound;
  Status why;  // not OK where the result is not kSound
};

// The host's side. `program`: path of the probe program. An error says why it could not be run at all, which says
// nothing of the plugin. Any thread.
StatusOr<ProbeVerdict> ProbeInChild(const std::string& program, const std::string& library, uint64_t timeout_ns);

// The child's side: `library` is an absolute path. Returns the exit code of the process. It limits the
// process (no core file) and ends with its parent.
int ProbeInThisProcess(const std::string& library);

}  // namespace motley
