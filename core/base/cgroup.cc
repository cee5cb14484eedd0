#include "core/base/cgroup.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>

namespace motley {
namespace {

// One hierarchy as the process sees it: where it is mounted, which group that mount shows, which group we are
// in.
struct Mount {
  std::string folder;  // mount point, without `root`
  std::string shown;   // group at the mount point
  std::string group;   // ours
  bool v2 = false;
};

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  // Proc and cgroup files are small; a made-up endless one shall not fill memory.
  for (char c; text.size() < (1u << 20) && file.get(c);) text += c;
  return text;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(separator, start), text.size());
    parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::optional<int64_t> ToInteger(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<uint64_t> ReadBytes(const std::string& path) {
  const std::optional<int64_t> value = ToInteger(ReadText(path));
  if (!value || *value < 0) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

bool ListContains(std::string_view list, std::string_view word) {
  for (const std::string& item : Split(list, ',')) {
    if (item == word) return true;
  }
  return false;
}

// The group of `controller` in /proc/self/cgroup ("4:memory:/a/b"); v2 is the line "0::/a".
std::optional<std::string> GroupOf(const std::string& root, std::string_view controller, bool v2) {
  for (const std::string& line : Split(ReadText(root + "/proc/self/cgroup"), '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : ListContains(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The mounts of v1's `controller` and of v2, from /proc/self/mountinfo (proc(5)): id parent dev ROOT POINT
// options
// ... - TYPE source SUPER_OPTIONS.
std::vector<Mount> MountsOf(const std::string& root, std::string_view controller) {
  std::vector<Mount> mounts;
  for (const std::string& line : Split(ReadText(root + "/proc/self/mountinfo"), '\n')) {
    const std::vector<std::string> words = Split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const bool v2 = dash[1] == "cgroup2";
    if (!v2 && !(dash[1] == "cgroup" && ListContains(dash[3], controller))) continue;
    const std::optional<std::string> group = GroupOf(root, controller, v2);
    if (group) mounts.push_back({words[4], words[3], *group, v2});
  }
  return mounts;
}

// Folders from our group up to the mount point, as paths on this machine.
std::vector<std::string> GroupFolders(const std::string& root, const Mount& mount) {
  std::string below = mount.group;
  // In a container without a cgroup namespace the mount shows a subtree: cut its root off.
  if (mount.shown != "/" && below.substr(0, mount.shown.size()) == mount.shown)
    below.erase(0, mount.shown.size());
  std::vector<std::string> folders;
  while (!below.empty() && below.back() == '/') below.pop_back();
  while (!below.empty()) {
    if (below.find("/..") == std::string::npos) folders.push_back(root + mount.folder + below);
    below.erase(std::min(below.rfind('/'), below.size()));
  }
  folders.push_back(root + mount.folder);
  return folders;
}

// A line "name N" of memory.stat.
uint64_t Statistic(const std::string& path, std::string_view name) {
  for (const std::string& line : Split(ReadText(path), '\n')) {
    if (line.size() > name.size() && line.compare(0, name.size(), name) == 0 && line[name.size()] == ' ') {
      const std::optional<int64_t> value = ToInteger(std::string_view(line).substr(name.size() + 1));
      if (value && *value > 0) return static_cast<uint64_t>(*value);
    }
  }
  return 0;
}

void TakeMemoryLimit(const std::string& folder, bool v2, CgroupLimits& limits) {
  // v1 writes "no limit" as the largest multiple of a page below 2^63.
  constexpr uint64_t kUnlimited = uint64_t{1} << 62;
  const std::string file = folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes");
  const std::optional<uint64_t> limit = ReadBytes(file);
  if (!limit || *limit >= kUnlimited) return;
  CgroupLimits found;
  found.memory_limit_bytes = limit;
  const uint64_t used = ReadBytes(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
  const std::string stat = folder + "/memory.stat";
  const uint64_t cache = Statistic(stat, v2 ? "inactive_file" : "total_inactive_file") +
                         Statistic(stat, v2 ? "active_file" : "total_active_file");
  found.memory_used_bytes = used > cache ? used - cache : 0;
  if (limits.memory_limit_bytes && limits.memory_left_bytes() <= found.memory_left_bytes()) return;
  limits.memory_limit_bytes = found.memory_limit_bytes;
  limits.memory_used_bytes = found.memory_used_bytes;
  limits.memory_source = file;
}

void TakeCpuLimit(const std::string& folder, bool v2, CgroupLimits& limits) {
  std::optional<int64_t> quota, period;
  std::string file;
  if (v2) {  // "MAX PERIOD", in microseconds; "max" = none
    file = folder + "/cpu.max";
    const std::vector<std::string> words = Split(ReadText(file), ' ');
    if (words.size() == 2) quota = ToInteger(words[0]), period = ToInteger(words[1]);
  } else {  // -1 = none
    file = folder + "/cpu.cfs_quota_us";
    quota = ToInteger(ReadText(file));
    period = ToInteger(ReadText(folder + "/cpu.cfs_period_us"));
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return;
  const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
  if (limits.cpus && *limits.cpus <= cpus) return;
  limits.cpus = cpus;
  limits.cpu_source = file;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& root_folder) {
  std::string root = root_folder;
  while (!root.empty() && root.back() == '/') root.pop_back();
  CgroupLimits limits;
  for (const Mount& mount : MountsOf(root, "memory")) {
    for (const std::string& folder : GroupFolders(root, mount)) TakeMemoryLimit(folder, mount.v2, limits);
  }
  for (const Mount& mount : MountsOf(root, "cpu")) {
    for (const std::string& folder : GroupFolders(root, mount)) TakeCpuLimit(folder, mount.v2, limits);
  }
  return limits;
}

uint32_t CpuAllowance::threads() const {
  const double affinity = static_cast<double>(cpus.size());
  // Rounded down: the member of a team that is throttled holds up all others.
  const double allowed = std::min(affinity, std::floor(quota.value_or(affinity)));
  return static_cast<uint32_t>(std::max(1.0, allowed));
}

CpuAllowance ReadCpuAllowance(const std::string& root) {
  CpuAllowance allowance;
  // Machines with more than 1024 CPUs need a larger set than cpu_set_t.
  for (size_t count = 1024; count <= (1u << 16) && allowance.cpus.empty(); count *= 4) {
    cpu_set_t* set = CPU_ALLOC(count);
    if (set == nullptr) break;
    if (sched_getaffinity(0, CPU_ALLOC_SIZE(count), set) == 0) {
      for (size_t cpu = 0; cpu < count; ++cpu) {
        if (CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(count), set)) allowance.cpus.push_back(static_cast<int>(cpu));
      }
    }
    CPU_FREE(set);
  }
  if (allowance.cpus.empty()) allowance.cpus.push_back(0);
  const CgroupLimits limits = ReadCgroupLimits(root);
  allowance.quota = limits.cpus;
  const bool by_quota = limits.cpus && *limits.cpus < static_cast<double>(allowance.cpus.size());
  allowance.source = by_quota ? limits.cpu_source : "affinity";
  return allowance;
}

std::vector<int> ParseCpuList(const std::string& text) {
  constexpr int64_t kMostCpus = 1 << 16;
  std::vector<int> cpus;
  for (const std::string& item : Split(text, ',')) {
    const size_t dash = item.find('-');
    const std::optional<int64_t> first = ToInteger(std::string_view(item).substr(0, dash));
    const std::optional<int64_t> last =
        dash == std::string::npos ? first : ToInteger(std::string_view(item).substr(dash + 1));
    if (!first || !last || *first < 0 || *last >= kMostCpus) continue;
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

}  // namespace motley
