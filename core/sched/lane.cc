#include "core/sched/lane.h"

namespace motley {
namespace {

motley_slice SubSlice(motley_slice slice, uint64_t offset, uint64_t bytes) {
  return {slice.buffer, slice.offset + offset, bytes};
}

}  // namespace

StatusOr<std::unique_ptr<Lane>> Lane::Create(Device& device, const CompiledGraph& graph, const StepData& step) {
  std::unique_ptr<Lane> lane(new Lane(device, graph, step));
  MOTLEY_RETURN_IF_ERROR(lane->Restart());
  return lane;
}

uint32_t Lane::Add(LaneCommand command) {
  command.points.resize(command.waits.size());
  commands_.push_back(std::move(command));
  return static_cast<uint32_t>(commands_.size() - 1);
}

void Lane::BeginStep() { base_ += commands_.size(); }

Status Lane::Restart() {
  // Poison is for ever: the fence is made anew, as is the queue whose work may have waited for it.
  Drain();
  MOTLEY_ASSIGN_OR_RETURN(fence_, device_->CreateFence());
  MOTLEY_ASSIGN_OR_RETURN(queue_, device_->CreateQueue());
  base_ = 0;
  failed_ = false;
  return OkStatus();
}

Status Lane::Run() {
  Status status;
  for (uint32_t i = 0; i < commands_.size() && status.ok(); ++i) status = Issue(i);
  if (status.ok()) status = queue_.Flush();
  if (status.ok() && !commands_.empty()) {
    status = fence_.Wait(ValueOf(static_cast<uint32_t>(commands_.size() - 1)));
  }
  if (!status.ok() && !failed_) {
    failed_ = true;
    (void)fence_.Poison(status.code(), status.message());  // a fence that is poisoned already stays so
  }
  return status;
}

void Lane::Poison(Code code) {
  failed_ = true;
  (void)fence_.Poison(code, "another device of the step failed");
}

Status Lane::Issue(uint32_t index) {
  LaneCommand& command = commands_[index];
  size_t points = 0;
  MOTLEY_RETURN_IF_ERROR(Wait(command, &points));
  const motley_point signal = fence_.At(ValueOf(index));
  const motley_sync sync = MakeSync({command.points.data(), points}, {&signal, 1});
  switch (command.kind) {
    case LaneCommand::Kind::kWriteStep: return WriteStep(sync);
    case LaneCommand::Kind::kExecute:
      ++executes_;
      command.bind.dims = step_->dims().data();
      command.bind.dim_count = step_->dims().size();
      return queue_.Execute(*command.program, command.bind, &sync);
    case LaneCommand::Kind::kCopy:
    case LaneCommand::Kind::kRead:
    case LaneCommand::Kind::kWrite: break;
  }
  const uint64_t bytes = graph_->TensorBytes(command.tensor, step_->dims());
  if (command.kind == LaneCommand::Kind::kCopy) {
    return queue_.Copy(SubSlice(command.dst, 0, bytes), SubSlice(command.src, 0, bytes), &sync);
  }
  if (command.kind == LaneCommand::Kind::kRead) return queue_.Read(command.host, SubSlice(command.src, 0, bytes), &sync);
  return queue_.Write(SubSlice(command.dst, 0, bytes), command.host, &sync);
}

Status Lane::Wait(LaneCommand& command, size_t* points) {
  bool flushed = false;
  for (const LaneWait& wait : command.waits) {
    const uint64_t value = wait.lane->ValueOf(wait.command);
    if (device_->SameInstance(*wait.lane->device_) && !device_->info().device_sync()) {
      command.points[(*points)++] = wait.lane->fence_.At(value);
      continue;
    }
    // The other lane may in turn wait for what this one has issued but not sent.
    if (!flushed) MOTLEY_RETURN_IF_ERROR(queue_.Flush());
    flushed = true;
    MOTLEY_RETURN_IF_ERROR(wait.lane->fence_.Wait(value));
  }
  return OkStatus();
}

Status Lane::WriteStep(const motley_sync& sync) {
  for (const PageUpdate& update : step_->page_updates()) {
    const uint64_t offset = update.begin * sizeof(int32_t), bytes = update.count * sizeof(int32_t);
    MOTLEY_RETURN_IF_ERROR(queue_.Write(SubSlice(pages_, offset, bytes), step_->pages().data() + update.begin, nullptr));
  }
  return queue_.Write(SubSlice(block_, 0, step_->used_bytes()), step_->block(), &sync);
}

}  // namespace motley
