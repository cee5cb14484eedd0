#include "tools/motley/plan_report.h"

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

boost::json::object PlanJson(const PlanReport& report) {
  boost::json::array devices, placement, notices;
  for (const auto& line : report.devices) {
    boost::json::object device{{"name", ToValidUtf8(line.name)},          {"pool", ToValidUtf8(line.pool)},
                               {"weights_bytes", line.weight_bytes},      {"kv_bytes", line.kv_bytes},
                               {"workspace_bytes", line.workspace_bytes}, {"margin_bytes", line.margin_bytes},
                               {"capacity_bytes", line.capacity_bytes}};
    if (!line.unused.empty()) device["unused"] = ToValidUtf8(line.unused);
    devices.push_back(std::move(device));
  }
  for (const PlacementLine& line : report.placement)
    placement.push_back(
        boost::json::object{{"selector", line.selector}, {"device", ToValidUtf8(line.device)}});
  for (const std::string& notice : report.notices) notices.emplace_back(ToValidUtf8(notice));
  return {{"devices", std::move(devices)}, {"placement", std::move(placement)}, {"pins", PinsJson(report)},
          {"context", report.context},     {"notices", std::move(notices)},     {"fits", true}};
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
  std::string text = out.Table(rows) + "\n";
  std::vector<std::vector<std::string>> places{{"part", "device"}};
  for (const PlacementLine& line : report.placement) places.push_back({line.selector, line.device});
  text += out.Table(places) + "\n";
  text += "context " + std::to_string(report.context) + " tokens, " +
          std::to_string(planned.limits.max_seqs) +
          (planned.limits.max_seqs == 1 ? " sequence" : " sequences") + ", pages of " +
          std::to_string(planned.limits.page_tokens) + " tokens\n";
  text += PinsText(report);
  for (const std::string& notice : report.notices) text += "notice: " + notice + "\n";
  if (!explain) return text;

  for (const auto& line : report.devices) {
    if (!line.unused.empty()) text += "not used: " + line.name + ": " + line.unused + "\n";
  }
  text += "\n" + out.Bold("segments, in the order in which they run") + "\n";
  std::vector<std::vector<std::string>> segments{{"device", "nodes", "kernels", "workspace"}};
  for (const CompiledSegment& segment : planned.compiled->segments()) {
    segments.push_back({planned.compiled->devices()[segment.device]->name(),
                        std::to_string(segment.graph.view().nodes.count),
                        std::to_string(segment.info.kernels), FormatSize(segment.info.workspace)});
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
