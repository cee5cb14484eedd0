// motley_compute: checks at the call, work in the queue.
#include "table.h"

#include <motley/weight_check.hpp>

#include "ops.h"
#include "program.h"
#include "queue.h"
#include "weights.h"

namespace motley::async_device {
namespace {

using plugin::CheckedGraph;
using plugin::CheckedWeight;
using plugin::Guard;
using plugin::GuardVoid;

Instance* Of(motley_instance* p) {
  return reinterpret_cast<Instance*>(p);
}
Device* Of(motley_device* p) {
  return reinterpret_cast<Device*>(p);
}
Buffer* Of(motley_buffer* p) {
  return reinterpret_cast<Buffer*>(p);
}
Queue* Of(motley_queue* p) {
  return reinterpret_cast<Queue*>(p);
}
Program* Of(motley_program* p) {
  return reinterpret_cast<Program*>(p);
}

Fault NotNull(const void* p, const char* what) {
  return p ? Fault() : Fail(MOTLEY_INVALID_ARGUMENT, "%s is NULL", what);
}
Fault Alive(motley_device* device) {
  MOTLEY_TRY(NotNull(device, "device"));
  return Of(device)->CountCall();
}
Fault Alive(motley_queue* queue) {
  MOTLEY_TRY(NotNull(queue, "queue"));
  return Of(queue)->device->CountCall();
}

// ---- Devices and buffers
// --------------------------------------------------------------------------------------------

motley_status Devices(motley_instance* instance, motley_device** out, uint32_t capacity, uint32_t* count) {
  return Guard(nullptr, [&]() -> Fault {
    MOTLEY_TRY(NotNull(instance, "instance"));
    MOTLEY_TRY(NotNull(count, "count"));
    const auto& devices = Of(instance)->devices;
    for (uint32_t i = 0; out && i < capacity && i < devices.size(); ++i) {
      out[i] = reinterpret_cast<motley_device*>(devices[i].get());
    }
    *count = static_cast<uint32_t>(devices.size());
    return {};
  });
}

motley_status DeviceInfo(motley_device* device, motley_device_info* inout, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(device));
    motley_device_info info{};
    Of(device)->Describe(&info);
    return plugin::WriteStruct(info, "motley_device_info", inout);
  });
}

motley_status DeviceMemory(motley_device* device, uint64_t* total, uint64_t* free_bytes, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(device));
    MOTLEY_TRY(NotNull(total, "total"));
    MOTLEY_TRY(NotNull(free_bytes, "free_bytes"));
    *total = Of(device)->instance->settings.memory_bytes;
    *free_bytes = Of(device)->FreeBytes();
    return {};
  });
}

motley_status BufferAlloc(motley_device* device, uint64_t bytes, uint32_t usage, motley_buffer** out,
                          motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(device));
    MOTLEY_TRY(NotNull(out, "out"));
    if (usage < MOTLEY_USAGE_WEIGHTS || usage > MOTLEY_USAGE_HOST) {
      return Fail(MOTLEY_UNIMPLEMENTED, "buffer usage %u is unknown", usage);
    }
    MOTLEY_TRY(Of(device)->Reserve(bytes));
    try {
      *out = reinterpret_cast<motley_buffer*>(new Buffer(Of(device), bytes, usage));
    } catch (...) {
      Of(device)->Unreserve(bytes);
      throw;
    }
    ++Of(device)->instance->live;
    return {};
  });
}

motley_status BufferImport(motley_device* device, const motley_range* range, motley_buffer**,
                           motley_error* err) {
  const motley_status status = Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(device));
    return Fail(MOTLEY_UNIMPLEMENTED, "async_device cannot use host memory in place");
  });
  motley_range copy{};
  if (plugin::ReadStruct(range, "motley_range", &copy).ok() && copy.released) copy.released(copy.arg);
  return status;
}

motley_status BufferMap(motley_buffer* buffer, uint64_t offset, uint64_t bytes, void** out,
                        motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(buffer, "buffer"));
    MOTLEY_TRY(NotNull(out, "out"));
    MOTLEY_TRY(Of(buffer)->device->CheckAlive());
    if (!Of(buffer)->mappable) return Fail(MOTLEY_UNIMPLEMENTED, "only buffers of USAGE_HOST can be mapped");
    std::byte* data = nullptr;
    MOTLEY_TRY(Resolve({buffer, offset, bytes}, 0, "buffer_map", &data));
    *out = data;
    return {};
  });
}

