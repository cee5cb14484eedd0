#include "core/backend/handles.h"

#include <cassert>

#include "core/backend/abi.h"
#include "core/backend/device.h"
#include "core/base/checked.h"

namespace motley {
namespace {

// A call into the plugin on behalf of a handle. Only a failure allocates.
template <typename F>
Status Call(const DeviceContext& device, const char* function, F&& call) {
  return CallPlugin(device.info.name, function,
                    [&](motley_error* error) { return call(device.instance->compute(), error); });
}

// Giving a handle back cannot fail; a plugin that throws there is told of in the log.
template <typename F>
void GiveBack(const DeviceContext& device, const char* function, F&& call) {
  const Status status = CallPluginVoid(device.info.name, function, [&] { call(device.instance->compute()); });
  if (!status.ok()) device.instance->Warn(status);
}

std::string Numbers(const DeviceContext& device, const char* what, uint64_t dst, uint64_t src) {
  return device.info.name + ": " + what + ": dst has " + std::to_string(dst) + " bytes, src " +
         std::to_string(src);
}

}  // namespace

// ---- Buffer

Buffer::~Buffer() {
  if (raw_ == nullptr) return;
  GiveBack(*device_, "buffer_free", [&](const motley_compute& c) { c.buffer_free(raw_); });
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));
  Swap(taken);
  std::swap(bytes_, taken.bytes_);
  return *this;
}

StatusOr<std::byte*> Buffer::Map(uint64_t offset, uint64_t map_bytes) {
  assert(raw_ != nullptr);
  uint64_t end = 0;
  if (!CheckedAdd(offset, map_bytes, &end) || end > bytes_) {
    return InvalidArgumentError(device_->info.name + ": buffer_map: bytes " + std::to_string(offset) + " + " +
                                std::to_string(map_bytes) + " of a buffer of " + std::to_string(bytes_));
  }
  void* data = nullptr;
  MOTLEY_RETURN_IF_ERROR(Call(*device_, "buffer_map", [&](const motley_compute& c, motley_error* error) {
    return c.buffer_map(raw_, offset, map_bytes, &data, error);
  }));
  if (data == nullptr) return InternalError(device_->info.name + ": buffer_map returned 0 and no address");
  return static_cast<std::byte*>(data);
}

void Buffer::Unmap() {
  assert(raw_ != nullptr);
  GiveBack(*device_, "buffer_unmap", [&](const motley_compute& c) { c.buffer_unmap(raw_); });
}

// ---- Fence

Fence::~Fence() {
  if (raw_ == nullptr) return;
  GiveBack(*device_, "fence_destroy", [&](const motley_compute& c) { c.fence_destroy(raw_); });
}

Fence& Fence::operator=(Fence&& other) noexcept {
  Fence taken(std::move(other));
  Swap(taken);
  return *this;
}

StatusOr<uint64_t> Fence::Query() const {
  assert(raw_ != nullptr);
  uint64_t value = 0;
  MOTLEY_RETURN_IF_ERROR(Call(*device_, "fence_query", [&](const motley_compute& c, motley_error* error) {
    return c.fence_query(raw_, &value, error);
  }));
  return value;
}

Status Fence::Signal(uint64_t value) {
  assert(raw_ != nullptr);
  return Call(*device_, "fence_signal", [&](const motley_compute& c, motley_error* error) {
    return c.fence_signal(raw_, value, error);
  });
}

Status Fence::Wait(uint64_t value, uint64_t timeout_ns) const {
  assert(raw_ != nullptr);
  return Call(*device_, "fence_wait", [&](const motley_compute& c, motley_error* error) {
    return c.fence_wait(raw_, value, timeout_ns, error);
  });
}

Status Fence::Poison(Code code, std::string_view why) {
  assert(raw_ != nullptr && code != Code::kOk);
  return Call(*device_, "fence_poison", [&](const motley_compute& c, motley_error* error) {
    return c.fence_poison(raw_, static_cast<int32_t>(code), ToStr(why), error);
  });
}

bool Fence::can_notify() const {
  return device_->instance->has_fence_notify();
}

