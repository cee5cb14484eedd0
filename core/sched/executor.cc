#include "core/sched/executor.h"

#include <algorithm>

#include "core/sched/lane.h"
#include "core/sched/lane_threads.h"

namespace motley {
namespace {

struct HostOutput {
  TensorId tensor = kNoTensor;
  std::vector<float> values;  // at the limits
};

}  // namespace

class Executor::Impl {
 public:
  Impl(const CompiledGraph& graph, std::span<const std::unique_ptr<ResidentTensors>> residents, StepData& step)
      : graph_(graph), bind_id_(graph.NewBindId()), residents_(residents), step_(step) {}

  Status Build() {
    const auto count = static_cast<uint32_t>(graph_.devices().size());
    slices_.assign(count, std::vector<motley_slice>(graph_.graph().tensors.size()));
    arenas_.resize(count);
    workspaces_.resize(count);
    for (uint32_t d = 0; d < count; ++d) {
      MOTLEY_ASSIGN_OR_RETURN(auto lane, Lane::Create(*graph_.devices()[d], graph_, step_));
      lanes_.push_back(std::move(lane));
      MOTLEY_RETURN_IF_ERROR(AllocateWork(d));
      lanes_[d]->Add({LaneCommand::Kind::kWriteStep});
    }
    AddCommands();
    std::vector<Lane*> lanes;
    for (const auto& lane : lanes_) lanes.push_back(lane.get());
    threads_ = std::make_unique<LaneThreads>(std::move(lanes));
    return threads_->Start();
  }

  Status Run() {
    if (broken_) {
      for (const auto& lane : lanes_) MOTLEY_RETURN_IF_ERROR(lane->Restart());
      step_.MarkPagesLost();
      broken_ = false;
    }
    for (const auto& lane : lanes_) lane->BeginStep();
    const Status status = threads_->Run();
    ++steps_;
    step_.ClearPageUpdates();
    broken_ = !status.ok();
    // The step's memory is the caller's again, and other lanes' fences may go: so no device may still be at work.
    if (broken_) {
      for (const auto& lane : lanes_) lane->Drain();
    }
    return status;
  }

  std::span<const float> Output(TensorId tensor) const {
    for (const auto& output : outputs_) {
      if (output->tensor != tensor) continue;
      const auto count = static_cast<size_t>(ElementCount(graph_.graph().tensors[tensor], step_.dims()));
      return {output->values.data(), count};
    }
    return {};
  }

  ExecutorStats Stats() const {
    ExecutorStats stats{steps_, 0, 0};
    for (const auto& output : outputs_) stats.host_bytes += output->values.size() * sizeof(float);
    for (const auto& staging : staging_) stats.host_bytes += staging.size();
    for (const auto& lane : lanes_) stats.executes += lane->executes();
    return stats;
  }

 private:
  // The step block, the page table, the boundary tensors and the workspace of one device.
  Status AllocateWork(uint32_t d) {
    Arena& arena = arenas_[d];
    const uint32_t block = arena.Add(step_.block_bytes(), 64);
    const uint32_t pages = arena.Add(step_.pages().size_bytes(), 64);
    std::vector<uint32_t> boundary;
    for (TensorId id : graph_.boundary_tensors(d)) {
      boundary.push_back(arena.Add(graph_.TensorBytes(id, graph_.graph().max), 64));
    }
    const uint32_t workspace = arena.Add(graph_.workspace_bytes(d), graph_.workspace_alignment(d));
    MOTLEY_RETURN_IF_ERROR(arena.Allocate(*graph_.devices()[d], Usage::kWork));

    std::vector<motley_slice>& slices = slices_[d];
    if (!residents_.empty()) slices = residents_[d]->slices;
    slices.resize(graph_.graph().tensors.size());
    for (const StepField& field : step_.fields()) slices[field.tensor] = FieldSlice(arena.slice(block), field);
    if (step_.pages_tensor() != kNoTensor) slices[step_.pages_tensor()] = arena.slice(pages);
    for (size_t i = 0; i < boundary.size(); ++i) slices[graph_.boundary_tensors(d)[i]] = arena.slice(boundary[i]);
    workspaces_[d] = arena.slice(workspace);
    lanes_[d]->SetStepSlices(arena.slice(block), arena.slice(pages));
    return OkStatus();
  }

  motley_slice FieldSlice(motley_slice block, const StepField& field) const {
    const uint64_t bytes = graph_.TensorBytes(field.tensor, graph_.graph().max);
    return {block.buffer, block.offset + field.offset, bytes};
  }

  // All lanes' commands, in one order of the whole step.
  void AddCommands() {
    size_t next_transfer = 0;
    std::vector<std::vector<LaneWait>> arrivals(graph_.graph().tensors.size());  // copies, by tensor; a device waits
    for (uint32_t s = 0; s < graph_.segments().size(); ++s) {
      const CompiledSegment& segment = graph_.segments()[s];
      AddExecute(segment, arrivals);
      const auto& transfers = graph_.transfers();
      for (; next_transfer < transfers.size() && transfers[next_transfer].after == s; ++next_transfer) {
        AddTransfer(transfers[next_transfer], &arrivals);
      }
      AddHostOutputs(segment);
    }
  }

