#include "program.h"

#include "ops.h"

namespace motley::async_device {

namespace {

// Token counts are rounded up to a power of two: one capture serves all of them.
uint64_t Bucket(int64_t n) {
  uint64_t bucket = 1;
  while (bucket < static_cast<uint64_t>(n)) bucket *= 2;
  return bucket;
}

bool SameSlice(const motley_slice& a, const motley_slice& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.bytes == b.bytes;
}

}  // namespace

Program::Program(Device* owner, plugin::CheckedGraph graph) : device(owner), graph_(std::move(graph)) {
  plan_ = plugin::PlanWorkspace(graph_, kAlignment);
  used_.assign(graph_.tensors.size(), 0);
  for (const plugin::GraphNode& node : graph_.nodes) {
    scratch_bytes_ = std::max(scratch_bytes_, ref::ScratchBytes(graph_, node, 1));
    for (const uint32_t id : node.in) {
      if (id != MOTLEY_NO_TENSOR) used_[id] = 1;
    }
    for (const uint32_t id : node.out) {
      if (id != MOTLEY_NO_TENSOR) used_[id] = 1;
    }
    if (node.schema->op == Op::kATTENTION) counts_ = node.in[12];
  }
}

Fault Program::Compile(Device* device, plugin::CheckedGraph graph, std::unique_ptr<Program>* out) {
  for (const plugin::GraphNode& node : graph.nodes) {
    Fault fault = ref::CheckFormats(graph, node);
    if (fault.ok()) fault = ref::CheckLayouts(graph, node, device->kv_layout());
    if (fault.ok()) continue;
    fault.node = &node - graph.nodes.data();
    return fault;
  }
  out->reset(new Program(device, std::move(graph)));
  return {};
}

uint64_t Program::Captures() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return captures_.size();
}

Fault Program::Enqueue(const motley_bind& bind, std::function<Fault(Queue*)>* work) {
  auto bound = std::make_shared<Bound>();
  MOTLEY_TRY(graph_.CheckDims(bind.dims, bind.dim_count));
  bound->dims.assign(bind.dims, bind.dims + bind.dim_count);
  MOTLEY_TRY(BindTensors(bind, bound.get()));
  MOTLEY_TRY(Capture(bind, bound.get()));
  bound->number = ++device->instance->executes;
  *work = [this, bound](Queue* queue) { return Run(queue, bound.get()); };
  return {};
}

Fault Program::BindTensors(const motley_bind& bind, Bound* bound) const {
  MOTLEY_TRY(plugin::CheckSpan<motley_slice>(bind.slices, "bind.slices"));
  if (bind.slices.count != graph_.tensors.size()) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "%llu slices for %zu tensors",
                static_cast<unsigned long long>(bind.slices.count), graph_.tensors.size());
  }
  const auto aligned = [](const std::byte* p) { return reinterpret_cast<uintptr_t>(p) % kAlignment == 0; };
  const auto here = [&](const motley_slice& slice) {
    return reinterpret_cast<const Buffer*>(slice.buffer)->device == device;
  };
  if (WorkspaceBytes() > 0) {
    MOTLEY_TRY(Resolve(bind.workspace, WorkspaceBytes(), "bind.workspace", &bound->workspace));
    if (!aligned(bound->workspace))
      return Fail(MOTLEY_INVALID_ARGUMENT, "bind.workspace: not aligned to 256 bytes");
    if (!here(bind.workspace)) return Fail(MOTLEY_INVALID_ARGUMENT, "bind.workspace: on another device");
  }
  bound->data.assign(graph_.tensors.size(), nullptr);
  const std::vector<int64_t> max_dims = graph_.MaxDims();
  const plugin::SpanView<motley_slice> slices(bind.slices);
  for (uint32_t id = 0; id < graph_.tensors.size(); ++id) {
    const plugin::GraphTensor& t = graph_.tensors[id];
    if (!used_[id]) continue;
    if (t.role == MOTLEY_ROLE_TEMP) {
      bound->data[id] = bound->workspace + plan_.offsets[id];
      continue;
    }
    uint64_t needed = graph_.Bytes(id, max_dims);
    if (t.role == MOTLEY_ROLE_WEIGHT && t.layout == MOTLEY_LAYOUT_F32) {
      needed = static_cast<uint64_t>(t.dims[0]) * sizeof(float);
    }
    const motley_slice slice = slices[id];
    Fault fault = Resolve(slice, needed, t.name.c_str(), &bound->data[id]);
    if (fault.ok() && !aligned(bound->data[id])) {
      fault = Fail(MOTLEY_INVALID_ARGUMENT, "%s: not aligned to 256 bytes", t.name.c_str());
    }
    if (fault.ok() && !here(slice))
      fault = Fail(MOTLEY_INVALID_ARGUMENT, "%s: on another device", t.name.c_str());
    if (!fault.ok()) return Fail(fault.code, "bind.slices[%u]: %s", id, fault.text.c_str());
  }
  return {};
}

