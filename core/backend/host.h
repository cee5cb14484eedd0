// Host: what the core lends to plugins - a log and teams of compute threads.
//
// One object a process, made in main before Backends and destroyed after every Device, Buffer, Queue, Fence and
// Program. Thread-safe, but for the rules of a team in <motley/plugin.h>.
//
// Teams. The compute threads of all plugins are the host's, so that their sum stays inside what the process may
// use. A team of n has n - 1 threads of its own, as its caller is member 0. All teams together own at most
// `threads` - 1 of them (HostOptions). A team that would go beyond is refused with RESOURCE_EXHAUSTED, never made
// smaller: team_run promises exactly n members at once. A team of 1 owns nothing and is never refused, so a device
// that may choose asks again with less (docs/decisions/010-teams.md).
// Members spin for a few tens of microseconds after a run, then sleep on a futex; an idle process costs nothing.
// team_run allocates nothing. A run inside a run, or two runs of one team at once, is refused: an error is logged
// and fn is not called.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <motley/plugin.h>

#include "core/base/cgroup.h"
#include "core/base/log.h"

namespace motley {

struct HostOptions {
  uint32_t threads = 0;   // CPUs that compute at once, over all teams; 0 = what affinity and quota allow
  uint32_t spin_us = 50;  // after a run, before sleeping; less is taken where threads share CPUs
  std::string root = "/"; // of the files that are read: /proc, /sys
};

class Host {
 public:
  explicit Host(Logger& logger, HostOptions options = {});
  ~Host();  // destroys what teams are left, and says whose they were
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // The table for one plugin; its messages are logged as "plugin.NAME". Lives as long as the Host, so that a
  // plugin that failed to stop its threads does not call into freed memory.
  const motley_host* LendTo(std::string_view plugin);

  // Destroys teams that `table`'s plugin has left behind; their number. Called after its close returned 0.
  uint32_t ReclaimTeams(const motley_host* table);

  uint32_t threads() const;              // CPUs that may compute at once
  uint32_t threads_left() const;         // largest team that would be made now
  const CpuAllowance& allowance() const; // of the machine, whatever HostOptions say

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
