#include "core/backend/device.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/backend/abi.h"
#include "core/base/units.h"

namespace motley {
namespace {

constexpr uint64_t kKnownFeatures = MOTLEY_FEATURE_DEVICE_SYNC | MOTLEY_FEATURE_ROW_INVARIANT;
constexpr uint64_t kMostSliceAlignment = 256;  // of step data, which is laid out once for all devices
constexpr uint64_t kMostBytes = uint64_t{1} << 60;  // more is a sign of a wrapped sum

template <typename F>
Status Call(const DeviceContext& device, const char* function, F&& call) {
  return CallPlugin(device.info.name, function,
                    [&](motley_error* error) { return call(device.instance->compute(), error); });
}

bool IsPowerOfTwo(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

// A rate or a time: a finite number, not below 0.
bool IsAmount(double value) {
  return std::isfinite(value) && value >= 0;
}

bool IsDeviceName(const std::string& name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < '\x7f' && c != '"' && c != '=';
  });
}

Status Broken(const DeviceContext& device, const std::string& what) {
  return InternalError(device.info.name + ": the plugin is broken: " + what);
}

std::string Reserved(const std::string& what, uint32_t value) {
  return what + ": reserved = " + std::to_string(value) + ": must be 0";
}

// Copies what is right and says what is not.
Status TakeInfo(const motley_device_info& raw, DeviceContext& device) {
  DeviceInfo& info = device.info;
  const auto arch = CopyText(raw.arch), pool = CopyText(raw.pool);
  if (!arch || !pool) return Broken(device, "device_info: a text is NULL with a length");
  if (pool->empty()) return Broken(device, "device_info: pool is empty: \"ram\", \"pci:0000:0a:00.0\", ...");
  if (raw.kind < MOTLEY_DEVICE_CPU || raw.kind > MOTLEY_DEVICE_TEST) {
    return Broken(device, "device_info: unknown kind " + std::to_string(raw.kind));
  }
  if (raw.alignment > kMostSliceAlignment) {
    return Broken(device, "device_info: alignment = " + std::to_string(raw.alignment) + ": must be at most 256");
  }
  if (!IsPowerOfTwo(raw.alignment)) {
    return Broken(device,
                  "device_info: alignment = " + std::to_string(raw.alignment) + ": must be a power of two");
  }
  if (!IsAmount(raw.mem_bytes_per_s) || !IsAmount(raw.link_bytes_per_s)) {
    return Broken(device, "device_info: a bandwidth is no number of 0 or more; 0 = unknown");
  }
  if ((raw.features & ~kKnownFeatures) != 0) {
    return Broken(device, "device_info: unknown features " + std::to_string(raw.features & ~kKnownFeatures));
  }
  if (!SpanIsReadable<motley_rate>(raw.rates))
    return Broken(device, "device_info: rates: " + SpanText(raw.rates) + " cannot be read");
  for (uint64_t i = 0; i < raw.rates.count; ++i) {
    const motley_rate rate = SpanAt<motley_rate>(raw.rates, i);
    if (rate.reserved != 0) return Broken(device, Reserved("device_info: rate " + std::to_string(i), rate.reserved));
    if (rate.math < MOTLEY_MATH_F32 || rate.math > MOTLEY_MATH_FP4 || !IsAmount(rate.ops_per_s)) {
      return Broken(device, "device_info: rate " + std::to_string(i) + ": math " + std::to_string(rate.math) +
                                ", " + std::to_string(rate.ops_per_s) + " operations/s");
    }
    info.rates.push_back({rate.math, rate.ops_per_s});
  }
  info.kind = static_cast<DeviceKind>(raw.kind);
  info.ordinal = raw.ordinal;
  info.numa_node = std::max(raw.numa_node, -1);
  info.arch = *arch;
  info.pool = *pool;
  info.memory_bytes = raw.memory_bytes;
  info.max_alloc = raw.max_alloc == 0 ? UINT64_MAX : raw.max_alloc;
  info.alignment = raw.alignment;
  info.mem_bytes_per_s = raw.mem_bytes_per_s;
  info.link_bytes_per_s = raw.link_bytes_per_s;
  info.features = raw.features;
  return OkStatus();
}

Status CheckVerdict(const DeviceContext& device, uint64_t node, motley_verdict& verdict) {
  const std::string where = "supports: node " + std::to_string(node) + ": ";
  if (verdict.ok > 1) return Broken(device, where + "ok = " + std::to_string(verdict.ok));
  if (verdict.reserved != 0) return Broken(device, Reserved(where + "verdict", verdict.reserved));
  if (std::memchr(verdict.text, '\0', sizeof verdict.text) == nullptr)
    return Broken(device, where + "its text has no end");
  if (verdict.math > MOTLEY_MATH_FP4)
    return Broken(device, where + "unknown math " + std::to_string(verdict.math));
  if (!IsAmount(verdict.seconds)) return Broken(device, where + "seconds is no number of 0 or more");
  if (verdict.workspace > kMostBytes || verdict.read_bytes > kMostBytes) {
    return Broken(device, where + "workspace or read_bytes is above 2^60");
  }
  if (verdict.ok == 0 && verdict.text[0] == '\0') std::strcpy(verdict.text, "no reason given");
  if (verdict.ok == 0 && verdict.reason == 0) verdict.reason = MOTLEY_UNIMPLEMENTED;
  return OkStatus();
}

}  // namespace

