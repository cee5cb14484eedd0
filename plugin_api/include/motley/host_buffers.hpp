// The thunks of motley/host_device.hpp for devices, buffers, queues and copies; included by host_table.hpp.
#pragma once

#include <motley/host_device.hpp>

namespace motley::plugin {

struct HostBuffer {
  HostInstance* instance = nullptr;
  std::byte* data = nullptr;
  uint64_t bytes = 0;
  bool writable = true;
  HostBlock block;       // where it is memory of our own
  RangeBytes import;     // where it is a range of the host's
  motley_range range{};  // released when the buffer goes
  ~HostBuffer() {
    if (range.released) range.released(range.arg);
  }
};

struct HostQueue {
  HostDevice* device = nullptr;
  HostInstance* instance = nullptr;
  HeldSync sync;                 // of the call that runs now
  std::vector<std::byte*> data;  // of the execute that runs now
};

namespace host_table {

inline HostDevice* Of(motley_device* p) {
  return reinterpret_cast<HostDevice*>(p);
}
inline HostBuffer* Of(motley_buffer* p) {
  return reinterpret_cast<HostBuffer*>(p);
}
inline HostQueue* Of(motley_queue* p) {
  return reinterpret_cast<HostQueue*>(p);
}
inline HostProgram* Of(motley_program* p) {
  return reinterpret_cast<HostProgram*>(p);
}

inline Fault NotNull(const void* p, const char* what) {
  return p ? Fault() : Fail(MOTLEY_INVALID_ARGUMENT, "%s is NULL", what);
}

// The memory of a slice, of which at least `needed` bytes are used.
inline Fault Resolve(const motley_slice& slice, uint64_t needed, bool write, const char* what,
                     std::byte** out) {
  MOTLEY_TRY(NotNull(slice.buffer, what));
  const HostBuffer* buffer = Of(slice.buffer);
  if (slice.offset > buffer->bytes || slice.bytes > buffer->bytes - slice.offset) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s: bytes [%llu, +%llu) are outside the buffer of %llu", what,
                static_cast<unsigned long long>(slice.offset), static_cast<unsigned long long>(slice.bytes),
                static_cast<unsigned long long>(buffer->bytes));
  }
  if (slice.bytes < needed) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s: the slice has %llu bytes, needs %llu", what,
                static_cast<unsigned long long>(slice.bytes), static_cast<unsigned long long>(needed));
  }
  if (write && !buffer->writable)
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s: an imported buffer is read-only", what);
  *out = buffer->data + slice.offset;
  return {};
}

// Runs work() -> Fault between the waits and the signals of `sync`. A failure of the work poisons the
// signals; with none to poison it is returned.
template <class Work>
Fault RunSynced(HostQueue* queue, const motley_sync* sync, Work&& work) {
  HeldSync& held = queue->sync;
  MOTLEY_TRY(held.Read(sync));
  struct Release {
    HeldSync* held;
    ~Release() { held->Clear(); }
  } release{&held};
  Fault fault;
  for (const HeldPoint& point : held.wait) {
    uint64_t value = 0;
    const Fault poison = point.line->Query(&value);
    if (!poison.ok()) {
      fault = Fail(MOTLEY_ABORTED, "%s", poison.text.c_str());
      break;
    }
    if (value < point.value) {
      return Fail(MOTLEY_FAILED_PRECONDITION,
                  "a wait is at %llu of %llu: with DEVICE_SYNC the host waits first",
                  static_cast<unsigned long long>(value), static_cast<unsigned long long>(point.value));
    }
  }
  if (fault.ok()) {
    try {
      fault = work();
    } catch (const std::bad_alloc&) {
      fault = Fail(MOTLEY_RESOURCE_EXHAUSTED, "out of host memory");
    } catch (const std::exception& e) {
      fault = Fail(MOTLEY_INTERNAL, "exception in the plugin: %s", e.what());
    }
  }
  if (fault.ok()) {
    held.Signal();
  } else if (held.signal.empty()) {
    return fault;
  } else {
    held.Poison(fault.code, fault.text);
  }
  return {};
}

// ---- Devices and buffers
// --------------------------------------------------------------------------------------

inline motley_status Devices(motley_instance* instance, motley_device** out, uint32_t capacity,
                             uint32_t* count) {
  return Guard(nullptr, [&]() -> Fault {
    MOTLEY_TRY(NotNull(instance, "instance"));
    MOTLEY_TRY(NotNull(count, "count"));
    const auto& devices = FromAbi(instance)->devices;
    for (uint32_t i = 0; out && i < capacity && i < devices.size(); ++i) {
      out[i] = reinterpret_cast<motley_device*>(devices[i].get());
    }
    *count = static_cast<uint32_t>(devices.size());
    return {};
  });
}

inline motley_status DeviceInfo(motley_device* device, motley_device_info* inout, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(device, "device"));
    motley_device_info info{};
    info.size = sizeof info;
    info.numa_node = -1;
    info.alignment = kHostAlignment;
    info.features = MOTLEY_FEATURE_DEVICE_SYNC;
    uint64_t available = 0;
    HostMemoryBytes(&info.memory_bytes, &available);
    info.max_alloc = info.memory_bytes;
    Of(device)->Describe(&info);
    return WriteStruct(info, "motley_device_info", inout);
  });
}

