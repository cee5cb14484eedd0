#include "core/engine/plan_times.h"

#include <algorithm>

#include "core/base/suggest.h"

namespace motley {
namespace {

constexpr int64_t kPromptTokens = 512;  // bench's default: what is predicted can be measured

// The probe of each device that is used; false where one was not measured, and the basis says which.
bool FindProbes(const CompiledGraph& compiled, const ProbeProfile* profile,
                std::vector<const DeviceProbe*>* probes, PlanTimes* times) {
  std::vector<std::string> unknown;
  for (const Device* device : compiled.devices()) {
    probes->push_back(profile == nullptr ? nullptr : profile->Find(device->name()));
    if (probes->back() == nullptr) unknown.push_back(device->name());
  }
  if (unknown.empty()) {
    times->basis = "by probe of " + profile->date;
    return true;
  }
  times->basis = unknown.size() == probes->size() ? "not probed" : "not probed: " + ListNames(unknown);
  return false;
}

StepTime PredictStep(const CompiledGraph& compiled, std::span<const SegmentWork> segments,
                     std::span<const DeviceProbe* const> probes, const StepShape& step, PlanTimes* times) {
  StepTime time;
  for (size_t s = 0; s < segments.size(); ++s) {
    const Prediction segment = PredictSegment(segments[s], *probes[compiled.segments()[s].device], step);
    times->known = times->known && segment.possible;
    for (const std::string& guess : segment.guesses) {
      if (std::find(times->notes.begin(), times->notes.end(), guess) == times->notes.end())
        times->notes.push_back(guess);
    }
    time.segment_seconds.push_back(segment.seconds);
    time.seconds += segment.seconds;
  }
  // What passes between segments has a row a token or an output.
  const SymbolValues dims = {step.tokens, 1, step.outputs, 1, 2};
  for (const Transfer& transfer : compiled.transfers()) {
    const uint64_t bytes = compiled.TensorBytes(transfer.tensor, dims);
    time.copy_seconds +=
        CopySeconds(*probes[transfer.from], false, bytes) + CopySeconds(*probes[transfer.to], true, bytes);
  }
  time.seconds += time.copy_seconds;
  return time;
}

}  // namespace

std::optional<double> PredictStepSeconds(const CompiledGraph& compiled, std::span<const SegmentWork> segments,
                                         const ProbeProfile* profile, const StepShape& step) {
  PlanTimes times;
  std::vector<const DeviceProbe*> probes;
  times.known = FindProbes(compiled, profile, &probes, &times);
  if (!times.known) return std::nullopt;
  const double seconds = PredictStep(compiled, segments, probes, step, &times).seconds;
  return times.known ? std::optional<double>(seconds) : std::nullopt;
}

PlanTimes PredictPlan(const CompiledGraph& compiled, std::span<const SegmentWork> segments,
                      const ProbeProfile* profile, int64_t context, int64_t step_tokens) {
  PlanTimes times;
  times.prefill_tokens = std::max<int64_t>(1, std::min({kPromptTokens, step_tokens, context}));
  times.context_tokens = std::min(times.prefill_tokens, context - 1);
  std::vector<const DeviceProbe*> probes;
  times.known = FindProbes(compiled, profile, &probes, &times);
  if (!times.known) return times;
  times.decode = PredictStep(compiled, segments, probes, {1, 1, times.context_tokens}, &times);
  times.prefill = PredictStep(compiled, segments, probes, {times.prefill_tokens, 1, 0}, &times);
  return times;
}

}  // namespace motley