std::string_view DeviceKindName(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu: return "cpu";
    case DeviceKind::kGpu: return "gpu";
    case DeviceKind::kOther: return "other";
    case DeviceKind::kReference: return "reference";
    case DeviceKind::kTest: return "test";
  }
  return "unknown";
}

MemoryInfo WithinSystem(const std::string& pool, MemoryInfo memory, const SystemMemory& system) {
  if (pool != "ram" && pool.rfind("ram:", 0) != 0) return memory;
  return {std::min(memory.total_bytes, system.total_bytes),
          std::min(memory.free_bytes, system.available_bytes)};
}

StatusOr<std::unique_ptr<Device>> Device::Make(std::shared_ptr<Instance> instance, motley_device* raw) {
  auto context = std::make_shared<DeviceContext>();
  context->instance = std::move(instance);
  context->raw = raw;
  context->info.name = context->instance->plugin();  // until the device's own is known
  motley_device_info raw_info{};
  raw_info.size = sizeof raw_info;
  MOTLEY_RETURN_IF_ERROR(Call(*context, "device_info", [&](const motley_compute& c, motley_error* error) {
    return c.device_info(raw, &raw_info, error);
  }));
  const auto name = CopyText(raw_info.name);
  if (!name || !IsDeviceName(*name)) {
    return Broken(*context, "device_info: name \"" + name.value_or("NULL") + "\": printable, without spaces");
  }
  const bool whole = context->instance->library().names_devices();
  context->info.name = whole ? *name : context->instance->plugin() + ":" + *name;
  MOTLEY_RETURN_IF_ERROR(TakeInfo(raw_info, *context));
  return std::unique_ptr<Device>(new Device(std::move(context)));
}

StatusOr<MemoryInfo> Device::Memory() const {
  MemoryInfo memory;
  MOTLEY_RETURN_IF_ERROR(Call(*context_, "device_memory", [&](const motley_compute& c, motley_error* error) {
    return c.device_memory(raw(), &memory.total_bytes, &memory.free_bytes, error);
  }));
  if (memory.free_bytes > memory.total_bytes) {
    return Broken(*context_, "device_memory: " + FormatSize(memory.free_bytes) + " free of " +
                                 FormatSize(memory.total_bytes));
  }
  const StatusOr<SystemMemory> system = ReadSystemMemory();
  return system.ok() ? WithinSystem(info().pool, memory, *system) : memory;
}

StatusOr<Buffer> Device::AllocBuffer(uint64_t bytes, Usage usage) const {
  if (bytes == 0) return InvalidArgumentError(name() + ": a buffer of 0 bytes");
  if (bytes > info().max_alloc) {
    return ResourceExhaustedError(name() + ": a buffer of " + FormatSize(bytes) + ": one may have at most " +
                                  FormatSize(info().max_alloc) + " (" + FormatSize(bytes - info().max_alloc) +
                                  " short)");
  }
  motley_buffer* buffer = nullptr;
  MOTLEY_RETURN_IF_ERROR(Call(*context_, "buffer_alloc", [&](const motley_compute& c, motley_error* error) {
    return c.buffer_alloc(raw(), bytes, static_cast<uint32_t>(usage), &buffer, error);
  }));
  if (buffer == nullptr) return Broken(*context_, "buffer_alloc returned 0 and no buffer");
  return Buffer(context_, buffer, bytes);
}

StatusOr<Buffer> Device::ImportBuffer(const motley_range& range) const {
  motley_buffer* buffer = nullptr;
  MOTLEY_RETURN_IF_ERROR(Call(*context_, "buffer_import", [&](const motley_compute& c, motley_error* error) {
    return c.buffer_import(raw(), &range, &buffer, error);
  }));
  if (buffer == nullptr) return Broken(*context_, "buffer_import returned 0 and no buffer");
  return Buffer(context_, buffer, range.bytes);
}

