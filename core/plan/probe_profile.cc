#include "core/plan/probe_profile.h"

#include <algorithm>
#include <cstdio>

#include "core/base/units.h"

namespace motley {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04X", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Nine digits: no measurement has more. TOML wants a point or an exponent in a number that is not whole.
std::string Number(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.9g", value);
  std::string text = buffer;
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string FigureText(const char* unit, const Figure& figure) {
  return std::string(unit) + " = [" + Number(figure.median) + ", " + Number(figure.low) + ", " +
         Number(figure.high) + "], runs = " + std::to_string(figure.runs);
}

std::string Line(const char* key, const std::string& value) {
  return std::string(key) + " = " + value + "\n";
}

template <typename Row, typename F>
std::string Rows(const char* key, const std::vector<Row>& rows, F&& text_of) {
  if (rows.empty()) return "";
  std::string text = std::string(key) + " = [\n";
  for (const Row& row : rows) text += "  { " + text_of(row) + " },\n";
  return text + "]\n";
}

std::string DeviceText(const DeviceProbe& device) {
  const DeviceIdentity& id = device.identity;
  std::string text = "\n[[device]]\n";
  text += Line("name", Quoted(id.name)) + Line("plugin", Quoted(id.plugin)) +
          Line("version", Quoted(id.version)) + Line("build", Quoted(id.build)) +
          Line("options", Quoted(id.options));
  if (device.launch_s.runs > 0) text += Line("launch", "{ " + FigureText("seconds", device.launch_s) + " }");
  if (device.node_s.runs > 0) text += Line("node", "{ " + FigureText("seconds", device.node_s) + " }");
  text += Rows("read", device.reads, [](const DeviceReadRow& row) {
    return "bytes = " + std::to_string(row.bytes) + ", " + FigureText("bytes_per_s", row.bytes_per_s);
  });
  text += Rows("copy", device.copies, [](const CopyRow& row) {
    return std::string("to_device = ") + (row.to_device ? "true" : "false") +
           ", bytes = " + std::to_string(row.bytes) + ", " + FigureText("seconds", row.seconds);
  });
  text += Rows("linear", device.linears, [](const LinearRow& row) {
    return "format = " + Quoted(FormatName(row.format)) + ", tokens = " + std::to_string(row.tokens) +
           ", rows = " + std::to_string(row.rows) + ", cols = " + std::to_string(row.cols) +
           ", weight_bytes = " + std::to_string(row.weight_bytes) + ", " + FigureText("seconds", row.seconds);
  });
  return text;
}

}  // namespace

const DeviceProbe* ProbeProfile::Find(std::string_view device) const {
  for (const DeviceProbe& probe : devices) {
    if (probe.identity.name == device) return &probe;
  }
  return nullptr;
}

std::string FormatProbeProfile(const ProbeProfile& profile) {
  std::string text =
      "# Measured by motley probe; motley plan and motley bench predict times from it.\n"
      "# A measured value is [median, lower quartile, upper quartile].\n";
  text += Line("schema", std::to_string(kProbeSchema)) + Line("date", Quoted(profile.date)) +
          Line("motley", Quoted(profile.motley)) + Line("quick", profile.quick ? "true" : "false");
  text += "\n[host]\n" + Line("cpu", Quoted(profile.host.cpu)) +
          Line("threads", std::to_string(profile.host.threads)) +
          Line("memory_bytes", std::to_string(profile.host.memory_bytes));
  text += Rows("read", profile.reads, [](const HostReadRow& row) {
    return "pages = " + Quoted(PageKindName(row.pages)) + ", bytes = " + std::to_string(row.bytes) + ", " +
           FigureText("bytes_per_s", row.bytes_per_s);
  });
  for (const DeviceProbe& device : profile.devices) text += DeviceText(device);
  return text;
}

std::string WhyOtherHost(const HostIdentity& profile, const HostIdentity& now) {
  if (profile.cpu != now.cpu) return "its CPU is \"" + profile.cpu + "\", this one's \"" + now.cpu + "\"";
  if (profile.threads != now.threads) {
    return "it computed with " + std::to_string(profile.threads) + " threads, this machine does with " +
           std::to_string(now.threads);
  }
  const uint64_t more = std::max(profile.memory_bytes, now.memory_bytes),
                 less = std::min(profile.memory_bytes, now.memory_bytes);
  if (more - less > more / 16) {
    return "its memory is " + FormatSize(profile.memory_bytes) + ", this one's " +
           FormatSize(now.memory_bytes);
  }
  return "";
}

std::string WhyOtherDevice(const DeviceIdentity& profile, const DeviceIdentity& now) {
  const struct {
    const char* what;
    const std::string &then, &today;
  } rows[] = {{"plugin", profile.plugin, now.plugin},
              {"version", profile.version, now.version},
              {"options", profile.options, now.options}};
  for (const auto& row : rows) {
    if (row.then == row.today) continue;
    const auto shown = [](const std::string& text) {
      return text.empty() ? std::string("none") : "\"" + text + "\"";
    };
    return std::string("plugin ") + (row.what == std::string("plugin") ? "name" : row.what) + " then " +
           shown(row.then) + ", now " + shown(row.today);
  }
  if (profile.build != now.build) {
    return "plugin " + now.plugin + " was built anew since (" + profile.build.substr(0, 12) + ", now " +
           now.build.substr(0, 12) + ")";
  }
  return "";
}

}  // namespace motley
