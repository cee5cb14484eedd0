// VerdictCache: what probes of plugins have shown, remembered as one small file a library.
//
// A verdict is of one library (by its sha256 and size), one ABI of the host and one boot of the machine: what a driver
// does to a plugin changes with the driver, which comes with a boot. Files are written beside their place and renamed,
// so that readers see a whole one. Any thread, any number of processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/status.h"

namespace motley {

struct LibraryId {
  std::string sha256;
  uint64_t bytes = 0;
};

struct RememberedVerdict {
  bool sound = false;  // false: it hung
  int64_t unix_s = 0;  // when that was seen
  std::string why;     // of one that hung
};

class VerdictCache {
 public:
  // `folder` is made where it is missing; "" remembers nothing. `boot`: of the machine, BootId().
  VerdictCache(std::string folder, std::string boot) : folder_(std::move(folder)), boot_(std::move(boot)) {}

  // Nothing where there is none, or none that can be believed: another boot, another ABI, a damaged file.
  std::optional<RememberedVerdict> Find(const LibraryId& library) const;
  Status Remember(const LibraryId& library, const RememberedVerdict& verdict) const;

 private:
  std::string folder_, boot_;
};

// /proc/sys/kernel/random/boot_id, "" where it cannot be read: then nothing is remembered.
std::string BootId();

// <cache>/motley/plugins, where `xdg_cache_home` and `home` are values of the environment (may be nullptr); "" where
// neither names an absolute folder.
std::string VerdictFolder(const char* xdg_cache_home, const char* home);

}  // namespace motley
