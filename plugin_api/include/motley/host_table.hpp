// The thunks of motley/host_device.hpp; included by it. Each checks its arguments, then does the work at
// once.
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

// ---- Weights and KV
// -------------------------------------------------------------------------------------------------

inline Fault PlanWeight(HostDevice* device, const CheckedWeight& weight, uint32_t layout,
                        motley_weight_plan* plan) {
  *plan = {};
  plan->size = sizeof *plan;
  plan->layout = layout;
  plan->version = 1;
  plan->alignment = kHostAlignment;
  return device->PlanWeight(weight, layout, plan);
}

inline motley_status WeightPlan(motley_device* device, const motley_weight* abi, uint32_t layout,
                                motley_weight_plan* out, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(device, "device"));
    CheckedWeight weight;
    MOTLEY_TRY(CheckWeight(abi, &weight));
    motley_weight_plan plan;
    MOTLEY_TRY(PlanWeight(Of(device), weight, layout, &plan));
    return WriteStruct(plan, "motley_weight_plan", out);
  });
}

// As stored: where dst is an import of the very range there is nothing to do.
inline Fault LoadStored(const CheckedWeight& weight, std::byte* dst) {
  RangeBytes bytes;
  MOTLEY_TRY(bytes.Open(weight.parts[0].src));
  if (bytes.data() != dst) std::memcpy(dst, bytes.data(), weight.parts[0].src.bytes);
  return {};
}

inline motley_status WeightLoad(motley_queue* queue, const motley_weight* abi, uint32_t layout, uint32_t slot,
                                motley_slice dst, const motley_sync* sync, motley_error* err) {
  const motley_status status = Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(queue, "queue"));
    HostDevice* device = Of(queue)->device;
    CheckedWeight weight;
    MOTLEY_TRY(CheckWeight(abi, &weight));
    motley_weight_plan plan;
    MOTLEY_TRY(PlanWeight(device, weight, layout, &plan));
    std::byte* to = nullptr;
    if (layout != MOTLEY_LAYOUT_STORED) {
      MOTLEY_TRY(Resolve(dst, plan.bytes, true, "weight_load: dst", &to));
      return RunSynced(Of(queue), sync, [&] { return device->LoadWeight(weight, layout, slot, to); });
    }
    MOTLEY_TRY(CheckWholeWeight(weight));
    MOTLEY_TRY(Resolve(dst, weight.parts[0].src.bytes, false, "weight_load: dst", &to));
    if (to != weight.parts[0].src.base && !Of(dst.buffer)->writable && weight.parts[0].src.base) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "weight_load: dst is an import of another range");
    }
    return RunSynced(Of(queue), sync,
                     [&]() -> Fault { return Of(dst.buffer)->writable ? LoadStored(weight, to) : Fault(); });
  });
  GuardVoid([&] { ReleaseParts(abi); });
  return status;
}

inline motley_status KvPlan(motley_device* device, const motley_kv_desc* abi, motley_kv_plan* out,
                            motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(device, "device"));
    motley_kv_desc desc{};
    MOTLEY_TRY(ReadStruct(abi, "motley_kv_desc", &desc));
    if (desc.reserved != 0) return Fail(MOTLEY_INVALID_ARGUMENT, "motley_kv_desc.reserved is not 0");
    if (!FindFormatRow(desc.dtype)) return Fail(MOTLEY_UNIMPLEMENTED, "KV format %u is unknown", desc.dtype);
    const uint32_t extents[] = {desc.page_tokens, desc.n_kv_heads, desc.k_dim, desc.v_dim};
    for (const uint32_t extent : extents) {
      if (extent < 1 || extent > (1u << 20)) {
        return Fail(MOTLEY_INVALID_ARGUMENT,
                    "motley_kv_desc: %u tokens a page, %u heads, dims %u and %u: must be 1..%u", extents[0],
                    extents[1], extents[2], extents[3], 1u << 20);
      }
    }
    motley_kv_plan plan{};
    plan.size = sizeof plan;
    plan.version = 1;
    plan.alignment = kHostAlignment;
    MOTLEY_TRY(Of(device)->PlanKv(desc, &plan));
    return WriteStruct(plan, "motley_kv_plan", out);
  });
}

// ---- Programs
// ---------------------------------------------------------------------------------------------------------

