// The device: what it says of itself, how it packs weights, what it supports.
#pragma once

#include <motley/host_device.hpp>

#include "plugins/cpu_avx512/kernel_table.h"

namespace motley::cpu {

class CpuDevice : public plugin::HostDevice {
 public:
  // Takes up to `threads` threads: as many as the host still has.
  CpuDevice(const motley_host* host, uint32_t ordinal, uint32_t threads, const CpuFeatures& features,
            const KernelChoice& kernels);

  void Describe(motley_device_info* info) const override;
  plugin::Fault PlanWeight(const plugin::CheckedWeight& weight, uint32_t layout, motley_weight_plan* plan) override;
  plugin::Fault LoadWeight(const plugin::CheckedWeight& weight, uint32_t layout, uint32_t slot,
                           std::byte* dst) override;
  plugin::Fault PlanKv(const motley_kv_desc& desc, motley_kv_plan* plan) override;
  void Judge(const plugin::CheckedGraph& graph, const plugin::GraphNode& node, const int64_t* at,
             motley_verdict* verdict) override;
  plugin::Fault Compile(plugin::CheckedGraph graph, motley_span values,
                        std::unique_ptr<plugin::HostProgram>* out) override;

 private:
  const uint32_t ordinal_;
  const std::string name_, arch_;
  const KernelChoice kernels_;
  plugin::Team team_;
};

}  // namespace motley::cpu
