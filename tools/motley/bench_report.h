// What bench found, as tables and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "tools/motley/bench_model.h"
#include "tools/motley/output.h"

namespace motley {

// A row with the limit that was measured beside it.
struct PrefillResult {
  PrefillRow row;
  double operations = 0;            // of the prompt's linear nodes
  double limit_ops_per_s = 0;       // 0 = not measured
  double read_bytes = 0;            // weights, once a step
  std::optional<double> predicted;  // tokens/s, from the probe's profile
};
struct DecodeResult {
  DecodeRow row;
  double limit_bytes_per_s = 0;
  std::optional<double> predicted;
};

struct BenchReport {
  std::string model;  // the file's name
  BenchPlan plan;
  std::vector<PrefillResult> prefill;
  std::vector<DecodeResult> decode;
  std::string prediction;  // "by probe of ...", "not probed"
  bool counts_allocations = false;
  uint64_t allocations = 0, decode_steps = 0;
  uint64_t all_allocations = 0;  // of the whole run: shows that the counter counts
  LoadStats load;
  double cached_read_bytes_per_s = 0;  // of the model's file, after it was loaded; 0 = could not be measured
};

void PrintBench(const BenchReport& report, Output& out);

}  // namespace motley