inline motley_status Supports(motley_device* device, const motley_graph* abi, const int64_t* at, uint64_t n,
                              motley_span verdicts, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(device, "device"));
    CheckedGraph graph;
    MOTLEY_TRY(CheckGraph(abi, &graph));
    MOTLEY_TRY(graph.CheckDims(at, n));
    MOTLEY_TRY(CheckSpan<motley_verdict>(verdicts, "verdicts"));
    if (verdicts.count != graph.nodes.size()) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%llu verdicts for %zu nodes",
                  static_cast<unsigned long long>(verdicts.count), graph.nodes.size());
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      motley_verdict verdict{};
      for (uint32_t& layout : verdict.layouts) layout = MOTLEY_LAYOUT_NONE;
      if (graph.nodes[i].fault.ok()) {
        Of(device)->Judge(graph, graph.nodes[i], at, &verdict);
      } else {
        Refuse(&verdict, graph.nodes[i].fault);
      }
      char* to = static_cast<char*>(const_cast<void*>(verdicts.data)) + i * verdicts.stride;
      std::memcpy(to, &verdict, sizeof verdict);
    }
    return {};
  });
}

inline motley_status Compile(motley_device* device, const motley_graph* abi, motley_span values,
                             motley_program** out, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(device, "device"));
    MOTLEY_TRY(NotNull(out, "out"));
    MOTLEY_TRY(CheckSpan<motley_value>(values, "values", 1u << 16));
    CheckedGraph graph;
    MOTLEY_TRY(CheckGraph(abi, &graph));
    MOTLEY_TRY(graph.FirstFault());
    std::unique_ptr<HostProgram> program;
    MOTLEY_TRY(Of(device)->Compile(std::move(graph), values, &program));
    program->device = Of(device);
    ++Of(device)->instance->live;
    *out = reinterpret_cast<motley_program*>(program.release());
    return {};
  });
}

// TEMPs first, then the program's scratch.
inline uint64_t ScratchOffset(const HostProgram& program) {
  return (program.plan().bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
}

inline motley_status ProgramInfo(motley_program* handle, motley_program_info* out, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(handle, "program"));
    const HostProgram& program = *Of(handle);
    motley_program_info info{};
    info.size = sizeof info;
    info.kernels = program.Kernels();
    info.workspace = ScratchOffset(program) + program.ScratchBytes();
    info.alignment = kHostAlignment;
    info.notes = Str(program.Notes());
    return WriteStruct(info, "motley_program_info", out);
  });
}

// Pointers of all tensors that the program's nodes use.
inline Fault ResolveBind(const HostProgram& program, const motley_bind& bind, std::vector<std::byte*>* data,
                         std::byte** scratch) {
  const CheckedGraph& graph = program.graph();
  MOTLEY_TRY(graph.CheckDims(bind.dims, bind.dim_count));
  MOTLEY_TRY(CheckSpan<motley_slice>(bind.slices, "bind.slices"));
  if (bind.slices.count != graph.tensors.size()) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "%llu slices for %zu tensors",
                static_cast<unsigned long long>(bind.slices.count), graph.tensors.size());
  }
  std::byte* workspace = nullptr;
  const uint64_t workspace_bytes = ScratchOffset(program) + program.ScratchBytes();
  if (workspace_bytes > 0) {
    MOTLEY_TRY(Resolve(bind.workspace, workspace_bytes, true, "bind.workspace", &workspace));
    if (reinterpret_cast<uintptr_t>(workspace) % kHostAlignment != 0) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "bind.workspace: not aligned to %llu bytes",
                  static_cast<unsigned long long>(kHostAlignment));
    }
  }
  *scratch = workspace ? workspace + ScratchOffset(program) : nullptr;
  data->assign(graph.tensors.size(), nullptr);
  const SpanView<motley_slice> slices(bind.slices);
  const std::span<const int64_t> at(bind.dims, bind.dim_count);
  for (uint32_t id = 0; id < graph.tensors.size(); ++id) {
    const GraphTensor& t = graph.tensors[id];
    if (!program.Uses(id)) continue;
    if (t.role == MOTLEY_ROLE_TEMP) {
      (*data)[id] = workspace + program.plan().offsets[id];
      continue;
    }
    // A packed weight has its plan's size; whoever compiled knows it and checks it.
    const bool stored = t.role != MOTLEY_ROLE_WEIGHT || t.layout == MOTLEY_LAYOUT_STORED;
    const bool f32 = t.role == MOTLEY_ROLE_WEIGHT && t.layout == MOTLEY_LAYOUT_F32;
    uint64_t needed = stored ? graph.Bytes(id, at) : program.WeightBytes(id);
    if (f32) {
      needed = sizeof(float);
      for (const int64_t dim : t.dims) needed *= static_cast<uint64_t>(CheckedGraph::Extent(dim, at));
    }
    const bool write = t.role == MOTLEY_ROLE_OUTPUT || t.role == MOTLEY_ROLE_STATE;
    Fault fault = Resolve(slices[id], needed, write, t.name.c_str(), &(*data)[id]);
    if (!fault.ok()) return Fail(fault.code, "bind.slices[%u]: %s", id, fault.text.c_str());
    if ((t.role != MOTLEY_ROLE_WEIGHT || f32) && reinterpret_cast<uintptr_t>((*data)[id]) % 4 != 0) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "bind.slices[%u]: %s is not aligned to 4 bytes", id,
                  t.name.c_str());
    }
  }
  return {};
}