void BufferUnmap(motley_buffer*) {}

void BufferFree(motley_buffer* buffer) {
  GuardVoid([&] {
    if (!buffer) return;
    Device* device = Of(buffer)->device;
    device->Unreserve(Of(buffer)->bytes);
    delete Of(buffer);
    --device->instance->live;
  });
}

// ---- Queues and fences
// ----------------------------------------------------------------------------------------------

motley_status QueueCreate(motley_device* device, uint32_t, motley_queue** out, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(device));
    MOTLEY_TRY(NotNull(out, "out"));
    Instance* instance = Of(device)->instance;
    const uint64_t seed = instance->settings.seed * 1000003 + static_cast<uint64_t>(++instance->live);
    *out = reinterpret_cast<motley_queue*>(new Queue(Of(device), seed));
    return {};
  });
}

motley_status QueueFlush(motley_queue* queue, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(queue));
    Of(queue)->Flush();
    return {};
  });
}

void QueueDestroy(motley_queue* queue) {
  GuardVoid([&] {
    if (!queue) return;
    Instance* instance = Of(queue)->device->instance;
    delete Of(queue);
    --instance->live;
  });
}

struct InstanceFence : plugin::Fence {
  Instance* instance = nullptr;
};
InstanceFence* Of(motley_fence* p) {
  return static_cast<InstanceFence*>(plugin::FromAbi(p));
}

motley_status FenceCreate(motley_instance* instance, uint64_t initial, motley_fence** out,
                          motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(instance, "instance"));
    MOTLEY_TRY(NotNull(out, "out"));
    auto fence = std::make_unique<InstanceFence>();
    fence->line = std::make_shared<plugin::Timeline>(initial);
    fence->instance = Of(instance);
    ++fence->instance->live;
    *out = plugin::ToAbi(fence.release());
    return {};
  });
}

motley_status FenceWait(motley_fence* fence, uint64_t value, uint64_t timeout_ns, motley_error* err) {
  if (fence) GuardVoid([&] { Of(fence)->instance->FlushAll(); });
  return plugin::FenceWait(fence, value, timeout_ns, err);
}

void FenceDestroy(motley_fence* fence) {
  GuardVoid([&] {
    if (!fence) return;
    Instance* instance = Of(fence)->instance;
    delete Of(fence);
    --instance->live;
  });
}

// ---- Copies
// ---------------------------------------------------------------------------------------------------------

// Enqueues work(queue) between the points of `sync`.
Fault Enqueue(motley_queue* queue, const motley_sync* sync, std::function<Fault(Queue*)> work) {
  Command command;
  MOTLEY_TRY(command.sync.Read(sync));
  command.work = std::move(work);
  Of(queue)->Push(std::move(command));
  return {};
}

motley_status Copy(motley_queue* queue, motley_slice dst, motley_slice src, const motley_sync* sync,
                   motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(queue));
    std::byte *to = nullptr, *from = nullptr;
    MOTLEY_TRY(Resolve(dst, 0, "copy: dst", &to));
    MOTLEY_TRY(Resolve(src, dst.bytes, "copy: src", &from));
    if (dst.bytes != src.bytes) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "copy: dst has %llu bytes, src %llu",
                  static_cast<unsigned long long>(dst.bytes), static_cast<unsigned long long>(src.bytes));
    }
    const Device *a = Of(dst.buffer)->device, *b = Of(src.buffer)->device;
    if (a->instance != b->instance) return Fail(MOTLEY_INVALID_ARGUMENT, "copy: between two instances");
    return Enqueue(queue, sync, [=](Queue*) -> Fault {
      MOTLEY_TRY(a->CheckAlive());
      MOTLEY_TRY(b->CheckAlive());
      std::memmove(to, from, dst.bytes);
      return {};
    });
  });
}

motley_status Write(motley_queue* queue, motley_slice dst, const void* src, const motley_sync* sync,
                    motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(queue));
    std::byte* to = nullptr;
    MOTLEY_TRY(Resolve(dst, 0, "write: dst", &to));
    if (dst.bytes) MOTLEY_TRY(NotNull(src, "write: src"));
    return Enqueue(queue, sync, [=](Queue*) -> Fault {
      if (dst.bytes) std::memcpy(to, src, dst.bytes);
      return {};
    });
  });
}

