#include "device.h"

#include <thread>

#include "ops.h"
#include "weights.h"

namespace motley::ref {

using plugin::CheckedGraph;
using plugin::CheckedWeight;
using plugin::Fail;
using plugin::Fault;
using plugin::GraphNode;

namespace {

// Runs the nodes one after the other, each with all of the team.
class RefProgram : public plugin::HostProgram {
 public:
  RefProgram(CheckedGraph checked, plugin::Team* team) : HostProgram(std::move(checked)), team_(team) {
    for (const GraphNode& node : graph().nodes) {
      scratch_bytes_ = std::max(scratch_bytes_, ref::ScratchBytes(graph(), node, team_->threads()));
    }
  }

  Fault Run(const plugin::RunArgs& args) override {
    for (const GraphNode& node : graph().nodes) {
      Fault fault = RunNode({&graph(), &node, &args, team_});
      if (fault.ok()) continue;
      fault.node = &node - graph().nodes.data();
      return fault;
    }
    return {};
  }
  uint64_t ScratchBytes() const override { return scratch_bytes_; }

 private:
  plugin::Team* team_;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

RefDevice::RefDevice(uint32_t ordinal) : ordinal_(ordinal), name_(std::to_string(ordinal)) {}

Fault RefDevice::Open(const motley_host* host, uint32_t threads) {
  if (threads != 0) return team_.Create(host, threads, -1);
  // A team of one is always there: it owns no thread.
  for (threads = std::max(1u, std::thread::hardware_concurrency()); threads > 1; --threads) {
    if (team_.Create(host, threads, -1).ok()) break;
  }
  return {};
}

void RefDevice::Describe(motley_device_info* info) const {
  info->kind = MOTLEY_DEVICE_REFERENCE;
  info->ordinal = ordinal_;
  info->name = plugin::Str(name_);
  info->arch = plugin::Str("portable");
  info->pool = plugin::Str("ram");
  info->features |= MOTLEY_FEATURE_ROW_INVARIANT;
}

Fault RefDevice::PlanWeight(const CheckedWeight& weight, uint32_t layout, motley_weight_plan* plan) {
  uint64_t bytes = 0;
  MOTLEY_TRY(CheckWeightParts(weight, layout, &bytes));
  plan->bytes = layout == MOTLEY_LAYOUT_STORED ? 0 : bytes;  // 0: used where they lie
  return {};
}

Fault RefDevice::LoadWeight(const CheckedWeight& weight, uint32_t layout, uint32_t slot, std::byte* dst) {
  if (slot != ~0u) return Fail(MOTLEY_UNIMPLEMENTED, "%s: slot %u: it has none", weight.Text().c_str(), slot);
  return StoreWeight(weight, layout, dst);
}

Fault RefDevice::PlanKv(const motley_kv_desc& desc, motley_kv_plan* plan) {
  return ref::PlanKv(desc, kTokensFirst, plan);
}

void RefDevice::Judge(const CheckedGraph& graph, const GraphNode& node, const int64_t* at,
                      motley_verdict* verdict) {
  if (const Fault fault = CheckFormats(graph, node); !fault.ok()) return plugin::Refuse(verdict, fault);
  verdict->ok = 1;
  verdict->math = MOTLEY_MATH_F32;
  verdict->layouts[0] = MOTLEY_LAYOUT_STORED;
  verdict->layouts[1] = kScaledLayout;  // for weights with a scale
  verdict->workspace = ScratchBytes(graph, node, team_.threads());
  verdict->read_bytes = ReadBytes(graph, node, at);
}

Fault RefDevice::Compile(CheckedGraph graph, motley_span values, std::unique_ptr<plugin::HostProgram>* out) {
  if (values.count != 0) {
    const std::string_view name = plugin::View(plugin::SpanView<motley_value>(values)[0].name);
    return Fail(MOTLEY_UNIMPLEMENTED, "ref: a program has no option %.*s", MOTLEY_TEXT(name));
  }
  for (const GraphNode& node : graph.nodes) {
    Fault fault = CheckFormats(graph, node);
    if (fault.ok()) fault = CheckLayouts(graph, node, kTokensFirst);
    if (fault.ok()) continue;
    fault.node = &node - graph.nodes.data();
    return fault;
  }
  *out = std::make_unique<RefProgram>(std::move(graph), &team_);
  return {};
}

}  // namespace motley::ref
