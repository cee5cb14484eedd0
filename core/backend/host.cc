#include "core/backend/host.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

#include "core/backend/team.h"

namespace motley {
namespace {

constexpr size_t kLongestLogText = 4096;        // the rest is cut
constexpr uint64_t kUnbelievableText = 1 << 20;  // no length, but garbage: nothing of it is read

// One line of printable text, whatever a plugin hands over.
std::string OneLine(motley_str text) {
  if (text.data == nullptr) return "";
  if (text.size > kUnbelievableText) return "(a text of " + std::to_string(text.size) + " bytes, not read)";
  std::string line(text.data, std::min<size_t>(text.size, kLongestLogText));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

struct Host::Impl {
  // What one plugin holds of the host: `self` of its table.
  struct Lease {
    Impl* host;
    std::string plugin;
    motley_host table;
    std::atomic<bool> told{false};  // that a team was refused
  };
  // What a motley_team* points to.
  struct LentTeam {
    Lease* lease;
    std::unique_ptr<Team> team;
  };

  static void Log(void* self, uint32_t level, motley_str scope, motley_str text);
  static motley_status TeamCreate(void* self, uint32_t threads, int32_t numa_node, motley_team** out);
  static void TeamRun(motley_team* team, TeamFunction fn, void* arg);
  static void TeamDestroy(motley_team* team);

  motley_status CreateTeam(Lease& lease, uint32_t threads, int32_t numa_node, motley_team** out);
  StatusOr<std::vector<int>> CpusOfNode(int32_t numa_node) const;
  uint32_t SpinUs() const;

  Logger& logger;
  HostOptions options;
  CpuAllowance allowance;
  uint32_t threads = 1;
  std::mutex mutex;      // of what follows
  uint32_t members = 0;  // threads of all teams, callers not counted
  std::vector<std::unique_ptr<Lease>> leases;
  std::vector<std::unique_ptr<LentTeam>> teams;
};

Host::Host(Logger& logger, HostOptions options)
    : impl_(new Impl{logger, std::move(options), {}, 1, {}, 0, {}, {}}) {
  impl_->allowance = ReadCpuAllowance(impl_->options.root);
  impl_->threads = impl_->options.threads != 0 ? impl_->options.threads : impl_->allowance.threads();
}

Host::~Host() {
  for (const auto& lent : impl_->teams) {
    impl_->logger.Write(LogLevel::kWarning, "plugin." + lent->lease->plugin, "left a team of threads behind");
  }
}

const motley_host* Host::LendTo(std::string_view plugin) {
  auto lease = std::make_unique<Impl::Lease>();
  lease->host = impl_.get();
  lease->plugin = plugin;
  lease->table = {sizeof(motley_host), MOTLEY_ABI_MINOR, lease.get(),      Impl::Log,
                  Impl::TeamCreate,    Impl::TeamRun,    Impl::TeamDestroy};
  const std::lock_guard lock(impl_->mutex);
  impl_->leases.push_back(std::move(lease));
  return &impl_->leases.back()->table;
}

uint32_t Host::ReclaimTeams(const motley_host* table) {
  std::vector<std::unique_ptr<Impl::LentTeam>> left;
  const std::lock_guard lock(impl_->mutex);
  auto& teams = impl_->teams;
  const auto others = std::partition(teams.begin(), teams.end(),
                                     [&](const auto& lent) { return lent->lease != table->self; });
  std::move(others, teams.end(), std::back_inserter(left));
  teams.erase(others, teams.end());
  for (const auto& lent : left) impl_->members -= lent->team->threads() - 1;
  return static_cast<uint32_t>(left.size());
}

uint32_t Host::threads() const {
  return impl_->threads;
}

uint32_t Host::threads_left() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->threads - impl_->members;
}

const CpuAllowance& Host::allowance() const {
  return impl_->allowance;
}

void Host::Impl::Log(void* self, uint32_t level, motley_str scope, motley_str text) {
  if (self == nullptr) return;
  const Lease& lease = *static_cast<Lease*>(self);
  try {
    const std::string inner = OneLine(scope);
    std::string name = "plugin." + lease.plugin;
    if (!inner.empty() && inner != lease.plugin) name += ": " + inner;
    lease.host->logger.Write(static_cast<LogLevel>(std::min(level, 3u)), name, OneLine(text));
  } catch (...) {  // out of memory: a message is lost, but nothing crosses the ABI
  }
}

motley_status Host::Impl::TeamCreate(void* self, uint32_t threads, int32_t numa_node, motley_team** out) {
  if (self == nullptr || out == nullptr) return MOTLEY_INVALID_ARGUMENT;
  *out = nullptr;
  Lease& lease = *static_cast<Lease*>(self);
  try {
    return lease.host->CreateTeam(lease, threads, numa_node, out);
  } catch (...) {
    return MOTLEY_RESOURCE_EXHAUSTED;  // out of memory
  }
}

void Host::Impl::TeamRun(motley_team* team, TeamFunction fn, void* arg) {
  if (team == nullptr) return;
  LentTeam& lent = *reinterpret_cast<LentTeam*>(team);
  const Status status =
      fn != nullptr ? lent.team->Run(fn, arg) : InvalidArgumentError("team_run: fn is NULL");
  if (status.ok()) return;
  lent.lease->host->logger.Write(LogLevel::kError, "plugin." + lent.lease->plugin, status.message());
}

void Host::Impl::TeamDestroy(motley_team* team) {
  if (team == nullptr) return;
  const Lease& lease = *reinterpret_cast<LentTeam*>(team)->lease;
  Impl& host = *lease.host;
  if (Team::Inside()) {
    host.logger.Write(LogLevel::kError, "plugin." + lease.plugin,
                      "team_destroy inside a run: the team is kept");
    return;
  }
  std::unique_ptr<LentTeam> gone;  // joined after the lock is given back
  const std::lock_guard lock(host.mutex);
  const auto it = std::find_if(host.teams.begin(), host.teams.end(), [&](const auto& lent) {
    return lent.get() == reinterpret_cast<LentTeam*>(team);
  });
  if (it == host.teams.end()) return;
  gone = std::move(*it);
  host.teams.erase(it);
  host.members -= gone->team->threads() - 1;
}

motley_status Host::Impl::CreateTeam(Lease& lease, uint32_t count, int32_t numa_node, motley_team** out) {
  const auto refuse = [&](const Status& why) {
    // A device that asks again with less, and less, fills no log.
    logger.Write(lease.told.exchange(true) ? LogLevel::kDebug : LogLevel::kInfo, "plugin." + lease.plugin,
                 "a team of " + std::to_string(count) + " threads is refused: " + why.message());
    return static_cast<motley_status>(why.code());
  };
  if (count == 0) return refuse(InvalidArgumentError("at least 1"));
  StatusOr<std::vector<int>> cpus = CpusOfNode(numa_node);
  if (!cpus.ok()) return refuse(cpus.status());
  {
    const std::lock_guard lock(mutex);
    if (count - 1 > threads - 1 - members) {
      return refuse(ResourceExhaustedError(
          "the process may use " + std::to_string(threads) + " CPUs (" +
          (options.threads != 0 ? "as set" : allowance.source) + "), and other teams have " +
          std::to_string(members) + " threads; at most " + std::to_string(threads - members) + " now"));
    }
    members += count - 1;  // taken before the threads start, so that two callers cannot both have the last
  }
  StatusOr<std::unique_ptr<Team>> team = Team::Start(count, *cpus, SpinUs());
  const std::lock_guard lock(mutex);
  if (!team.ok()) {
    members -= count - 1;
    return refuse(team.status());
  }
  teams.push_back(std::unique_ptr<LentTeam>(new LentTeam{&lease, *std::move(team)}));
  *out = reinterpret_cast<motley_team*>(teams.back().get());
  return MOTLEY_OK;
}

// The CPUs of a NUMA node that this process may use; empty for -1, any.
StatusOr<std::vector<int>> Host::Impl::CpusOfNode(int32_t numa_node) const {
  if (numa_node == -1) return std::vector<int>();
  if (numa_node < 0) return InvalidArgumentError("NUMA node " + std::to_string(numa_node) + ": -1 = any");
  std::ifstream file((options.root == "/" ? "" : options.root) + "/sys/devices/system/node/node" +
                     std::to_string(numa_node) + "/cpulist");
  std::string text;
  std::getline(file, text);
  std::vector<int> ours;
  for (const int cpu : ParseCpuList(text)) {
    if (std::find(allowance.cpus.begin(), allowance.cpus.end(), cpu) != allowance.cpus.end())
      ours.push_back(cpu);
  }
  if (ours.empty()) {
    return InvalidArgumentError("NUMA node " + std::to_string(numa_node) +
                                " has no CPU that the process may use");
  }
  return ours;
}

uint32_t Host::Impl::SpinUs() const {
  // Where members outnumber the CPUs, one that spins keeps another from running.
  constexpr uint32_t kCrowdedSpinUs = 2;
  return threads > allowance.threads() ? std::min(options.spin_us, kCrowdedSpinUs) : options.spin_us;
}

}  // namespace motley