Status Fence::Notify(uint64_t value, void (*fn)(void* arg, int32_t code), void* arg) {
  assert(raw_ != nullptr);
  if (!can_notify()) return UnimplementedError(device_->info.name + ": fence_notify: the plugin has none");
  return Call(*device_, "fence_notify", [&](const motley_compute& c, motley_error* error) {
    return c.fence_notify(raw_, value, fn, arg, error);
  });
}

// ---- Program

Program::~Program() {
  if (raw_ == nullptr) return;
  GiveBack(*device_, "program_destroy", [&](const motley_compute& c) { c.program_destroy(raw_); });
}

Program& Program::operator=(Program&& other) noexcept {
  Program taken(std::move(other));
  Swap(taken);
  return *this;
}

StatusOr<ProgramInfo> Program::Info() const {
  assert(raw_ != nullptr);
  motley_program_info raw{};
  raw.size = sizeof raw;
  MOTLEY_RETURN_IF_ERROR(Call(*device_, "program_info", [&](const motley_compute& c, motley_error* error) {
    return c.program_info(raw_, &raw, error);
  }));
  const auto notes = CopyText(raw.notes);
  if (!notes) return InternalError(device_->info.name + ": program_info: notes are NULL with a length");
  const uint64_t alignment = raw.alignment == 0 ? 1 : raw.alignment;
  // Nothing real is larger; sums of such numbers don't wrap.
  constexpr uint64_t kMostWorkspaceBytes = uint64_t{1} << 60, kMostAlignment = uint64_t{1} << 30;
  if (raw.workspace > kMostWorkspaceBytes || alignment > kMostAlignment) {
    return InternalError(device_->info.name + ": program_info: workspace = " + std::to_string(raw.workspace) +
                         ", alignment = " + std::to_string(alignment) + ": too large to be true");
  }
  if ((alignment & (alignment - 1)) != 0) {
    return InternalError(device_->info.name + ": program_info: alignment = " + std::to_string(alignment) +
                         ": must be a power of two");
  }
  return ProgramInfo{raw.kernels, raw.workspace, alignment, raw.captures, *notes};
}

// ---- Queue

Queue::~Queue() {
  if (raw_ == nullptr) return;
  GiveBack(*device_, "queue_destroy", [&](const motley_compute& c) { c.queue_destroy(raw_); });
}

Queue& Queue::operator=(Queue&& other) noexcept {
  Queue taken(std::move(other));
  Swap(taken);
  return *this;
}

Status Queue::Copy(motley_slice dst, motley_slice src, const motley_sync* sync) {
  assert(raw_ != nullptr);
  if (dst.bytes != src.bytes) return InvalidArgumentError(Numbers(*device_, "copy", dst.bytes, src.bytes));
  return Call(*device_, "copy", [&](const motley_compute& c, motley_error* error) {
    return c.copy(raw_, dst, src, sync, error);
  });
}

Status Queue::Write(motley_slice dst, const void* src, const motley_sync* sync) {
  assert(raw_ != nullptr);
  return Call(*device_, "write", [&](const motley_compute& c, motley_error* error) {
    return c.write(raw_, dst, src, sync, error);
  });
}

Status Queue::Read(void* dst, motley_slice src, const motley_sync* sync) {
  assert(raw_ != nullptr);
  return Call(*device_, "read", [&](const motley_compute& c, motley_error* error) {
    return c.read(raw_, dst, src, sync, error);
  });
}

Status Queue::LoadWeight(const motley_weight& weight, uint32_t layout, uint32_t slot, motley_slice dst,
                         const motley_sync* sync) {
  assert(raw_ != nullptr);
  return Call(*device_, "weight_load", [&](const motley_compute& c, motley_error* error) {
    return c.weight_load(raw_, &weight, layout, slot, dst, sync, error);
  });
}

Status Queue::Execute(const Program& program, const motley_bind& bind, const motley_sync* sync) {
  assert(raw_ != nullptr && program.raw() != nullptr);
  return Call(*device_, "execute", [&](const motley_compute& c, motley_error* error) {
    return c.execute(raw_, program.raw(), &bind, sync, error);
  });
}

Status Queue::Flush() {
  assert(raw_ != nullptr);
  return Call(*device_, "queue_flush",
              [&](const motley_compute& c, motley_error* error) { return c.queue_flush(raw_, error); });
}

}  // namespace motley
