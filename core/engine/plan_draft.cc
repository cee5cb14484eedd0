#include "core/engine/plan_draft.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/checked.h"
#include "core/base/system_memory.h"
#include "core/engine/config_keys.h"

namespace motley {
namespace {

constexpr uint64_t kMostKvBytes = uint64_t{1} << 50;  // of a layer: fits nowhere, and sums of it do not wrap

std::vector<Pin> PinsOf(const Config& config) {
  std::vector<Pin> pins;
  for (const ConfigPin& pin : config.placement.pins)
    pins.push_back({pin.what, pin.on, pin.what_position, pin.from_flag});
  return pins;
}

// ApplyPins checks this too, but knows only where the selector was written.
Status CheckPinDevices(const Config& config, std::span<const std::string> names) {
  for (const ConfigPin& pin : config.placement.pins) {
    if (const Status known = CheckDeviceName(pin.on, names); !known.ok()) {
      return known.WithPrefix(pin.on_position + ": pin " + pin.what + " = " + pin.on);
    }
  }
  return OkStatus();
}

// A pool's free bytes: the least that one of its devices reports, for they describe the same memory.
Status AddPool(const Device& device, PlacementProblem* problem) {
  MOTLEY_ASSIGN_OR_RETURN(const MemoryInfo memory, device.Memory());
  for (PlanPool& pool : problem->pools) {
    if (pool.name != device.info().pool) continue;
    pool.free_bytes = std::min(pool.free_bytes, memory.free_bytes);
    return OkStatus();
  }
  problem->pools.push_back({device.info().pool, memory.free_bytes});
  return OkStatus();
}

// The host's own memory is in the devices' pool of that kind, or in one that no device has.
void AddHostPool(PlacementProblem* problem) {
  for (const PlanPool& pool : problem->pools) {
    if (pool.name != "ram" && pool.name.rfind("ram:", 0) != 0) continue;
    problem->host_pool = pool.name;
    return;
  }
  const StatusOr<SystemMemory> memory = ReadSystemMemory();
  if (!memory.ok()) return;  // nobody can tell
  problem->host_pool = "ram";
  problem->pools.push_back({"ram", memory->available_bytes});
}

// The nodes of each of a model's parts; a part without nodes has none.
class PartNodes {
 public:
  PartNodes(const Graph& graph, const std::vector<PinnedPart>& parts) : nodes_(parts.size()) {
    for (uint32_t i = 0; i < parts.size(); ++i) index_.emplace(Key(parts[i].part), i);
    for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
      part_of_.push_back(0);
      const auto found = index_.find(Key(graph.nodes[n].part));
      if (found == index_.end()) continue;
      part_of_.back() = found->second;
      nodes_[found->second].push_back(n);
    }
  }
  const std::vector<uint32_t>& Of(size_t part) const { return nodes_[part]; }
  const std::vector<uint32_t>& part_of() const { return part_of_; }  // a node

 private:
  static std::tuple<PartKind, int32_t, uint32_t, uint32_t> Key(const Part& part) {
    return {part.kind, part.layer, part.expert_begin, part.expert_end};
  }

  std::map<std::tuple<PartKind, int32_t, uint32_t, uint32_t>, uint32_t> index_;
  std::vector<std::vector<uint32_t>> nodes_;
  std::vector<uint32_t> part_of_;
};

// "layers.0.attention.q (blk.0.attn_q.weight, IQ2_XS)": a node with the stored tensors that it reads.
std::string NodeText(const Graph& graph, const Node& node) {
  std::string text = node.name;
  for (TensorId id : node.in) {
    if (id == kNoTensor || graph.tensors[id].role != Role::kWeight) continue;
    text += " (" + graph.tensors[id].name + ", " + std::string(FormatName(graph.tensors[id].format)) + ")";
  }
  return text;
}

std::string PartRefusal(const ModelGraph& graph, const DeviceProfile& profile, const PlanPart& part,
                        const std::vector<uint32_t>& nodes) {
  const bool needs_kv = part.part.kind == PartKind::kAttention || part.part.kind == PartKind::kKv;
  if (needs_kv && !profile.kv_refusal.empty()) return profile.kv_refusal;
  for (uint32_t n : nodes) {
    if (profile.verdicts[n].ok == 0)
      return NodeText(graph.graph, graph.graph.nodes[n]) + ": " + profile.verdicts[n].text;
  }
  return "";
}

uint64_t KvBytes(const Draft& draft, const DeviceProfile& profile, int32_t layer) {
  uint64_t bytes = 0;
  for (size_t k = 0; k < draft.graph->kv.size() && k < profile.kv_page_bytes.size(); ++k) {
    if (draft.graph->kv[k].layer != layer) continue;
    uint64_t more = 0;
    const bool counts =
        CheckedMul(profile.kv_page_bytes[k], static_cast<uint64_t>(draft.limits.kv_pages), &more);
    bytes = std::min(kMostKvBytes, bytes + (counts ? std::min(more, kMostKvBytes) : kMostKvBytes));
  }
  return bytes;
}

// The largest weight that a device gets a buffer for; one that is used in place needs none.
uint64_t LargestBuffer(const Graph& graph, const DeviceProfile& profile, const std::vector<uint32_t>& nodes) {
  uint64_t largest = 0;
  for (uint32_t n : nodes) {
    for (TensorId id : graph.nodes[n].in) {
      if (id != kNoTensor && graph.tensors[id].role == Role::kWeight)
        largest = std::max(largest, profile.weights[id].bytes);
    }
  }
  return largest;
}

// A layer's cache is one slice.
uint64_t LargestKv(const Draft& draft, const DeviceProfile& profile, int32_t layer) {
  uint64_t largest = 0;
  for (size_t k = 0; k < draft.graph->kv.size() && k < profile.kv_page_bytes.size(); ++k) {
    uint64_t bytes = 0;
    if (draft.graph->kv[k].layer != layer) continue;
    const bool counts =
        CheckedMul(profile.kv_page_bytes[k], static_cast<uint64_t>(draft.limits.kv_pages), &bytes);
    largest = std::max(largest, counts ? std::min(bytes, kMostKvBytes) : kMostKvBytes);
  }
  return largest;
}

void DescribeParts(const PinnedModel& pinned, Draft* draft) {
  const Graph& graph = draft->graph->graph;
  PlanModel& model = draft->problem.model;
  std::vector<uint32_t> weight_of(graph.tensors.size(), ~0u);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].role != Role::kWeight) continue;
    weight_of[id] = static_cast<uint32_t>(model.weights.size());
    PlanWeight weight{id, {}};
    for (const DeviceProfile& profile : draft->profiles) weight.bytes.push_back(profile.weight_bytes[id]);
    model.weights.push_back(std::move(weight));
  }
  const PartNodes nodes(graph, pinned.parts);
  draft->node_part = nodes.part_of();
  for (size_t i = 0; i < pinned.parts.size(); ++i) {
    PlanPart part;
    part.part = pinned.parts[i].part;
    part.pin = pinned.parts[i].pin;
    for (const DeviceProfile& profile : draft->profiles) {
      part.refusals.push_back(PartRefusal(*draft->graph, profile, part, nodes.Of(i)));
      const bool is_kv = part.part.kind == PartKind::kKv;
      if (is_kv) part.kv_bytes.push_back(KvBytes(*draft, profile, part.part.layer));
      part.largest.push_back(is_kv ? LargestKv(*draft, profile, part.part.layer)
                                   : LargestBuffer(graph, profile, nodes.Of(i)));
    }
    for (uint32_t n : nodes.Of(i)) {
      for (TensorId id : graph.nodes[n].in) {
        if (id != kNoTensor && weight_of[id] != ~0u) part.weights.push_back(weight_of[id]);
      }
    }
    model.parts.push_back(std::move(part));
  }
}

