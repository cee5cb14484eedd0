// The thunks of motley/host_device.hpp for weights, KV and programs, and the table; included by it.
#pragma once

#include <motley/host_buffers.hpp>

namespace motley::plugin {
namespace host_table {

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
      std::memcpy(to, &verdict, std::min<size_t>(verdicts.stride, sizeof verdict));
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