inline motley_status Execute(motley_queue* handle, motley_program* program_handle, const motley_bind* abi,
                             const motley_sync* sync, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(handle, "queue"));
    MOTLEY_TRY(NotNull(program_handle, "program"));
    HostQueue* queue = Of(handle);
    HostProgram* program = Of(program_handle);
    if (program->device != queue->device) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "the program was compiled for another device than the queue's");
    }
    motley_bind bind{};
    MOTLEY_TRY(ReadStruct(abi, "motley_bind", &bind));
    if (bind.reserved != 0)
      return Fail(MOTLEY_INVALID_ARGUMENT, "motley_bind.reserved = %u: must be 0", bind.reserved);
    RunArgs args;
    MOTLEY_TRY(ResolveBind(*program, bind, &queue->data, &args.scratch));
    args.data = queue->data.data();
    args.dims = bind.dims;
    args.dim_count = bind.dim_count;
    return RunSynced(queue, sync, [&] { return program->Run(args); });
  });
}

inline void ProgramDestroy(motley_program* program) {
  GuardVoid([&] {
    if (!program) return;
    --Of(program)->device->instance->live;
    delete Of(program);
  });
}

}  // namespace host_table

inline const motley_compute* HostComputeTable() {
  static constexpr motley_compute kTable = {sizeof(motley_compute),
                                            1,
                                            host_table::Devices,
                                            host_table::DeviceInfo,
                                            host_table::DeviceMemory,
                                            host_table::BufferAlloc,
                                            host_table::BufferImport,
                                            host_table::BufferMap,
                                            host_table::BufferUnmap,
                                            host_table::BufferFree,
                                            host_table::QueueCreate,
                                            host_table::QueueFlush,
                                            host_table::QueueDestroy,
                                            FenceCreate,
                                            FenceQuery,
                                            FenceSignal,
                                            FencePoison,
                                            FenceWait,
                                            FenceNotify,
                                            FenceDestroy,
                                            host_table::Copy,
                                            host_table::Write,
                                            host_table::Read,
                                            host_table::WeightPlan,
                                            host_table::WeightLoad,
                                            host_table::KvPlan,
                                            host_table::Supports,
                                            host_table::Compile,
                                            host_table::ProgramInfo,
                                            host_table::Execute,
                                            host_table::ProgramDestroy};
  return &kTable;
}

inline motley_status HostClose(motley_instance* instance, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    if (!instance) return {};
    if (const int64_t live = FromAbi(instance)->live; live != 0) {
      return Fail(MOTLEY_FAILED_PRECONDITION,
                  "%lld buffers, queues and programs are open: give them back, then close",
                  static_cast<long long>(live));
    }
    delete FromAbi(instance);
    return {};
  });
}

inline motley_status HostGetInterface(motley_instance*, uint32_t id, uint32_t min_version, const void** out) {
  if (!out) return MOTLEY_INVALID_ARGUMENT;
  *out = nullptr;
  if (id != MOTLEY_IFACE_COMPUTE || min_version > HostComputeTable()->version) return MOTLEY_UNIMPLEMENTED;
  *out = HostComputeTable();
  return MOTLEY_OK;
}

}  // namespace motley::plugin
