#include "device.h"

#include <motley/dequant.hpp>

namespace vendor {
namespace {

using motley::plugin::CheckedWeight;

// A segment: its nodes one after the other, each with all of the team.
class Program : public motley::plugin::HostProgram {
 public:
  Program(CheckedGraph checked, Team* team) : HostProgram(std::move(checked)), team_(team) {
    for (const GraphNode& node : graph().nodes) {
      scratch_bytes_ = std::max(scratch_bytes_, vendor::ScratchBytes(graph(), node, team->threads()));
    }
  }
  Fault Run(const motley::plugin::RunArgs& args) override {
    for (const GraphNode& node : graph().nodes) MOTLEY_TRY(RunNode({graph(), node, args, *team_}));
    return {};
  }
  uint64_t ScratchBytes() const override { return scratch_bytes_; }

 private:
  Team* team_;
  uint64_t scratch_bytes_ = 0;
};

// Compiled are nodes that Judge has accepted, with the layouts that it named; garbage is refused.
Fault CheckCompiled(const CheckedGraph& graph, const GraphNode& node) {
  MOTLEY_TRY(CheckNode(graph, node));
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!node.Has(i)) continue;
    const auto& tensor = graph.tensors[node.in[i]];
    const OperandKind kind = node.schema->inputs[i].kind;
    const bool wrong = (kind == OperandKind::kWEIGHT && tensor.layout != MOTLEY_LAYOUT_STORED) ||
                       (kind == OperandKind::kVECTOR && tensor.layout != MOTLEY_LAYOUT_F32);
    if (wrong) return Fail(MOTLEY_INVALID_ARGUMENT, "%s: layout %u", tensor.name.c_str(), tensor.layout);
  }
  return {};
}

class Device : public motley::plugin::HostDevice {
 public:
  Team team;

  void Describe(motley_device_info* info) const override {
    info->kind = MOTLEY_DEVICE_OTHER;
    info->name = motley::plugin::Str("0");
    info->arch = motley::plugin::Str("portable");
    info->pool = motley::plugin::Str("ram");
    info->features |= MOTLEY_FEATURE_ROW_INVARIANT;
  }

  // Matrices in the bytes of the file, where they lie: 0 bytes of our own. Vectors as F32.
  Fault PlanWeight(const CheckedWeight& weight, uint32_t layout, motley_weight_plan* plan) override {
    MOTLEY_TRY(motley::plugin::CheckWholeWeight(weight));
    const bool known = weight.slots == 0 && motley::plugin::FindDequant(weight.format) != nullptr;
    if (known && layout == MOTLEY_LAYOUT_STORED) return {};
    if (!known || layout != MOTLEY_LAYOUT_F32 || weight.rank != 1) {
      return Fail(MOTLEY_UNIMPLEMENTED, "%s: not in layout %u", weight.Text().c_str(), layout);
    }
    plan->bytes = static_cast<uint64_t>(weight.dims[0]) * sizeof(float);
    return {};
  }
  Fault LoadWeight(const CheckedWeight& weight, uint32_t /*layout: F32*/, uint32_t slot, std::byte* dst) override {
    if (slot != ~0u) return Fail(MOTLEY_UNIMPLEMENTED, "%s: slot %u: it has none", weight.Text().c_str(), slot);
    motley::plugin::RangeBytes stored;
    MOTLEY_TRY(stored.Open(weight.parts[0].src));
    motley::plugin::FindDequant(weight.format)(stored.data(), weight.dims[0], reinterpret_cast<float*>(dst));
    return {};
  }
  Fault PlanKv(const motley_kv_desc&, motley_kv_plan*) override {
    return Fail(MOTLEY_UNIMPLEMENTED, "no attention, so no caches of keys and values");
  }

  // A node that is refused is placed on another device, and `motley plan` prints why.
  void Judge(const CheckedGraph& graph, const GraphNode& node, const int64_t* at, motley_verdict* verdict) override {
    if (const Fault why = CheckNode(graph, node); !why.ok()) return motley::plugin::Refuse(verdict, why);
    verdict->ok = 1;
    verdict->math = MOTLEY_MATH_F32;
    verdict->layouts[0] = MOTLEY_LAYOUT_STORED;
    verdict->workspace = ScratchBytes(graph, node, team.threads());
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (!node.Has(i) || graph.tensors[node.in[i]].role != MOTLEY_ROLE_WEIGHT) continue;
      verdict->read_bytes += graph.Bytes(node.in[i], std::span(at, graph.dims.size()));
    }
  }
  Fault Compile(CheckedGraph graph, motley_span values, std::unique_ptr<motley::plugin::HostProgram>* out) override {
    if (values.count != 0) return Fail(MOTLEY_UNIMPLEMENTED, "a program has no options");
    for (const GraphNode& node : graph.nodes) {
      Fault fault = CheckCompiled(graph, node);
      if (fault.ok()) continue;
      fault.node = &node - graph.nodes.data();
      return fault;
    }
    *out = std::make_unique<Program>(std::move(graph), &team);
    return {};
  }
};

}  // namespace

Fault OpenDevice(const motley_host* host, uint32_t threads, std::unique_ptr<motley::plugin::HostDevice>* out) {
  auto device = std::make_unique<Device>();
  MOTLEY_TRY(device->team.Create(host, threads, -1));
  *out = std::move(device);
  return {};
}

}  // namespace vendor