// The largest workspace that a device named for one of its nodes; programs say it exactly later.
uint64_t GuessWorkspace(const DeviceProfile& profile) {
  uint64_t bytes = 1;  // a device in use is told from one that is not
  for (const motley_verdict& verdict : profile.verdicts) bytes = std::max(bytes, verdict.workspace);
  return bytes;
}

// "--kv: kv.dtype = q8": what a refusal of the cache's format begins with.
std::string KvSetting(const Config& config) {
  return config.Where("kv.dtype") + " = " + std::string(KvWord(config.kv.dtype));
}

// A device's refusal without its name, which its own errors begin with.
std::string OwnWords(const DeviceProfile& profile) {
  const std::string name = profile.device->name() + ": ";
  return profile.kv_refusal.rfind(name, 0) == 0 ? profile.kv_refusal.substr(name.size()) : profile.kv_refusal;
}

// Where no device keeps keys and values so there is nothing to place.
Status CheckKvSupport(const Config& config, const std::vector<DeviceProfile>& profiles) {
  std::string text = KvSetting(config) + ": no device can keep keys and values so";
  for (const DeviceProfile& profile : profiles) {
    if (profile.kv_refusal.empty()) return OkStatus();
    text += "; " + profile.device->name() + ": " + OwnWords(profile);
  }
  return UnimplementedError(text + "; choose another with --kv or kv.dtype: f32, f16, q8, q4");
}

}  // namespace

StatusOr<Draft> MakeDraft(const Config& config, const Model& model, const WeightsFile& file,
                          std::span<Device* const> candidates, const GraphLimits& limits,
                          PlanReport* report) {
  Draft draft;
  draft.limits = limits;
  MOTLEY_ASSIGN_OR_RETURN(ModelGraph graph, model.BuildGraph(limits));
  draft.graph = std::make_unique<ModelGraph>(std::move(graph));
  draft.problem.pins = PinsOf(config);
  draft.problem.margin_bytes = config.placement.margin_bytes;
  draft.problem.model_name = file.metadata().origin();
  const std::vector<std::string> names = DeviceNames(candidates);
  MOTLEY_RETURN_IF_ERROR(CheckPinDevices(config, names));
  MOTLEY_ASSIGN_OR_RETURN(const PinnedModel pinned, ApplyPins(draft.problem.pins, model.Parts(), names));
  report->pins.clear();
  for (size_t p = 0; p < draft.problem.pins.size(); ++p) {
    report->pins.push_back({draft.problem.pins[p].selector, draft.problem.pins[p].device, pinned.matches[p]});
  }
  for (Device* device : candidates) {
    MOTLEY_ASSIGN_OR_RETURN(DeviceProfile profile, ProfileDevice(*device, *draft.graph, file, limits));
    draft.problem.devices.push_back(
        {device->name(), device->info().pool, GuessWorkspace(profile), device->info().max_alloc});
    MOTLEY_RETURN_IF_ERROR(AddPool(*device, &draft.problem));
    draft.profiles.push_back(std::move(profile));
  }
  MOTLEY_RETURN_IF_ERROR(CheckKvSupport(config, draft.profiles));
  for (DeviceProfile& profile : draft.profiles) {
    if (!profile.kv_refusal.empty()) profile.kv_refusal = KvSetting(config) + ": " + OwnWords(profile);
  }
  AddHostPool(&draft.problem);
  DescribeParts(pinned, &draft);
  return draft;
}

std::vector<std::string> DeviceNames(std::span<Device* const> devices) {
  std::vector<std::string> names;
  for (const Device* device : devices) names.push_back(device->name());
  return names;
}

}  // namespace motley
