// The reference device: the ops of ops.h over host memory. Copy this file to start a plugin of your own.
#pragma once

#include <motley/host_device.hpp>

namespace motley::ref {

class RefDevice : public plugin::HostDevice {
 public:
  explicit RefDevice(uint32_t ordinal);
  // Gets its team. RESOURCE_EXHAUSTED where the host has fewer threads; 0 takes what there is.
  plugin::Fault Open(const motley_host* host, uint32_t threads);

  void Describe(motley_device_info* info) const override;
  plugin::Fault PlanWeight(const plugin::CheckedWeight& weight, uint32_t layout,
                           motley_weight_plan* plan) override;
  plugin::Fault LoadWeight(const plugin::CheckedWeight& weight, uint32_t layout, uint32_t slot,
                           std::byte* dst) override;
  plugin::Fault PlanKv(const motley_kv_desc& desc, motley_kv_plan* plan) override;
  void Judge(const plugin::CheckedGraph& graph, const plugin::GraphNode& node, const int64_t* at,
             motley_verdict* verdict) override;
  plugin::Fault Compile(plugin::CheckedGraph graph, motley_span values,
                        std::unique_ptr<plugin::HostProgram>* out) override;

 private:
  const uint32_t ordinal_;
  const std::string name_;
  plugin::Team team_;
};

}  // namespace motley::ref
