// Times of a plan's steps, predicted from a probe's profile. Inside core/engine; MakePlan fills
// PlanReport::times.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/plan/predict.h"
#include "core/plan/probe_profile.h"
#include "core/plan/segment_work.h"
#include "core/sched/compiled_graph.h"

namespace motley {

// Seconds of one step, in order: segments, and between them the copies of what goes from one to another.
struct StepTime {
  double seconds = 0;                 // of all segments and copies, one after the other
  double copy_seconds = 0;            // of these, copies between devices
  std::vector<double> segment_seconds;  // a segment
};

struct PlanTimes {
  std::string basis;           // "by probe of 2026-11-30T12:00:00Z"; "not probed" and the like
  bool known = false;          // every device that is used was measured
  int64_t context_tokens = 0;  // in the cache when the decode step comes
  int64_t prefill_tokens = 0;  // of the prompt's step
  StepTime decode;             // one token of one sequence
  StepTime prefill;
  std::vector<std::string> notes;  // what the figures rest on: formats that were not measured
};

// Seconds of one step of any shape; absent where a device that is used was not measured.
std::optional<double> PredictStepSeconds(const CompiledGraph& compiled, std::span<const SegmentWork> segments,
                                         const ProbeProfile* profile, const StepShape& step);

// segments: a segment of `compiled`. profile: may be nullptr; devices that it does not have are not predicted.
PlanTimes PredictPlan(const CompiledGraph& compiled, std::span<const SegmentWork> segments,
                      const ProbeProfile* profile, int64_t context, int64_t step_tokens);

}  // namespace motley
