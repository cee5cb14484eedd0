// What the machine could do at best, measured in the same run as the model: the figures that stand beside its
// speed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/base/status.h"
#include "core/engine/linear_loop.h"
#include "core/engine/planning.h"

namespace motley {

// One thread. The plan and its devices must outlive it.
class BenchLimits {
 public:
  // threads: that read the host's memory.
  BenchLimits(const PlannedModel& planned, uint32_t threads, Cancelled cancelled);

  // Bytes a second at which a step's bytes can be read: of each device its own bytes at its own rate, one
  // device after the other. context_tokens: cached tokens that the step reads, of all sequences together. A
  // device in the host's memory is held against all cores reading; another against its fastest linear node of
  // one row.
  StatusOr<double> ReadRate(double context_tokens);

  // Operations a second at which the linear nodes of a prompt can be multiplied: each of them alone and over
  // and over on its device, `tokens` rows at a time.
  StatusOr<double> MultiplyRate(uint64_t tokens);

  // Operations of the linear nodes of a prompt; the head counts for one row.
  double Operations(uint64_t tokens) const;

 private:
  StatusOr<double> DeviceReadRate(uint32_t device, double bytes);
  StatusOr<double> DeviceMultiplySeconds(uint32_t device, uint64_t tokens);

  const PlannedModel& planned_;
  uint32_t threads_;
  Cancelled cancelled_;
  std::vector<SegmentWork> work_;              // a device of the plan
  std::map<uint32_t, double> device_reads_;  // of devices outside of the host's memory: measured once
};

}  // namespace motley