  void AddExecute(const CompiledSegment& segment, const std::vector<std::vector<LaneWait>>& arrivals) {
    const uint32_t d = segment.device;
    LaneCommand command{LaneCommand::Kind::kExecute, &segment.program};
    binds_.emplace_back();
    for (size_t i = 0; i < segment.graph.tensor_ids().size(); ++i) {
      const TensorId id = segment.graph.tensor_ids()[i];
      const bool internal = segment.graph.role(i) == Role::kTemp;
      binds_.back().push_back(internal ? motley_slice{} : slices_[d][id]);
      for (const LaneWait& wait : arrivals[id]) {
        if (wait.lane != lanes_[d].get()) command.waits.push_back(wait);
      }
    }
    command.bind.size = sizeof(motley_bind);
    command.bind.bind_id = bind_id_;
    command.bind.slices = {binds_.back().data(), binds_.back().size(), sizeof(motley_slice), 0};
    command.bind.workspace = workspaces_[d];
    lanes_[d]->Add(std::move(command));
  }

  void AddTransfer(const Transfer& transfer, std::vector<std::vector<LaneWait>>* arrivals) {
    Lane& from = *lanes_[transfer.from];
    Lane& to = *lanes_[transfer.to];
    const motley_slice src = slices_[transfer.from][transfer.tensor], dst = slices_[transfer.to][transfer.tensor];
    if (from.device().SameInstance(to.device())) {
      LaneCommand copy{LaneCommand::Kind::kCopy};
      copy.tensor = transfer.tensor;
      copy.src = src;
      copy.dst = dst;
      (*arrivals)[transfer.tensor].push_back({&from, from.Add(std::move(copy))});
      return;
    }
    staging_.push_back(std::vector<std::byte>(graph_.TensorBytes(transfer.tensor, graph_.graph().max)));
    LaneCommand read{LaneCommand::Kind::kRead};
    read.tensor = transfer.tensor;
    read.src = src;
    read.host = staging_.back().data();
    LaneCommand write{LaneCommand::Kind::kWrite};
    write.tensor = transfer.tensor;
    write.dst = dst;
    write.host = staging_.back().data();
    write.waits.push_back({&from, from.Add(std::move(read))});
    to.Add(std::move(write));  // what reads it comes later in the same queue
  }

  void AddHostOutputs(const CompiledSegment& segment) {
    for (size_t i = 0; i < segment.graph.tensor_ids().size(); ++i) {
      const TensorId id = segment.graph.tensor_ids()[i];
      if (graph_.graph().tensors[id].role != Role::kOutput || segment.graph.role(i) != Role::kOutput) continue;
      auto output = std::make_unique<HostOutput>();
      output->tensor = id;
      output->values.resize(graph_.TensorBytes(id, graph_.graph().max) / sizeof(float));
      LaneCommand read{LaneCommand::Kind::kRead};
      read.tensor = id;
      read.src = slices_[segment.device][id];
      read.host = reinterpret_cast<std::byte*>(output->values.data());
      lanes_[segment.device]->Add(std::move(read));
      outputs_.push_back(std::move(output));
    }
  }

  const CompiledGraph& graph_;
  const uint64_t bind_id_;  // one: a program's slices never change in an executor's life
  std::span<const std::unique_ptr<ResidentTensors>> residents_;
  StepData& step_;
  std::vector<Arena> arenas_;                       // a device; outlives the lanes
  std::vector<std::vector<motley_slice>> slices_;   // a device, a tensor
  std::vector<motley_slice> workspaces_;            // a device
  std::vector<std::vector<motley_slice>> binds_;    // a segment; the inner vectors do not move
  std::vector<std::vector<std::byte>> staging_;     // a transfer between plugins
  std::vector<std::unique_ptr<HostOutput>> outputs_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<LaneThreads> threads_;            // ends before what its threads use
  uint64_t steps_ = 0;
  bool broken_ = false;
};

StatusOr<std::unique_ptr<Executor>> Executor::Create(const CompiledGraph& graph,
                                                     std::span<const std::unique_ptr<ResidentTensors>> residents,
                                                     StepData& step) {
  auto impl = std::make_unique<Impl>(graph, residents, step);
  MOTLEY_RETURN_IF_ERROR(impl->Build());
  return std::unique_ptr<Executor>(new Executor(std::move(impl)));
}

Executor::Executor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executor::~Executor() = default;
Status Executor::Run() { return impl_->Run(); }
std::span<const float> Executor::output(TensorId tensor) const { return impl_->Output(tensor); }
ExecutorStats Executor::stats() const { return impl_->Stats(); }

}  // namespace motley