StatusOr<Queue> Device::CreateQueue(uint32_t priority) const {
  motley_queue* queue = nullptr;
  MOTLEY_RETURN_IF_ERROR(Call(*context_, "queue_create", [&](const motley_compute& c, motley_error* error) {
    return c.queue_create(raw(), priority, &queue, error);
  }));
  if (queue == nullptr) return Broken(*context_, "queue_create returned 0 and no queue");
  return Queue(context_, queue);
}

StatusOr<Fence> Device::CreateFence(uint64_t initial) const {
  motley_fence* fence = nullptr;
  MOTLEY_RETURN_IF_ERROR(Call(*context_, "fence_create", [&](const motley_compute& c, motley_error* error) {
    return c.fence_create(instance()->raw(), initial, &fence, error);
  }));
  if (fence == nullptr) return Broken(*context_, "fence_create returned 0 and no fence");
  return Fence(context_, fence);
}

StatusOr<WeightPlan> Device::PlanWeight(const motley_weight& weight, uint32_t layout) const {
  motley_weight_plan plan{};
  plan.size = sizeof plan;
  plan.layout = layout;
  MOTLEY_RETURN_IF_ERROR(Call(*context_, "weight_plan", [&](const motley_compute& c, motley_error* error) {
    return c.weight_plan(raw(), &weight, layout, &plan, error);
  }));
  const uint64_t alignment = plan.alignment == 0 ? 1 : plan.alignment;
  if (!IsPowerOfTwo(alignment)) {
    return Broken(*context_,
                  "weight_plan: alignment = " + std::to_string(alignment) + ": must be a power of two");
  }
  if (plan.reserved != 0) return Broken(*context_, Reserved("weight_plan", plan.reserved));
  if (plan.layout != layout) {
    return Broken(*context_, "weight_plan: asked for layout " + std::to_string(layout) + ", got " +
                                 std::to_string(plan.layout));
  }
  if (plan.bytes > kMostBytes || plan.staging > kMostBytes || plan.slot_bytes > kMostBytes) {
    return Broken(*context_, "weight_plan: bytes, slot_bytes or staging is above 2^60");
  }
  return WeightPlan{plan.layout, plan.version, plan.bytes, alignment, plan.slot_bytes, plan.staging};
}

StatusOr<motley_kv_plan> Device::PlanKv(const motley_kv_desc& desc) const {
  motley_kv_plan plan{};
  plan.size = sizeof plan;
  MOTLEY_RETURN_IF_ERROR(Call(*context_, "kv_plan", [&](const motley_compute& c, motley_error* error) {
    return c.kv_plan(raw(), &desc, &plan, error);
  }));
  if (plan.reserved != 0) return Broken(*context_, Reserved("kv_plan", plan.reserved));
  if (plan.alignment == 0) plan.alignment = 1;
  if (!IsPowerOfTwo(plan.alignment) || plan.page_bytes == 0 || plan.page_bytes > kMostBytes) {
    return Broken(*context_, "kv_plan: page_bytes = " + std::to_string(plan.page_bytes) +
                                 ", alignment = " + std::to_string(plan.alignment));
  }
  return plan;
}

StatusOr<std::vector<motley_verdict>> Device::Supports(const motley_graph& graph,
                                                       std::span<const int64_t> at) const {
  motley_verdict blank{};
  std::fill(std::begin(blank.layouts), std::end(blank.layouts), MOTLEY_LAYOUT_NONE);
  std::vector<motley_verdict> verdicts(graph.nodes.count, blank);
  const motley_span span = {verdicts.data(), verdicts.size(), sizeof(motley_verdict), 0};
  MOTLEY_RETURN_IF_ERROR(Call(*context_, "supports", [&](const motley_compute& c, motley_error* error) {
    return c.supports(raw(), &graph, at.data(), at.size(), span, error);
  }));
  for (size_t i = 0; i < verdicts.size(); ++i)
    MOTLEY_RETURN_IF_ERROR(CheckVerdict(*context_, i, verdicts[i]));
  return verdicts;
}

StatusOr<Program> Device::Compile(const motley_graph& graph, std::span<const motley_value> values) const {
  motley_program* program = nullptr;
  const motley_span span = {values.data(), values.size(), sizeof(motley_value), 0};
  MOTLEY_RETURN_IF_ERROR(Call(*context_, "compile", [&](const motley_compute& c, motley_error* error) {
    return c.compile(raw(), &graph, span, &program, error);
  }));
  if (program == nullptr) return Broken(*context_, "compile returned 0 and no program");
  return Program(context_, program);
}

}  // namespace motley