// A bind_id that came before must bring the very same slices.
Fault Program::Capture(const motley_bind& bind, Bound* bound) {
  if (bind.bind_id == 0) return {};
  std::vector<motley_slice> slices;
  for (const motley_slice slice : plugin::SpanView<motley_slice>(bind.slices)) slices.push_back(slice);
  slices.push_back(bind.workspace);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [known, is_new] = binds_.emplace(bind.bind_id, slices);
  for (size_t i = 0; i < slices.size() && !is_new; ++i) {
    if (SameSlice(known->second[i], slices[i])) continue;
    const std::string what = i < graph_.tensors.size() ? graph_.tensors[i].name : "workspace";
    return Fail(MOTLEY_INVALID_ARGUMENT, "bind_id %llu promises the slices of before: %s has another",
                static_cast<unsigned long long>(bind.bind_id), what.c_str());
  }
  bound->replay = !captures_.insert({bind.bind_id, Bucket(bound->dims[MOTLEY_DIM_N_TOKENS])}).second;
  return {};
}

Fault Program::Run(Queue* queue, Bound* bound) const {
  const Settings& settings = device->instance->settings;
  if (bound->number == settings.lose_at || bound->number == settings.lose_next_at) {
    const char* option = bound->number == settings.lose_at ? "lose_at = " : "lose_next_at = ";
    device->Lose(option + std::to_string(bound->number));
    return device->CheckAlive();
  }
  MOTLEY_TRY(queue->Sleep(settings.execute_ms * 1000));
  if (bound->number == settings.fail_at) {
    return Fail(MOTLEY_INTERNAL, "async_device:%u: execute %lld failed: fail_at = %lld", device->ordinal,
                static_cast<long long>(bound->number), static_cast<long long>(settings.fail_at));
  }
  if (bound->replay) MOTLEY_TRY(ReadDims(bound));
  Spoil(*bound);
  plugin::RunArgs args;
  args.data = bound->data.data();
  args.dims = bound->dims.data();
  args.dim_count = bound->dims.size();
  args.scratch = bound->workspace ? bound->workspace + plan_.bytes : nullptr;
  plugin::Team alone;
  for (const plugin::GraphNode& node : graph_.nodes) {
    MOTLEY_TRY(ref::RunNode({&graph_, &node, &args, &alone}));
  }
  return {};
}

// A replayed kernel knows the dims from device memory alone.
Fault Program::ReadDims(Bound* bound) const {
  if (counts_ == MOTLEY_NO_TENSOR) return {};
  const int32_t* counts = reinterpret_cast<const int32_t*>(bound->data[counts_]);
  for (size_t i = 0; i < bound->dims.size() && i < 16; ++i) bound->dims[i] = counts[i];
  return graph_.CheckDims(bound->dims.data(), bound->dims.size());
}

// What nobody may rely on: the workspace, and outputs before they are written.
void Program::Spoil(const Bound& bound) const {
  if (bound.workspace) std::memset(bound.workspace, kFresh, WorkspaceBytes());
  for (uint32_t id = 0; id < graph_.tensors.size(); ++id) {
    if (!used_[id] || graph_.tensors[id].role != MOTLEY_ROLE_OUTPUT) continue;
    std::memset(bound.data[id], kFresh, graph_.Bytes(id, bound.dims));
  }
}

}  // namespace motley::async_device
