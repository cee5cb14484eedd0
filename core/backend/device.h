// Device: something of a plugin's that holds buffers and runs programs. Owned by Backends; what it makes may outlive
// it. Thread-safe. Everything that a plugin returns is checked, in every build: NULL with a status of 0, texts without
// an end, an alignment that is no power of two, rates that are no numbers are INTERNAL errors that name it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <motley/plugin.h>

#include "core/backend/handles.h"
#include "core/backend/instance.h"
#include "core/base/status.h"
#include "core/base/system_memory.h"

namespace motley {

enum class DeviceKind : uint32_t { kCpu = 1, kGpu = 2, kOther = 3, kReference = 4, kTest = 5 };
std::string_view DeviceKindName(DeviceKind kind);  // "cpu", "gpu", "other", "reference", "test"

enum class Usage : uint32_t { kWeights = 1, kKv = 2, kWork = 3, kHost = 4 };

struct DeviceRate {
  uint32_t math = 0;  // MOTLEY_MATH_*
  double ops_per_s = 0;
};

// motley_device_info, copied. 0 = unknown, but for what is said.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::kOther;
  uint32_t ordinal = 0;
  int32_t numa_node = -1;        // -1 = none
  std::string name;              // "ref:0"
  std::string arch;
  std::string pool;              // devices with equal pools share one memory
  uint64_t memory_bytes = 0;     // the pool's size
  uint64_t max_alloc = UINT64_MAX;  // of one buffer; never 0
  uint64_t alignment = 1;        // of slices in a buffer: a power of two
  double mem_bytes_per_s = 0;
  double link_bytes_per_s = 0;
  std::vector<DeviceRate> rates; // empty = unknown
  uint64_t features = 0;         // MOTLEY_FEATURE_*

  bool device_sync() const { return (features & MOTLEY_FEATURE_DEVICE_SYNC) != 0; }
  bool row_invariant() const { return (features & MOTLEY_FEATURE_ROW_INVARIANT) != 0; }
};

struct MemoryInfo {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
};

// What of a pool this process may use: the system's memory ("ram", "ram:1") no more than its control groups leave it,
// of which a plugin knows nothing.
MemoryInfo WithinSystem(const std::string& pool, MemoryInfo memory, const SystemMemory& system);

struct WeightPlan {
  uint32_t layout = 0;
  uint32_t version = 0;
  uint64_t bytes = 0;       // to allocate; 0 = import the range, in place
  uint64_t alignment = 1;
  uint64_t slot_bytes = 0;
  uint64_t staging = 0;     // held besides, while loading
};

// What a device's handles share: the device's name for messages, and the instance's life.
struct DeviceContext {
  std::shared_ptr<Instance> instance;
  motley_device* raw = nullptr;
  DeviceInfo info;
};

class Device {
 public:
  // Reads and checks device_info. Name: PLUGIN:INDEX, or the plugin's own where it names devices.
  static StatusOr<std::unique_ptr<Device>> Make(std::shared_ptr<Instance> instance, motley_device* raw);

  const std::string& name() const { return context_->info.name; }
  const std::string& plugin() const { return context_->instance->plugin(); }
  const DeviceInfo& info() const { return context_->info; }
  motley_device* raw() const { return context_->raw; }
  const motley_compute& compute() const { return context_->instance->compute(); }
  const std::shared_ptr<Instance>& instance() const { return context_->instance; }
  // Fences and direct copies reach between two devices only where this is true.
  bool SameInstance(const Device& other) const { return instance() == other.instance(); }

  // Of the device's pool, WithinSystem.
  StatusOr<MemoryInfo> Memory() const;

  // bytes > 0. RESOURCE_EXHAUSTED says how many bytes are short where the plugin knows.
  StatusOr<Buffer> AllocBuffer(uint64_t bytes, Usage usage) const;
  // A read-only view of the range, which is released when the buffer is freed, and also when this fails.
  StatusOr<Buffer> ImportBuffer(const motley_range& range) const;
  StatusOr<Queue> CreateQueue(uint32_t priority = 0) const;
  // Instance-wide: for all devices with SameInstance.
  StatusOr<Fence> CreateFence(uint64_t initial = 0) const;

  StatusOr<WeightPlan> PlanWeight(const motley_weight& weight, uint32_t layout) const;
  StatusOr<motley_kv_plan> PlanKv(const motley_kv_desc& desc) const;

  // One verdict a node, in order; `at`: the dims asked about. A refusal always has a text.
  StatusOr<std::vector<motley_verdict>> Supports(const motley_graph& graph, std::span<const int64_t> at) const;
  StatusOr<Program> Compile(const motley_graph& graph, std::span<const motley_value> values = {}) const;

 private:
  explicit Device(std::shared_ptr<const DeviceContext> context) : context_(std::move(context)) {}
  std::shared_ptr<const DeviceContext> context_;
};

}  // namespace motley
