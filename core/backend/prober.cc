#include "core/backend/prober.h"

#include <sys/stat.h>

#include <chrono>
#include <ctime>

#include "core/backend/plugin_probe.h"
#include "core/base/sha256.h"
#include "core/base/units.h"

namespace motley {
namespace {

// How long a plugin that hung is left alone: asking it again costs its whole deadline.
constexpr int64_t kHungHolds_s = 600;

StatusOr<LibraryId> Identify(const Manifest& manifest) {
  LibraryId id;
  struct stat info;
  if (stat(manifest.library.c_str(), &info) != 0) return NotFoundError(manifest.library + ": cannot be read");
  id.bytes = static_cast<uint64_t>(info.st_size);
  id.sha256 = manifest.sha256;  // was compared with the file's during discovery
  if (id.sha256.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(id.sha256, Sha256OfFile(manifest.library));
  }
  return id;
}

}  // namespace

Prober::Prober(const DiscoveryOptions& options, Logger& logger)
    : program_(options.probe_program), cache_(options.verdict_folder, BootId()), logger_(logger) {}

Status Prober::MayOpen(const Manifest& manifest, const PluginSettings& settings) {
  if (program_.empty() || !settings.probe_in_child.value_or(true)) return OkStatus();
  const StatusOr<LibraryId> library = Identify(manifest);
  if (!library.ok()) return library.status();
  if (std::optional<Status> known = Remembered(*library, manifest, settings)) return *std::move(known);

  const auto begin = std::chrono::steady_clock::now();
  const uint64_t timeout_ns = uint64_t{settings.probe_timeout_s} * 1'000'000'000;
  const StatusOr<ProbeVerdict> verdict = ProbeInChild(program_, manifest.library, timeout_ns);
  if (!verdict.ok()) {
    logger_.Write(told_ ? LogLevel::kDebug : LogLevel::kWarning, "plugins",
                  verdict.status().message() + "; plugins are opened without a probe in a child process");
    told_ = true;
    return OkStatus();
  }
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  logger_.Write(LogLevel::kDebug, "plugin." + manifest.name,
                "probed in a child process in " + FormatTimeNs(static_cast<uint64_t>(took.count())));
  const int64_t now = std::time(nullptr);
  switch (verdict->result) {
    case ProbeResult::kSound: Remember(*library, {true, now, ""}); return OkStatus();
    case ProbeResult::kRefused: return OkStatus();  // its own options may make the difference
    case ProbeResult::kBroken: return verdict->why;
    case ProbeResult::kHung: break;
  }
  Remember(*library, {false, now, verdict->why.message()});
  return DeadlineExceededError(verdict->why.message() + "; plugin." + manifest.name +
                               ".probe_timeout_s gives it more");
}

// What an earlier probe decides, where it decides anything.
std::optional<Status> Prober::Remembered(const LibraryId& library, const Manifest& manifest,
                                         const PluginSettings& settings) {
  if (settings.probe_in_child.has_value()) return std::nullopt;  // asked for: now
  const std::optional<RememberedVerdict> known = cache_.Find(library);
  if (!known) return std::nullopt;
  if (known->sound) return OkStatus();
  const int64_t age_s = std::time(nullptr) - known->unix_s;
  if (age_s < 0 || age_s >= kHungHolds_s) return std::nullopt;
  return DeadlineExceededError(known->why + " (" + std::to_string(age_s) + " s ago; tried again after " +
                               std::to_string(kHungHolds_s / 60) + " minutes, or at once with plugin." +
                               manifest.name + ".probe_in_child = true)");
}

void Prober::Remember(const LibraryId& library, const RememberedVerdict& verdict) {
  const Status status = cache_.Remember(library, verdict);
  if (!status.ok())
    logger_.Write(LogLevel::kInfo, "plugins", status.message() + ": plugins are probed at every start");
}

}  // namespace motley