inline motley_status DeviceMemory(motley_device* device, uint64_t* total, uint64_t* free_bytes,
                                  motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(device, "device"));
    MOTLEY_TRY(NotNull(total, "total"));
    MOTLEY_TRY(NotNull(free_bytes, "free_bytes"));
    HostMemoryBytes(total, free_bytes);
    return {};
  });
}

inline Fault Adopt(HostInstance* instance, std::unique_ptr<HostBuffer> buffer, motley_buffer** out) {
  buffer->instance = instance;
  ++instance->live;
  *out = reinterpret_cast<motley_buffer*>(buffer.release());
  return {};
}

inline motley_status BufferAlloc(motley_device* device, uint64_t bytes, uint32_t usage, motley_buffer** out,
                                 motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(device, "device"));
    MOTLEY_TRY(NotNull(out, "out"));
    if (usage < MOTLEY_USAGE_WEIGHTS || usage > MOTLEY_USAGE_HOST) {
      return Fail(MOTLEY_UNIMPLEMENTED, "buffer usage %u is unknown", usage);
    }
    auto buffer = std::make_unique<HostBuffer>();
    MOTLEY_TRY(buffer->block.Allocate(bytes));
    buffer->data = buffer->block.data();
    buffer->bytes = bytes;
    return Adopt(Of(device)->instance, std::move(buffer), out);
  });
}

inline motley_status BufferImport(motley_device* device, const motley_range* abi, motley_buffer** out,
                                  motley_error* err) {
  return Guard(err, [&]() -> Fault {
    auto buffer = std::make_unique<HostBuffer>();
    MOTLEY_TRY(
        ReadStruct(abi, "motley_range", &buffer->range));  // from here on it is released, whatever happens
    MOTLEY_TRY(NotNull(device, "device"));
    MOTLEY_TRY(NotNull(out, "out"));
    const motley_range& range = buffer->range;
    if (range.reserved != 0 || range.reserved2 != 0) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "motley_range: reserved fields are not 0");
    }
    MOTLEY_TRY(buffer->import.Open(range));
    buffer->data = const_cast<std::byte*>(buffer->import.data());  // never written: writable is false
    buffer->bytes = range.bytes;
    buffer->writable = false;
    return Adopt(Of(device)->instance, std::move(buffer), out);
  });
}

inline motley_status BufferMap(motley_buffer* buffer, uint64_t offset, uint64_t bytes, void** out,
                               motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(out, "out"));
    std::byte* data = nullptr;
    MOTLEY_TRY(Resolve({buffer, offset, bytes}, 0, false, "buffer_map", &data));
    *out = data;
    return {};
  });
}

inline void BufferUnmap(motley_buffer*) {}

inline void BufferFree(motley_buffer* buffer) {
  GuardVoid([&] {
    if (!buffer) return;
    --Of(buffer)->instance->live;
    delete Of(buffer);
  });
}

// ---- Queues
// -------------------------------------------------------------------------------------------------------

inline motley_status QueueCreate(motley_device* device, uint32_t /*priority*/, motley_queue** out,
                                 motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(device, "device"));
    MOTLEY_TRY(NotNull(out, "out"));
    auto queue = std::make_unique<HostQueue>();
    queue->device = Of(device);
    queue->instance = Of(device)->instance;
    ++queue->instance->live;
    *out = reinterpret_cast<motley_queue*>(queue.release());
    return {};
  });
}

inline motley_status QueueFlush(motley_queue* queue, motley_error* err) {
  return Guard(err, [&] { return NotNull(queue, "queue"); });
}

inline void QueueDestroy(motley_queue* queue) {
  GuardVoid([&] {
    if (!queue) return;
    --Of(queue)->instance->live;
    delete Of(queue);
  });
}

inline motley_status Copy(motley_queue* queue, motley_slice dst, motley_slice src, const motley_sync* sync,
                          motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(queue, "queue"));
    std::byte *to = nullptr, *from = nullptr;
    if (dst.bytes != src.bytes) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "copy: dst has %llu bytes, src %llu",
                  static_cast<unsigned long long>(dst.bytes), static_cast<unsigned long long>(src.bytes));
    }
    MOTLEY_TRY(Resolve(dst, 0, true, "copy: dst", &to));
    MOTLEY_TRY(Resolve(src, 0, false, "copy: src", &from));
    return RunSynced(Of(queue), sync, [&]() -> Fault {
      if (dst.bytes) std::memmove(to, from, dst.bytes);
      return {};
    });
  });
}

inline motley_status Write(motley_queue* queue, motley_slice dst, const void* src, const motley_sync* sync,
                           motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(queue, "queue"));
    std::byte* to = nullptr;
    MOTLEY_TRY(Resolve(dst, 0, true, "write: dst", &to));
    if (dst.bytes) MOTLEY_TRY(NotNull(src, "write: src"));
    return RunSynced(Of(queue), sync, [&]() -> Fault {
      if (dst.bytes) std::memmove(to, src, dst.bytes);
      return {};
    });
  });
}

inline motley_status Read(motley_queue* queue, void* dst, motley_slice src, const motley_sync* sync,
                          motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(queue, "queue"));
    std::byte* from = nullptr;
    MOTLEY_TRY(Resolve(src, 0, false, "read: src", &from));
    if (src.bytes) MOTLEY_TRY(NotNull(dst, "read: dst"));
    return RunSynced(Of(queue), sync, [&]() -> Fault {
      if (src.bytes) std::memmove(dst, from, src.bytes);
      return {};
    });
  });
}

}  // namespace host_table
}  // namespace motley::plugin
