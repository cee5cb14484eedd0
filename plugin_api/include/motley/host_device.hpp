// The whole motley_compute table for devices that compute in host memory on the calling thread (DEVICE_SYNC).
//
// A plugin derives HostDevice (what it is, what it supports, how it packs) and HostProgram (Run), makes a
// HostInstance in its open(), and returns HostComputeTable(). Handles, bounds, fences, poison, imports and
// exceptions are dealt with here (host_table.hpp has the thunks).
#pragma once

#include <motley/graph_check.hpp>
#include <motley/host_memory.hpp>
#include <motley/options.hpp>
#include <motley/run_args.hpp>
#include <motley/timeline.hpp>
#include <motley/weight_check.hpp>
#include <motley/workspace.hpp>

#include <atomic>
#include <memory>
#include <vector>

namespace motley::plugin {

inline constexpr uint64_t kHostAlignment = 64;  // a cache line

class HostDevice;

// A compiled segment. Immutable: Run may be called by several queues at once.
class HostProgram {
 public:
  // TEMPs are placed by PlanWorkspace, for programs that run nodes in the graph's order.
  explicit HostProgram(CheckedGraph graph) : HostProgram(std::move(graph), {}) {
    plan_ = PlanWorkspace(graph_, kHostAlignment);
  }
  // For programs that run nodes in an order of their own: `plan` keeps apart what they need apart.
  HostProgram(CheckedGraph graph, WorkspacePlan plan) : graph_(std::move(graph)), plan_(std::move(plan)) {
    used_.assign(graph_.tensors.size(), 0);
    for (const GraphNode& node : graph_.nodes) {
      for (const uint32_t id : node.in) {
        if (id != MOTLEY_NO_TENSOR) used_[id] = 1;
      }
      for (const uint32_t id : node.out) {
        if (id != MOTLEY_NO_TENSOR) used_[id] = 1;
      }
    }
  }
  virtual ~HostProgram() = default;

  // A fault poisons the step.
  virtual Fault Run(const RunArgs& args) = 0;
  // Bytes behind the TEMPs, at the dims' max.
  virtual uint64_t ScratchBytes() const { return 0; }
  virtual uint32_t Kernels() const { return static_cast<uint32_t>(graph_.nodes.size()); }
  virtual std::string_view Notes() const { return ""; }
  // Bytes of a weight in a layout of the plugin's own (neither STORED nor F32): what its slice must have.
  virtual uint64_t WeightBytes(uint32_t /*tensor*/) const { return 0; }

  const CheckedGraph& graph() const { return graph_; }
  const WorkspacePlan& plan() const { return plan_; }
  bool Uses(uint32_t tensor) const { return used_[tensor] != 0; }
  HostDevice* device = nullptr;  // set by the table

 private:
  CheckedGraph graph_;
  WorkspacePlan plan_;
  std::vector<char> used_;
};

class HostDevice {
 public:
  virtual ~HostDevice() = default;

  // Strings live as long as the device. `size` and the alignment are set before.
  virtual void Describe(motley_device_info* info) const = 0;
  // Bytes, alignment, slot_bytes, staging for this layout, or why not. layout and version too.
  virtual Fault PlanWeight(const CheckedWeight& weight, uint32_t layout, motley_weight_plan* plan) = 0;
  // Packs into dst, which has the bytes that were planned. Not called for LAYOUT_STORED.
  virtual Fault LoadWeight(const CheckedWeight& weight, uint32_t layout, uint32_t slot, std::byte* dst) = 0;
  virtual Fault PlanKv(const motley_kv_desc& desc, motley_kv_plan* plan) = 0;
  // node has no fault; the verdict comes with ok 0 and no layouts. `at`: the dims asked about.
  virtual void Judge(const CheckedGraph& graph, const GraphNode& node, const int64_t* at,
                     motley_verdict* verdict) = 0;
  // No node has a fault. `values`: the options of this program.
  virtual Fault Compile(CheckedGraph graph, motley_span values, std::unique_ptr<HostProgram>* out) = 0;

  struct HostInstance* instance = nullptr;  // set by HostInstance::Add
};

// verdict := no, because.
inline void Refuse(motley_verdict* verdict, const Fault& why) {
  verdict->ok = 0;
  verdict->reason = static_cast<uint32_t>(why.code);
  CopyText(why.text, verdict->text, sizeof verdict->text);
}

struct HostInstance {
  void Add(std::unique_ptr<HostDevice> device) {
    device->instance = this;
    devices.push_back(std::move(device));
  }

  const motley_host* host = nullptr;
  std::vector<std::unique_ptr<HostDevice>> devices;
  std::atomic<int64_t> live{0};  // buffers, queues and programs that the host has not given back
};

// The table, and two of motley_plugin's functions; open() is the plugin's own.
inline const motley_compute* HostComputeTable();
inline motley_status HostClose(motley_instance* instance, motley_error* err);
inline motley_status HostGetInterface(motley_instance* instance, uint32_t id, uint32_t min_version,
                                      const void** out);

// Handles are these objects behind opaque types.
inline HostInstance* FromAbi(motley_instance* p) {
  return reinterpret_cast<HostInstance*>(p);
}
inline motley_instance* ToAbi(HostInstance* p) {
  return reinterpret_cast<motley_instance*>(p);
}

}  // namespace motley::plugin

#include <motley/host_table.hpp>
