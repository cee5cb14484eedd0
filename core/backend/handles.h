// Buffer, Queue, Fence and Program: what a Device makes. Move-only owners of one handle of the ABI each.
//
// Each keeps its instance and library alive; an empty one (default made, or moved from) is false in a condition, and
// nothing else may be called on it. Destroying one gives it back to the plugin, so the caller has first waited for
// the work that uses it. Any thread, but a Queue's calls, and Map, Unmap and the destruction of one Buffer, one at a
// time (<motley/plugin.h>).
// Errors carry the plugin's code and text behind the device's name: `cpu_avx512:0: buffer_alloc: ... (12 MiB short)`.
// A call that succeeds allocates nothing on the core's side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <motley/plugin.h>

#include "core/base/status.h"

namespace motley {

struct DeviceContext;  // core/backend/device.h

// The points of a call, from the caller's stack: `const motley_sync sync = MakeSync(waits, signals);`
inline motley_sync MakeSync(std::span<const motley_point> wait, std::span<const motley_point> signal) {
  return {{wait.data(), wait.size(), sizeof(motley_point), 0}, {signal.data(), signal.size(), sizeof(motley_point), 0}};
}

// A handle of the plugin's and the device it belongs to.
template <typename Raw>
class Handle {
 public:
  Handle() = default;
  Handle(std::shared_ptr<const DeviceContext> device, Raw* raw) : device_(std::move(device)), raw_(raw) {}
  Handle(Handle&& other) noexcept
      : device_(std::move(other.device_)), raw_(std::exchange(other.raw_, nullptr)) {}
  Raw* raw() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }

 protected:
  ~Handle() = default;
  void Swap(Handle& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(raw_, other.raw_);
  }
  std::shared_ptr<const DeviceContext> device_;
  Raw* raw_ = nullptr;
};

class Buffer : public Handle<motley_buffer> {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<const DeviceContext> device, motley_buffer* raw, uint64_t bytes)
      : Handle(std::move(device), raw), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept : Handle(std::move(other)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  uint64_t bytes() const { return bytes_; }
  motley_slice Slice(uint64_t offset, uint64_t slice_bytes) const { return {raw_, offset, slice_bytes}; }
  motley_slice Whole() const { return {raw_, 0, bytes_}; }

  // Host memory of [offset, offset + map_bytes), until Unmap. UNIMPLEMENTED but for USAGE_HOST and devices with
  // DEVICE_SYNC.
  StatusOr<std::byte*> Map(uint64_t offset, uint64_t map_bytes);
  void Unmap();

 private:
  uint64_t bytes_ = 0;
};

class Fence : public Handle<motley_fence> {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  using Handle::Handle;
  Fence() = default;
  Fence(Fence&& other) noexcept = default;
  Fence& operator=(Fence&& other) noexcept;
  ~Fence();

  motley_point At(uint64_t value) const { return {raw_, value}; }

  // The value reached. A poisoned fence gives its code and text, here and in Wait, for ever.
  StatusOr<uint64_t> Query() const;
  Status Signal(uint64_t value);
  // DEADLINE_EXCEEDED when the time is over; that poisons nothing.
  Status Wait(uint64_t value, uint64_t timeout_ns = kForever) const;
  Status Poison(Code code, std::string_view why);

  // fn(arg, code) once when `value` is reached or the fence poisoned, on any thread, perhaps before this returns; it
  // must not block. UNIMPLEMENTED where the plugin has no such function (can_notify()).
  bool can_notify() const;
  Status Notify(uint64_t value, void (*fn)(void* arg, int32_t code), void* arg);
};

struct ProgramInfo {
  uint32_t kernels = 0;
  uint64_t workspace = 0;  // bytes at the dims' max
  uint64_t alignment = 1;  // of the workspace
  uint64_t captures = 0;   // so far
  std::string notes;
};

class Program : public Handle<motley_program> {
 public:
  using Handle::Handle;
  Program() = default;
  Program(Program&& other) noexcept = default;
  Program& operator=(Program&& other) noexcept;
  ~Program();

  StatusOr<ProgramInfo> Info() const;
};

class Queue : public Handle<motley_queue> {
 public:
  using Handle::Handle;
  Queue() = default;
  Queue(Queue&& other) noexcept = default;
  Queue& operator=(Queue&& other) noexcept;
  ~Queue();  // waits for the queue's work

  // sync may be NULL. On a device with DEVICE_SYNC these do the work before they return, and the caller has waited
  // for sync.wait already; on others they only enqueue, and host memory is borrowed until the signal.
  Status Copy(motley_slice dst, motley_slice src, const motley_sync* sync);
  Status Write(motley_slice dst, const void* src, const motley_sync* sync);
  Status Read(void* dst, motley_slice src, const motley_sync* sync);
  // slot ~0u = all. Ranges are borrowed until their `released` is called.
  Status LoadWeight(const motley_weight& weight, uint32_t layout, uint32_t slot, motley_slice dst,
                    const motley_sync* sync);
  Status Execute(const Program& program, const motley_bind& bind, const motley_sync* sync);
  Status Flush();
};

}  // namespace motley
