#include "tools/motley/plan_report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/text/utf8.h"

namespace motley {

boost::json::array PinsJson(const PlanReport& report) {
  boost::json::array pins;
  for (const auto& pin : report.pins) {
    pins.push_back(boost::json::object{{"selector", ToValidUtf8(pin.selector)},
                                       {"device", ToValidUtf8(pin.device)},
                                       {"matches", pin.matches}});
  }
  return pins;
}

namespace {

// A time in seconds, for people.
std::string TimeText(double seconds) { return FormatTimeNs(static_cast<uint64_t>(std::max(0.0, seconds) * 1e9)); }

std::string RateText(double tokens, double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", seconds > 0 ? tokens / seconds : 0.0);
  return text;
}

// Of each device that the compiled plan uses: the sum over its segments.
std::vector<double> DeviceSeconds(const PlannedModel& planned, const StepTime& time) {
  std::vector<double> seconds(planned.compiled->devices().size(), 0);
  for (size_t s = 0; s < time.segment_seconds.size(); ++s)
    seconds[planned.compiled->segments()[s].device] += time.segment_seconds[s];
  return seconds;
}

boost::json::object TimesJson(const PlannedModel& planned) {
  const PlanTimes& times = planned.report.times;
  boost::json::object object{{"basis", ToValidUtf8(times.basis)}, {"known", times.known}};
  if (!times.known) return object;
  object["context_tokens"] = times.context_tokens;
  object["decode_seconds"] = times.decode.seconds;
  object["decode_tokens_per_s"] = times.decode.seconds > 0 ? 1 / times.decode.seconds : 0.0;
  object["decode_copy_seconds"] = times.decode.copy_seconds;
  object["prefill_tokens"] = times.prefill_tokens;
  object["prefill_seconds"] = times.prefill.seconds;
  object["prefill_tokens_per_s"] =
      times.prefill.seconds > 0 ? static_cast<double>(times.prefill_tokens) / times.prefill.seconds : 0.0;
  object["prefill_copy_seconds"] = times.prefill.copy_seconds;
  boost::json::array segments, notes;
  for (size_t s = 0; s < planned.segment_work.size(); ++s) {
    const CompiledSegment& segment = planned.compiled->segments()[s];
    segments.push_back(
        boost::json::object{{"device", ToValidUtf8(planned.compiled->devices()[segment.device]->name())},
                            {"nodes", segment.nodes.size()},
                            {"decode_seconds", times.decode.segment_seconds[s]},
                            {"prefill_seconds", times.prefill.segment_seconds[s]}});
  }
  for (const std::string& note : times.notes) notes.emplace_back(ToValidUtf8(note));
  object["segments"] = std::move(segments);
  object["notes"] = std::move(notes);
  return object;
}

std::string TimesText(const PlannedModel& planned) {
  const PlanTimes& times = planned.report.times;
  if (!times.known) return "time: " + times.basis + "; motley probe measures what predictions are made from\n";
  std::vector<std::vector<std::string>> rows{{"predicted", "a token", "a prompt of " + std::to_string(times.prefill_tokens)}};
  const std::vector<double> decode = DeviceSeconds(planned, times.decode), prefill = DeviceSeconds(planned, times.prefill);
  for (size_t d = 0; d < decode.size(); ++d)
    rows.push_back({planned.compiled->devices()[d]->name(), TimeText(decode[d]), TimeText(prefill[d])});
  if (!planned.compiled->transfers().empty())
    rows.push_back({"copies", TimeText(times.decode.copy_seconds), TimeText(times.prefill.copy_seconds)});
  rows.push_back({"tokens/s", RateText(1, times.decode.seconds),
                  RateText(static_cast<double>(times.prefill_tokens), times.prefill.seconds)});
  std::string text = FormatTable(rows) + times.basis + "; a token with " + std::to_string(times.context_tokens) +
                     " in the cache, without the arithmetic of attention\n";
  for (const std::string& note : times.notes) text += "notice: " + note + "\n";
  return text;
}

}  // namespace

boost::json::object PlanJson(const PlannedModel& planned) {
  const PlanReport& report = planned.report;
  boost::json::array devices, placement, notices;
  std::map<std::string, std::pair<double, double>> seconds;  // a device: a decode and a prefill step
  if (report.times.known) {
    const std::vector<double> decode = DeviceSeconds(planned, report.times.decode),
                              prefill = DeviceSeconds(planned, report.times.prefill);
    for (size_t d = 0; d < decode.size(); ++d)
      seconds[planned.compiled->devices()[d]->name()] = {decode[d], prefill[d]};
  }
  for (const auto& line : report.devices) {
    boost::json::object device{{"name", ToValidUtf8(line.name)},          {"pool", ToValidUtf8(line.pool)},
                               {"weights_bytes", line.weight_bytes},      {"kv_bytes", line.kv_bytes},
                               {"workspace_bytes", line.workspace_bytes}, {"margin_bytes", line.margin_bytes},
                               {"capacity_bytes", line.capacity_bytes}};
    if (!line.unused.empty()) device["unused"] = ToValidUtf8(line.unused);
    if (const auto known = seconds.find(line.name); known != seconds.end()) {
      device["decode_seconds"] = known->second.first;
      device["prefill_seconds"] = known->second.second;
    }
    devices.push_back(std::move(device));
  }
  for (const PlacementLine& line : report.placement)
    placement.push_back(
        boost::json::object{{"selector", line.selector}, {"device", ToValidUtf8(line.device)}});
  for (const std::string& notice : report.notices) notices.emplace_back(ToValidUtf8(notice));
  return {{"devices", std::move(devices)}, {"placement", std::move(placement)}, {"pins", PinsJson(report)},
          {"context", report.context},     {"notices", std::move(notices)},     {"fits", true},
          {"host", {{"pool", report.host.pool}, {"bytes", report.host.bytes}}},
          {"times", TimesJson(planned)}};
}

std::string PinsText(const PlanReport& report) {
  std::string text;
  for (const auto& pin : report.pins) {
    text += "pin " + pin.selector + " = " + pin.device + ": " + std::to_string(pin.matches) +
            (pin.matches == 1 ? " part\n" : " parts\n");
  }
  return text;
}

std::string PlanText(const PlannedModel& planned, const Output& out, bool explain) {
  const PlanReport& report = planned.report;
  std::vector<std::vector<std::string>> rows{
      {"device", "pool", "weights", "kv", "workspace", "margin", "free in pool"}};
  for (const auto& line : report.devices) {
    if (!line.unused.empty()) continue;
    rows.push_back({line.name, line.pool, FormatSize(line.weight_bytes), FormatSize(line.kv_bytes),
                    FormatSize(line.workspace_bytes),
                    line.margin_bytes == 0 ? "-" : FormatSize(line.margin_bytes),
                    FormatSize(line.capacity_bytes)});
  }
  std::string text = out.Table(rows);
  if (!report.host.pool.empty()) {
    text += "and the host takes " + FormatSize(report.host.bytes) + " of pool " + report.host.pool +
            " for step data, results and what goes from plugin to plugin\n";
  }
  text += "\n";
  std::vector<std::vector<std::string>> places{{"part", "device"}};
  for (const PlacementLine& line : report.placement) places.push_back({line.selector, line.device});
  text += out.Table(places) + "\n";
  text += "context " + std::to_string(report.context) + " tokens, " +
          std::to_string(planned.limits.max_seqs) +
          (planned.limits.max_seqs == 1 ? " sequence" : " sequences") + ", pages of " +
          std::to_string(planned.limits.page_tokens) + " tokens\n";
  text += PinsText(report);
  text += TimesText(planned);
  for (const std::string& notice : report.notices) text += "notice: " + notice + "\n";
  if (!explain) return text;

  for (const auto& line : report.devices) {
    if (!line.unused.empty()) text += "not used: " + line.name + ": " + line.unused + "\n";
  }
  text += "\n" + out.Bold("segments, in the order in which they run") + "\n";
  const PlanTimes& times = report.times;
  std::vector<std::vector<std::string>> segments{{"device", "nodes", "kernels", "workspace"}};
  if (times.known) segments[0].insert(segments[0].end(), {"a token", "a prompt"});
  size_t s = 0;
  for (const CompiledSegment& segment : planned.compiled->segments()) {
    segments.push_back({planned.compiled->devices()[segment.device]->name(),
                        std::to_string(segment.graph.view().nodes.count),
                        std::to_string(segment.info.kernels), FormatSize(segment.info.workspace)});
    if (times.known) {
      segments.back().push_back(TimeText(times.decode.segment_seconds[s]));
      segments.back().push_back(TimeText(times.prefill.segment_seconds[s]));
    }
    ++s;
  }
  text += out.Table(segments);
  for (const CompiledSegment& segment : planned.compiled->segments()) {
    if (!segment.info.notes.empty())
      text +=
          planned.compiled->devices()[segment.device]->name() + ": " + ToValidUtf8(segment.info.notes) + "\n";
  }
  return text;
}

std::string PlanToml(const PlanReport& report) {
  std::string text;
  for (const PlacementLine& line : report.placement) {
    text += (text.empty() ? "" : "\n") + std::string("[[placement.pin]]\nwhat = \"") + line.selector +
            "\"\non = \"" + line.device + "\"\n";
  }
  return text;
}

}  // namespace motley