motley_status Read(motley_queue* queue, void* dst, motley_slice src, const motley_sync* sync,
                   motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(queue));
    std::byte* from = nullptr;
    MOTLEY_TRY(Resolve(src, 0, "read: src", &from));
    if (src.bytes) MOTLEY_TRY(NotNull(dst, "read: dst"));
    return Enqueue(queue, sync, [=](Queue*) -> Fault {
      if (src.bytes) std::memcpy(dst, from, src.bytes);
      return {};
    });
  });
}

// ---- Weights and KV
// -------------------------------------------------------------------------------------------------

Fault PlanWeight(const CheckedWeight& weight, uint32_t layout, motley_weight_plan* plan) {
  MOTLEY_TRY(ref::CheckWeightParts(weight, layout, &plan->bytes));
  plan->layout = layout;
  plan->version = 1;
  plan->alignment = kAlignment;
  return {};
}

motley_status WeightPlan(motley_device* device, const motley_weight* abi, uint32_t layout,
                         motley_weight_plan* out, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(device));
    CheckedWeight weight;
    MOTLEY_TRY(plugin::CheckWeight(abi, &weight));
    motley_weight_plan plan{};
    MOTLEY_TRY(PlanWeight(weight, layout, &plan));
    return plugin::WriteStruct(plan, "motley_weight_plan", out);
  });
}

// A weight whose ranges are given back once, whatever becomes of the command that holds this.
class HeldWeight {
 public:
  explicit HeldWeight(CheckedWeight weight) : weight(std::move(weight)) {}
  HeldWeight(const HeldWeight&) = delete;
  HeldWeight& operator=(const HeldWeight&) = delete;
  ~HeldWeight() {
    for (const motley_part& part : weight.parts) {
      if (part.src.released) part.src.released(part.src.arg);
    }
  }
  const CheckedWeight weight;
};

motley_status WeightLoad(motley_queue* queue, const motley_weight* abi, uint32_t layout, uint32_t slot,
                         motley_slice dst, const motley_sync* sync, motley_error* err) {
  bool held_ranges = false;
  const motley_status status = Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(queue));
    CheckedWeight weight;
    MOTLEY_TRY(plugin::CheckWeight(abi, &weight));
    motley_weight_plan plan{};
    MOTLEY_TRY(PlanWeight(weight, layout, &plan));
    if (slot != ~0u)
      return Fail(MOTLEY_UNIMPLEMENTED, "%s: slot %u: it has none", weight.Text().c_str(), slot);
    std::byte* to = nullptr;
    MOTLEY_TRY(Resolve(dst, plan.bytes, "weight_load: dst", &to));
    if (reinterpret_cast<uintptr_t>(to) % kAlignment != 0) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "weight_load: dst is not aligned to 256 bytes");
    }
    auto held = std::make_shared<HeldWeight>(std::move(weight));
    held_ranges = true;
    return Enqueue(queue, sync, [=](Queue*) { return ref::StoreWeight(held->weight, layout, to); });
  });
  if (!held_ranges) GuardVoid([&] { plugin::ReleaseParts(abi); });
  return status;
}

motley_status KvPlan(motley_device* device, const motley_kv_desc* abi, motley_kv_plan* out,
                     motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(device));
    motley_kv_desc desc{};
    MOTLEY_TRY(plugin::ReadStruct(abi, "motley_kv_desc", &desc));
    if (desc.reserved != 0) return Fail(MOTLEY_INVALID_ARGUMENT, "motley_kv_desc.reserved is not 0");
    if (!plugin::FindFormatRow(desc.dtype))
      return Fail(MOTLEY_UNIMPLEMENTED, "KV format %u is unknown", desc.dtype);
    if (!desc.page_tokens || !desc.n_kv_heads || !desc.k_dim || !desc.v_dim) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "motley_kv_desc: an extent is 0");
    }
    motley_kv_plan plan{};
    plan.version = 1;
    plan.alignment = kAlignment;
    MOTLEY_TRY(ref::PlanKv(desc, Of(device)->kv_layout(), &plan));
    return plugin::WriteStruct(plan, "motley_kv_plan", out);
  });
}

// ---- Programs
// -------------------------------------------------------------------------------------------------------

