// Lane: the work of one device in a step, as a list of commands that is the same in every step.
//
// A lane has one queue and one fence. Command i of a step signals base + i + 1 on the fence, so that other lanes can
// wait for it: inside an instance by the fence alone, without the host; else, or where the device works on the
// calling thread, by the host before it issues the command. All lanes issue in one order of the whole step, so
// waiting can't go in circles.
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend/device.h"
#include "core/base/status.h"
#include "core/graph/graph.h"
#include "core/sched/compiled_graph.h"
#include "core/sched/step_data.h"

namespace motley {

class Lane;

// A command of another lane that must be done first.
struct LaneWait {
  const Lane* lane = nullptr;
  uint32_t command = 0;
};

struct LaneCommand {
  enum class Kind {
    kWriteStep,   // the step block and the changed pages
    kExecute,     // program
    kCopy,        // tensor: src -> dst, both of this lane's instance
    kRead,        // tensor: src -> host
    kWrite,       // tensor: host -> dst
  };
  Kind kind = Kind::kExecute;
  const Program* program = nullptr;
  motley_bind bind{};
  TensorId tensor = kNoTensor;   // whose bytes move; how many of them follows from the step
  motley_slice src{}, dst{};
  std::byte* host = nullptr;
  std::vector<LaneWait> waits;
  std::vector<motley_point> points;  // room for the waits that the device does itself
};

class Lane {
 public:
  // `graph` and `step` outlive the lane.
  static StatusOr<std::unique_ptr<Lane>> Create(Device& device, const CompiledGraph& graph, const StepData& step);

  // Appends a command; its index is what other lanes wait for.
  uint32_t Add(LaneCommand command);
  void SetStepSlices(motley_slice block, motley_slice pages) { block_ = block, pages_ = pages; }

  // Issues all commands and waits until they are done. Does not allocate where all goes well. After a failure the
  // fence is poisoned, so that lanes that wait for this one end too.
  Status Run();

  // The values of the next step's commands. Called for every lane before any of them runs.
  void BeginStep();

  // Ends the lanes that wait for this one.
  void Poison(Code code);

  // After a failure, for every lane: Drain waits until the device has let go of the step's memory; then Restart.
  void Drain() { queue_ = Queue(); }
  Status Restart();

  Device& device() const { return *device_; }
  uint64_t executes() const { return executes_; }  // since Create

 private:
  Lane(Device& device, const CompiledGraph& graph, const StepData& step)
      : device_(&device), graph_(&graph), step_(&step) {}

  uint64_t ValueOf(uint32_t command) const { return base_ + command + 1; }
  Status Issue(uint32_t index);
  Status Wait(LaneCommand& command, size_t* points);
  Status WriteStep(const motley_sync& sync);

  Device* device_;
  const CompiledGraph* graph_;
  const StepData* step_;
  Fence fence_;
  Queue queue_;  // ends first: what it still holds may signal the fence
  motley_slice block_{}, pages_{};
  std::vector<LaneCommand> commands_;
  uint64_t base_ = 0;
  uint64_t executes_ = 0;
  bool failed_ = false;
};

}  // namespace motley
