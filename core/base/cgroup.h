// What this process may use of the machine: memory and CPU limits of its control groups (v1, v2 and both at once)
// and the CPU affinity.
//
// A container sees the whole machine in /proc, so a budget taken from there alone is killed for it. Every group
// from the process's own up to the mount counts, as a parent's limit may be the smaller one.
// Functions read files below `root` ("/" in production, a made-up tree in tests); any thread; nothing is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace motley {

struct CgroupLimits {
  // The group with the least memory left; absent = no limit. used: less its file pages, which the kernel gives back
  // (a model file that was read before is not a reason to refuse it), as MemAvailable counts them.
  std::optional<uint64_t> memory_limit_bytes;
  uint64_t memory_used_bytes = 0;
  std::string memory_source;  // the file of that limit

  std::optional<double> cpus;  // CPU time a wall second; absent = no limit
  std::string cpu_source;

  // Limit less used, not below 0. Only with memory_limit_bytes.
  uint64_t memory_left_bytes() const {
    return *memory_limit_bytes > memory_used_bytes ? *memory_limit_bytes - memory_used_bytes : 0;
  }
};

// A group that cannot be read (no such mount, odd text) sets no limit.
CgroupLimits ReadCgroupLimits(const std::string& root = "/");

struct CpuAllowance {
  std::vector<int> cpus;        // numbers of the CPUs this process may run on
  std::optional<double> quota;  // CPU time a wall second
  std::string source;           // "affinity", or the file of the quota: the smaller of the two

  // How many threads may compute at once: min(affinity, quota rounded down), at least 1.
  uint32_t threads() const;
};

// This process's affinity and the quota below `root`.
CpuAllowance ReadCpuAllowance(const std::string& root = "/");

// "0-3,8,10-11" -> {0,1,2,3,8,10,11}; what cannot be read is left out. The form of the kernel's cpulist files.
std::vector<int> ParseCpuList(const std::string& text);

}  // namespace motley