motley_status Supports(motley_device* device, const motley_graph* abi, const int64_t* at, uint64_t n,
                       motley_span verdicts, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(device));
    CheckedGraph graph;
    MOTLEY_TRY(plugin::CheckGraph(abi, &graph));
    MOTLEY_TRY(graph.CheckDims(at, n));
    MOTLEY_TRY(plugin::CheckSpan<motley_verdict>(verdicts, "verdicts"));
    if (verdicts.count != graph.nodes.size()) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%llu verdicts for %zu nodes",
                  static_cast<unsigned long long>(verdicts.count), graph.nodes.size());
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      motley_verdict verdict{};
      for (uint32_t& layout : verdict.layouts) layout = MOTLEY_LAYOUT_NONE;
      Fault fault = graph.nodes[i].fault;
      if (fault.ok()) fault = ref::CheckFormats(graph, graph.nodes[i]);
      if (fault.ok()) {
        verdict.ok = 1;
        verdict.math = MOTLEY_MATH_F32;
        verdict.layouts[0] = MOTLEY_LAYOUT_STORED;
        verdict.layouts[1] = ref::kScaledLayout;
        verdict.workspace = ref::ScratchBytes(graph, graph.nodes[i], 1);
        verdict.read_bytes = ref::ReadBytes(graph, graph.nodes[i], at);
      } else {
        verdict.reason = static_cast<uint32_t>(fault.code);
        plugin::CopyText(fault.text, verdict.text, sizeof verdict.text);
      }
      char* to = static_cast<char*>(const_cast<void*>(verdicts.data)) + i * verdicts.stride;
      std::memcpy(to, &verdict, std::min<size_t>(verdicts.stride, sizeof verdict));
    }
    return {};
  });
}

motley_status Compile(motley_device* device, const motley_graph* abi, motley_span values,
                      motley_program** out, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(device));
    MOTLEY_TRY(NotNull(out, "out"));
    if (values.count != 0) return Fail(MOTLEY_UNIMPLEMENTED, "async_device: a program has no options");
    CheckedGraph graph;
    MOTLEY_TRY(plugin::CheckGraph(abi, &graph));
    MOTLEY_TRY(graph.FirstFault());
    std::unique_ptr<Program> program;
    MOTLEY_TRY(Program::Compile(Of(device), std::move(graph), &program));
    ++Of(device)->instance->live;
    *out = reinterpret_cast<motley_program*>(program.release());
    return {};
  });
}

motley_status ProgramInfo(motley_program* program, motley_program_info* out, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(NotNull(program, "program"));
    MOTLEY_TRY(Of(program)->device->CheckAlive());
    motley_program_info info{};
    info.kernels = Of(program)->Kernels();
    info.workspace = Of(program)->WorkspaceBytes();
    info.alignment = kAlignment;
    info.captures = Of(program)->Captures();
    return plugin::WriteStruct(info, "motley_program_info", out);
  });
}

motley_status Execute(motley_queue* queue, motley_program* program, const motley_bind* abi,
                      const motley_sync* sync, motley_error* err) {
  return Guard(err, [&]() -> Fault {
    MOTLEY_TRY(Alive(queue));
    MOTLEY_TRY(NotNull(program, "program"));
    if (Of(program)->device != Of(queue)->device) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "the program was compiled for another device than the queue's");
    }
    motley_bind bind{};
    MOTLEY_TRY(plugin::ReadStruct(abi, "motley_bind", &bind));
    if (bind.reserved != 0)
      return Fail(MOTLEY_INVALID_ARGUMENT, "motley_bind.reserved = %u: must be 0", bind.reserved);
    std::function<Fault(Queue*)> work;
    plugin::HeldSync checked;
    MOTLEY_TRY(checked.Read(sync));  // before the execute is counted
    MOTLEY_TRY(Of(program)->Enqueue(bind, &work));
    return Enqueue(queue, sync, std::move(work));
  });
}

void ProgramDestroy(motley_program* program) {
  GuardVoid([&] {
    if (!program) return;
    Instance* instance = Of(program)->device->instance;
    delete Of(program);
    --instance->live;
  });
}

}  // namespace

const motley_compute kTable = {sizeof(motley_compute),
                               1,
                               Devices,
                               DeviceInfo,
                               DeviceMemory,
                               BufferAlloc,
                               BufferImport,
                               BufferMap,
                               BufferUnmap,
                               BufferFree,
                               QueueCreate,
                               QueueFlush,
                               QueueDestroy,
                               FenceCreate,
                               plugin::FenceQuery,
                               plugin::FenceSignal,
                               plugin::FencePoison,
                               FenceWait,
                               plugin::FenceNotify,
                               FenceDestroy,
                               Copy,
                               Write,
                               Read,
                               WeightPlan,
                               WeightLoad,
                               KvPlan,
                               Supports,
                               Compile,
                               ProgramInfo,
                               Execute,
                               ProgramDestroy};

}  // namespace motley::async_device
