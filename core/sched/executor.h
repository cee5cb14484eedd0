// Executor: runs steps of a compiled graph. Segments on different devices that do not depend on each other are in
// flight together; each device's commands are issued by a thread of its own, the first device's by the caller.
//
// One step at a time, from one thread. After Create nothing allocates in a step that goes well.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/sched/compiled_graph.h"
#include "core/sched/step_data.h"
#include "core/sched/weight_loader.h"

namespace motley {

struct ExecutorStats {
  uint64_t steps = 0;
  uint64_t executes = 0;  // calls of a plugin's execute, over all devices
  uint64_t host_bytes = 0;  // that it holds: outputs, and what goes from plugin to plugin
};

class Executor {
 public:
  // `graph`, `residents` (one a device of the graph) and `step` outlive the executor. Outputs of the graph are read
  // to the host after each step.
  static StatusOr<std::unique_ptr<Executor>> Create(const CompiledGraph& graph,
                                                    std::span<const std::unique_ptr<ResidentTensors>> residents,
                                                    StepData& step);
  ~Executor();

  // Runs the step that StepData holds. Afterwards output() has its results. A failure leaves the executor usable:
  // the next step starts afresh, with undefined KV bytes for the tokens of the failed one.
  Status Run();

  // [extents at the step's dims], of a tensor with role kOutput. Valid until the next Run.
  std::span<const float> output(TensorId tensor) const;

  ExecutorStats stats() const;

 private:
  class Impl;
  explicit Executor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
