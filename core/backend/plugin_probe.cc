#include "core/backend/plugin_probe.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/backend/child_run.h"
#include "core/backend/device.h"
#include "core/backend/instance.h"
#include "core/base/units.h"

namespace motley {
namespace {

// A report is one line a step, "step N", then at most one "refused CODE TEXT".
constexpr std::string_view kStepLine = "step ";
constexpr std::string_view kRefusedLine = "refused ";

std::string_view Doing(ProbeStep step) {
  switch (step) {
    case ProbeStep::kStart: return "before it had begun";
    case ProbeStep::kLoad: return "while loading it";
    case ProbeStep::kOpen: return "while opening an instance";
    case ProbeStep::kList: return "while listing its devices";
    case ProbeStep::kClose: return "while closing the instance";
    case ProbeStep::kExit: return "while ending, after the instance was closed";
  }
  return "";
}

struct Report {
  ProbeStep step = ProbeStep::kStart;
  std::optional<Status> refused;
};

// Reads what a child wrote, which may be cut anywhere. A plugin that writes to the descriptor itself harms its own
// verdict alone.
Report ReadReport(std::string_view text) {
  Report report;
  while (!text.empty()) {
    if (text.substr(0, kRefusedLine.size()) == kRefusedLine) {
      text.remove_prefix(kRefusedLine.size());
      int code = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
      if (error != std::errc() || code == 0 || CodeName(static_cast<Code>(code)) == "UNKNOWN") return report;
      text.remove_prefix(static_cast<size_t>(end - text.data()));
      report.refused = Status(static_cast<Code>(code), std::string(text.substr(text.empty() ? 0 : 1)));
      return report;
    }
    if (text.substr(0, kStepLine.size()) == kStepLine && text.size() > kStepLine.size()) {
      const int step = text[kStepLine.size()] - '0';
      if (step >= 0 && step <= static_cast<int>(ProbeStep::kExit)) report.step = static_cast<ProbeStep>(step);
    }
    const size_t line = text.find('\n');
    if (line == std::string_view::npos) return report;
    text.remove_prefix(line + 1);
  }
  return report;
}

// The last line of what the child said, fit for a message; "" where it said nothing.
std::string LastWords(std::string_view said) {
  constexpr size_t kMost = 160;
  while (!said.empty() && static_cast<unsigned char>(said.back()) <= ' ') said.remove_suffix(1);
  const size_t line = said.rfind('\n');
  if (line != std::string_view::npos) said.remove_prefix(line + 1);
  std::string words(said.substr(0, kMost));
  for (char& c : words) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return words.empty() ? "" : "; it last said: \"" + words + "\"";
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

ProbeVerdict Judge(const ChildRun& run, const std::string& library, uint64_t timeout_ns) {
  const Report report = ReadReport(run.report);
  const std::string doing(Doing(report.step));
  if (run.timed_out) {
    return {ProbeResult::kHung, DeadlineExceededError(library + ": its probe process did not finish within " +
                                                      FormatTimeNs(timeout_ns) + " " + doing + LastWords(run.said))};
  }
  if (run.signal != 0) {
    return {ProbeResult::kBroken, InternalError(library + ": its probe process was killed by " +
                                                SignalName(run.signal) + " " + doing + LastWords(run.said))};
  }
  const bool finished = report.step == ProbeStep::kExit || report.refused.has_value();
  if (run.exit_code != 0 || !finished) {
    return {ProbeResult::kBroken,
            InternalError(library + ": its probe process ended with exit code " + std::to_string(run.exit_code) +
                          " " + doing + LastWords(run.said))};
  }
  if (!report.refused) return {ProbeResult::kSound, OkStatus()};
  const bool broken = report.step == ProbeStep::kLoad || report.refused->code() == Code::kInternal;
  return {broken ? ProbeResult::kBroken : ProbeResult::kRefused, *report.refused};
}

// ---- The child

void Tell(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(kReportFd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody listens any more
    text.remove_prefix(static_cast<size_t>(count));
  }
}

void Tell(ProbeStep step) {
  Tell(std::string(kStepLine) + std::to_string(static_cast<int>(step)) + "\n");
}

Status OpenAndList(const std::string& path, Host& host, Logger& logger) {
  Tell(ProbeStep::kLoad);
  MOTLEY_ASSIGN_OR_RETURN(std::shared_ptr<Library> library, Library::Load(path));
  Tell(ProbeStep::kOpen);
  MOTLEY_ASSIGN_OR_RETURN(const OptionValues values, ResolveOptions(library->name(), library->options(), {}));
  MOTLEY_ASSIGN_OR_RETURN(std::shared_ptr<Instance> instance,
                          Instance::Open(std::move(library), values, host, logger));
  Tell(ProbeStep::kList);
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<motley_device*> handles, instance->Devices());
  for (motley_device* handle : handles) MOTLEY_RETURN_IF_ERROR(Device::Make(instance, handle).status());
  Tell(ProbeStep::kClose);
  instance.reset();
  return OkStatus();
}

}  // namespace

StatusOr<ProbeVerdict> ProbeInChild(const std::string& program, const std::string& library, uint64_t timeout_ns) {
  MOTLEY_ASSIGN_OR_RETURN(const ChildRun run, RunChild(program, {library}, timeout_ns));
  const ProbeVerdict verdict = Judge(run, library, timeout_ns);
  // Nothing of the plugin had been touched: that speaks of the program alone (one of another machine, say, which an
  // emulator cannot start).
  if (!verdict.why.ok() && ReadReport(run.report).step == ProbeStep::kStart)
    return UnavailableError(program + ": " + verdict.why.message());
  return verdict;
}

int ProbeInThisProcess(const std::string& library) {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left to tell
  Logger logger(LogLevel::kError);
  Host host(logger);
  const Status status = OpenAndList(library, host, logger);
  if (status.ok()) {
    Tell(ProbeStep::kExit);
  } else {
    Tell(std::string(kRefusedLine) + std::to_string(static_cast<int>(status.code())) + " " + status.message());
  }
  return 0;
}

}  // namespace motley
