#include "core/plan/device_profile.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/plan/weight_desc.h"

namespace motley {
namespace {

// Fills kv_page_bytes and the states' details, or kv_refusal.
Status ProfileKv(const ModelGraph& model, const GraphLimits& limits, DeviceProfile* profile) {
  for (const KvLayer& layer : model.kv) {
    motley_kv_desc desc{};
    desc.size = sizeof(desc);
    desc.kind = layer.kind;
    desc.dtype = static_cast<uint32_t>(limits.kv_format);
    desc.page_tokens = limits.page_tokens;
    desc.n_kv_heads = static_cast<uint32_t>(layer.n_kv_heads);
    desc.k_dim = static_cast<uint32_t>(layer.k_dim);
    desc.v_dim = static_cast<uint32_t>(layer.v_dim);
    StatusOr<motley_kv_plan> plan = profile->device->PlanKv(desc);
    if (!plan.ok()) {
      if (plan.status().code() != Code::kUnimplemented) return plan.status();
      profile->kv_refusal = plan.status().message();
      return OkStatus();
    }
    profile->kv_page_bytes.push_back(plan->page_bytes);
    profile->kv_alignment.push_back(plan->alignment);
    profile->details[layer.state] = {plan->layout, static_cast<int64_t>(plan->page_bytes)};
  }
  return OkStatus();
}

// Layouts that a verdict accepts, best first.
std::vector<uint32_t> Layouts(const motley_verdict& verdict) {
  std::vector<uint32_t> layouts;
  for (uint32_t layout : verdict.layouts) {
    if (layout != MOTLEY_LAYOUT_NONE) layouts.push_back(layout);
  }
  return layouts;
}

// For each tensor: the nodes that read it.
std::vector<std::vector<uint32_t>> FindReaders(const Graph& graph) {
  std::vector<std::vector<uint32_t>> readers(graph.tensors.size());
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    for (TensorId id : graph.nodes[n].in) {
      if (id != kNoTensor && (readers[id].empty() || readers[id].back() != n)) readers[id].push_back(n);
    }
  }
  return readers;
}

// The layouts that every supported node accepts for the weight, best first.
std::vector<uint32_t> CommonLayouts(const Tensor& weight, std::span<const uint32_t> readers,
                                    const std::vector<motley_verdict>& verdicts) {
  if (weight.dims.size() < 2) return {MOTLEY_LAYOUT_F32};
  std::vector<uint32_t> common;
  bool first = true;
  for (uint32_t n : readers) {
    if (verdicts[n].ok == 0) continue;
    const std::vector<uint32_t> accepted = Layouts(verdicts[n]);
    if (first) {
      common = accepted;
    } else {
      std::erase_if(common, [&](uint32_t layout) {
        return std::find(accepted.begin(), accepted.end(), layout) == accepted.end();
      });
    }
    first = false;
  }
  return common;
}

// The first of the layouts that the device can give this very weight: a layout may have no room for its scale. Else the
// first refusal.
StatusOr<WeightPlan> PlanInFirst(const Device& device, const WeightDesc& desc, std::span<const uint32_t> layouts) {
  Status refusal;
  for (uint32_t layout : layouts) {
    StatusOr<WeightPlan> plan = device.PlanWeight(desc.weight(), layout);
    if (plan.ok() && plan->bytes == 0 && !desc.whole()) {
      return InternalError(device.name() + ": weight_plan: " + std::string(desc.weight().name.data, desc.weight().name.size) +
                           " has a scale, and would be used in place");
    }
    if (plan.ok() || plan.status().code() != Code::kUnimplemented) return plan;
    if (refusal.ok()) refusal = plan.status();
  }
  return refusal;
}

// A node whose weight has no plan is not supported, whatever the verdict said.
void RefuseNodes(std::span<const uint32_t> readers, const std::string& why, std::vector<motley_verdict>* verdicts) {
  for (uint32_t n : readers) {
    motley_verdict& verdict = (*verdicts)[n];
    if (verdict.ok == 0) continue;
    verdict.ok = 0;
    verdict.reason = MOTLEY_UNIMPLEMENTED;
    const size_t length = std::min(why.size(), sizeof(verdict.text) - 1);
    std::memcpy(verdict.text, why.data(), length);
    verdict.text[length] = '\0';
  }
}

Status ProfileWeights(const ModelGraph& model, const WeightsFile& file, DeviceProfile* profile) {
  const Graph& graph = model.graph;
  const std::vector<std::vector<uint32_t>> readers = FindReaders(graph);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].role != Role::kWeight) continue;
    MOTLEY_ASSIGN_OR_RETURN(const StoredTensor* stored, file.GetTensor(graph.tensors[id].name));
    const std::vector<uint32_t> layouts = CommonLayouts(graph.tensors[id], readers[id], profile->verdicts);
    if (layouts.empty()) {
      RefuseNodes(readers[id], graph.tensors[id].name + ": its nodes agree on no layout", &profile->verdicts);
      continue;
    }
    const WeightDesc desc(file, *stored);
    StatusOr<WeightPlan> plan = PlanInFirst(*profile->device, desc, layouts);
    if (!plan.ok()) {
      if (plan.status().code() != Code::kUnimplemented) return plan.status();
      RefuseNodes(readers[id], plan.status().message(), &profile->verdicts);
      continue;
    }
    profile->weights[id] = *plan;
    profile->weight_bytes[id] = plan->bytes > 0 ? plan->bytes : stored->bytes;
    profile->details[id].layout = plan->layout;
  }
  return OkStatus();
}

// A device without caches may still run what needs none: a head, say.
void RefuseReadersOfKv(const ModelGraph& model, DeviceProfile* profile) {
  if (profile->kv_refusal.empty()) return;
  const std::vector<std::vector<uint32_t>> readers = FindReaders(model.graph);
  for (const KvLayer& layer : model.kv) RefuseNodes(readers[layer.state], profile->kv_refusal, &profile->verdicts);
}

}  // namespace

StatusOr<DeviceProfile> ProfileDevice(Device& device, const ModelGraph& model, const WeightsFile& file,
                                      const GraphLimits& limits) {
  const Graph& graph = model.graph;
  DeviceProfile profile;
  profile.device = &device;
  profile.weights.resize(graph.tensors.size(), {MOTLEY_LAYOUT_NONE});
  profile.weight_bytes.resize(graph.tensors.size(), 0);
  profile.details.resize(graph.tensors.size());
  MOTLEY_RETURN_IF_ERROR(ProfileKv(model, limits, &profile));

  std::vector<uint32_t> all(graph.nodes.size());
  std::iota(all.begin(), all.end(), 0);
  const SegmentGraph flat(graph, all, profile.details);
  const SymbolValues at = {1, 1, 1, 1, 2};  // decode, shallow
  MOTLEY_ASSIGN_OR_RETURN(profile.verdicts, device.Supports(flat.view(), at));
  RefuseReadersOfKv(model, &profile);
  MOTLEY_RETURN_IF_ERROR(ProfileWeights(model, file, &profile));
  return profile;
}

}  // namespace motley
