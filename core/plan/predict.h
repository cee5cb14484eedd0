// Times of steps, predicted from what `motley probe` measured. Pure functions over plain data; any thread.
//
// A segment takes: its launch; what each small node costs; each linear node at the rate measured for its format
// and number of rows (between two measured numbers by a straight line, a weight's share of the measured
// weight's time); the rest of its bytes, the cache's included, at the device's read rate. The arithmetic of
// attention is not in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/probe_profile.h"
#include "core/plan/segment_work.h"

namespace motley {

struct StepShape {
  int64_t tokens = 1;          // of the step, of all sequences
  int64_t outputs = 1;         // rows of logits
  int64_t context_tokens = 0;  // cached tokens that are read, of all sequences together
};

struct Prediction {
  double seconds = 0;
  std::vector<std::string> guesses;  // "Q5_K was not measured: taken as Q4_K"; each once
  bool possible = true;              // false: not even a guess, and why is in `guesses`
};

Prediction PredictSegment(const SegmentWork& work, const DeviceProbe& probe, const StepShape& step);

// Seconds for `bytes` to go to or from the device: the measured latency and bandwidth. 0 where neither was
// measured.
double CopySeconds(const DeviceProbe& probe, bool to_device, uint64_t bytes);

// Bytes a second at which a working set of `bytes` is read; 0 where it was not measured.
double ReadRate(const DeviceProbe& probe, uint64_t bytes);

}  // namespace motley
