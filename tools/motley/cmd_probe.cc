// motley probe: measures this machine, and writes the profile from which plan and bench predict.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include <boost/json/array.hpp>

#include "core/base/units.h"
#include "core/engine/planning.h"
#include "core/engine/probe.h"
#include "core/text/utf8.h"
#include "tools/motley/backends.h"
#include "tools/motley/format_flag.h"
#include "tools/motley/profile.h"

namespace motley {
namespace {

constexpr double kSeconds = 45,
                 kQuickSeconds = 7;  // of measuring; opening, making and packing weights come on top

struct ProbeFlags {
  bool quick = false;
  double seconds = 0;  // 0 = kSeconds or kQuickSeconds
  std::string out;
  std::vector<std::string> formats;
};

std::string Number(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

// "12.34 (12.10 to 12.50)", in units of 10^9.
std::string Giga(const Figure& rate) {
  return Number("%.2f", rate.median / 1e9) + " (" + Number("%.2f", rate.low / 1e9) + " to " +
         Number("%.2f", rate.high / 1e9) + ")";
}

std::string Microseconds(const Figure& seconds) {
  return Number("%.2f us", seconds.median * 1e6) + " (" + Number("%.2f", seconds.low * 1e6) + " to " +
         Number("%.2f", seconds.high * 1e6) + ")";
}

Figure WeightRate(const LinearRow& row) {
  return RateOf(static_cast<double>(row.weight_bytes), row.seconds);
}
Figure Operations(const LinearRow& row) {
  return RateOf(
      2.0 * static_cast<double>(row.rows) * static_cast<double>(row.cols) * static_cast<double>(row.tokens),
      row.seconds);
}

boost::json::object FigureJson(const Figure& figure) {
  return {{"median", figure.median}, {"low", figure.low}, {"high", figure.high}, {"runs", figure.runs}};
}

boost::json::object DeviceJson(const DeviceProbe& device) {
  boost::json::array reads, copies, linears;
  for (const DeviceReadRow& row : device.reads)
    reads.push_back(boost::json::object{{"bytes", row.bytes}, {"bytes_per_s", FigureJson(row.bytes_per_s)}});
  for (const CopyRow& row : device.copies) {
    copies.push_back(
        boost::json::object{{"to_device", row.to_device},
                            {"bytes", row.bytes},
                            {"seconds", FigureJson(row.seconds)},
                            {"bytes_per_s", static_cast<double>(row.bytes) / row.seconds.median}});
  }
  for (const LinearRow& row : device.linears) {
    linears.push_back(boost::json::object{{"format", FormatName(row.format)},
                                          {"tokens", row.tokens},
                                          {"rows", row.rows},
                                          {"cols", row.cols},
                                          {"weight_bytes", row.weight_bytes},
                                          {"seconds", FigureJson(row.seconds)},
                                          {"bytes_per_s", WeightRate(row).median},
                                          {"ops_per_s", Operations(row).median}});
  }
  const DeviceIdentity& id = device.identity;
  return {{"name", ToValidUtf8(id.name)},        {"plugin", ToValidUtf8(id.plugin)},
          {"version", ToValidUtf8(id.version)},  {"build", id.build},
          {"options", ToValidUtf8(id.options)},  {"launch_s", FigureJson(device.launch_s)},
          {"node_s", FigureJson(device.node_s)}, {"read", std::move(reads)},
          {"copy", std::move(copies)},           {"linear", std::move(linears)}};
}

void PrintJson(const ProbeProfile& profile, const std::vector<std::string>& notices, const std::string& path,
               Output& out) {
  boost::json::array reads, devices, told;
  for (const HostReadRow& row : profile.reads) {
    reads.push_back(boost::json::object{{"pages", PageKindName(row.pages)},
                                        {"bytes", row.bytes},
                                        {"bytes_per_s", FigureJson(row.bytes_per_s)}});
  }
  for (const DeviceProbe& device : profile.devices) devices.push_back(DeviceJson(device));
  for (const std::string& notice : notices) told.emplace_back(ToValidUtf8(notice));
  out.PrintJson({{"profile", ToValidUtf8(path)},
                 {"date", profile.date},
                 {"quick", profile.quick},
                 {"host",
                  {{"cpu", ToValidUtf8(profile.host.cpu)},
                   {"threads", profile.host.threads},
                   {"memory_bytes", profile.host.memory_bytes},
                   {"read", std::move(reads)}}},
                 {"devices", std::move(devices)},
                 {"notices", std::move(told)}});
}

void PrintHost(const ProbeProfile& profile, Output& out) {
  out.Print(out.Bold("host") + "  " + profile.host.cpu + ", " + std::to_string(profile.host.threads) +
            (profile.host.threads == 1 ? " thread, " : " threads, ") + FormatSize(profile.host.memory_bytes) +
            "\n");
  std::vector<std::vector<std::string>> rows{{"read from", "pages", "GB/s (half of the passes)"}};
  for (const HostReadRow& row : profile.reads)
    rows.push_back({FormatSize(row.bytes), std::string(PageKindName(row.pages)), Giga(row.bytes_per_s)});
  out.Print(FormatTable(rows));
}

void PrintDevice(const DeviceProbe& device, Output& out) {
  const DeviceIdentity& id = device.identity;
  out.Print("\n" + out.Bold(id.name) + "  plugin " + id.plugin + " " + id.version +
            (id.options.empty() ? "" : ", " + id.options) + "\n");
  if (device.launch_s.runs > 0)
    out.Print("launch " + Microseconds(device.launch_s) + ", each further node " +
              Microseconds(device.node_s) + "\n");
  std::vector<std::vector<std::string>> rows{{"", "bytes", "GB/s (half of the runs)"}};
  for (const DeviceReadRow& row : device.reads)
    rows.push_back({"read", FormatSize(row.bytes), Giga(row.bytes_per_s)});
  for (const CopyRow& row : device.copies) {
    rows.push_back(
        {row.to_device ? "copy to it" : "copy from it", FormatSize(row.bytes),
         Giga(RateOf(static_cast<double>(row.bytes), row.seconds)) + ", " + Microseconds(row.seconds)});
  }
  if (rows.size() > 1) out.Print(FormatTable(rows));
  rows = {{"linear", "rows", "GB/s", "Gop/s (half of the runs)"}};
  for (const LinearRow& row : device.linears) {
    rows.push_back({std::string(FormatName(row.format)), std::to_string(row.tokens),
                    Number("%.2f", WeightRate(row).median / 1e9), Giga(Operations(row))});
  }
  if (rows.size() > 1) out.Print(FormatTable(rows));
}

std::string Now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// The file that -o names, else the configuration's, else the default.
StatusOr<std::string> PathFor(const ProbeFlags& flags, const Config& config) {
  if (!flags.out.empty()) return flags.out;
  if (!config.probe.profile.empty()) return config.probe.profile;
  const std::string path = DefaultProfilePath();
  if (path.empty())
    return InvalidArgumentError("motley probe: neither XDG_STATE_HOME nor HOME is set: name a file with -o");
  return path;
}

Status ProbeMachine(const ProbeFlags& flags, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  MOTLEY_ASSIGN_OR_RETURN(const std::string path, PathFor(flags, config));
  ProbeOptions options;
  for (const std::string& name : flags.formats) {
    MOTLEY_ASSIGN_OR_RETURN(const Format format, ParseFormatFlag(name));
    options.formats.push_back(format);
  }
  launcher.interrupt.OnInterruptOnlySetFlag();
  MOTLEY_ASSIGN_OR_RETURN(const OpenedBackends opened, OpenBackends(launcher.flags, config));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Device*> devices, CandidateDevices(config, *opened.backends));
  MOTLEY_RETURN_IF_ERROR(CheckProfilePath(path));
  options.quick = flags.quick;
  options.seconds = flags.seconds > 0 ? flags.seconds : flags.quick ? kQuickSeconds : kSeconds;
  options.threads = opened.host->threads();
  options.cancelled = [&] { return launcher.interrupt.IsSet(); };
  const bool shows = launcher.out.stderr_is_terminal() && !launcher.out.quiet;
  if (shows) {
    options.progress = [](std::string_view what, double share) {
      std::fprintf(stderr, "\r%3.0f %%  %.*s\x1b[K", 100 * std::clamp(share, 0.0, 1.0),
                   static_cast<int>(what.size()), what.data());
    };
  }
  StatusOr<ProbeResult> probed = Probe(devices, options);
  if (shows) std::fputs("\r\x1b[K", stderr);
  if (!probed.ok()) return probed.status();
  ProbeResult result = *std::move(probed);

  ProbeProfile profile;
  profile.date = Now();
  profile.motley = MOTLEY_VERSION;
  profile.quick = flags.quick;
  profile.host = ReadHostIdentity(opened.host->threads());
  profile.reads = std::move(result.reads);
  profile.devices = std::move(result.devices);
  for (DeviceProbe& device : profile.devices) {
    MOTLEY_ASSIGN_OR_RETURN(device.identity,
                            IdentifyDevice(*opened.backends->Find(device.identity.name), config));
  }
  for (const std::string& notice : result.notices) opened.logger->Write(LogLevel::kWarning, "probe", notice);
  MOTLEY_RETURN_IF_ERROR(WriteProfile(profile, path));
  if (launcher.out.json) {
    PrintJson(profile, result.notices, path, launcher.out);
    return OkStatus();
  }
  PrintHost(profile, launcher.out);
  for (const DeviceProbe& device : profile.devices) PrintDevice(device, launcher.out);
  launcher.out.Note("written to " + path);
  return OkStatus();
}

}  // namespace

void AddProbe(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<ProbeFlags>();
  CLI::App* command = AddCommand(
      app, launcher, "probe", "measures this machine's memory and devices, and writes a profile",
      "  motley probe                             under a minute; plan and bench read what it writes\n"
      "  motley probe --quick                     under ten seconds, and rougher\n"
      "  motley probe --device cpu_avx512:0 --format Q4_K --format Q6_K -o q4.toml",
      [flags](Launcher& l) { return ProbeMachine(*flags, l); });
  command->add_flag("--quick", flags->quick, "fewer sizes, formats and runs");
  command->add_option("--seconds", flags->seconds, "about how long to measure; default: 45, quick 7")
      ->type_name("N")
      ->check(CLI::Range(0.1, 3600.0));
  command
      ->add_option("-o,--output", flags->out,
                   "the file to write; default: probe.profile, else the one in the state folder")
      ->type_name("FILE");
  command->add_option("--format", flags->formats, "measure only weights of this format (repeatable)")
      ->type_name("FORMAT")
      ->allow_extra_args(false);
}

}  // namespace motley
