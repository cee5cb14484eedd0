#include "core/engine/planning.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/checked.h"
#include "core/base/units.h"
#include "core/engine/config_keys.h"
#include "core/sched/step_data.h"

namespace motley {
namespace {

constexpr int kMaxPlacementRounds = 4;
constexpr uint64_t kMostKvBytes = uint64_t{1} << 50;  // of a layer: fits nowhere, and sums of it do not wrap

// Lower is better.
int Preference(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu: return 0;
    case DeviceKind::kOther: return 1;
    case DeviceKind::kCpu: return 2;
    case DeviceKind::kReference: return 3;
    case DeviceKind::kTest: return 4;
  }
  return 5;
}

std::vector<std::string> Names(std::span<Device* const> devices) {
  std::vector<std::string> names;
  for (const Device* device : devices) names.push_back(device->name());
  return names;
}

std::vector<Pin> PinsOf(const Config& config) {
  std::vector<Pin> pins;
  for (const ConfigPin& pin : config.placement.pins) pins.push_back({pin.what, pin.on, pin.what_position, pin.from_flag});
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

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

GraphLimits LimitsFor(const Config& config, int64_t context, const PlanningOptions& options) {
  GraphLimits limits;
  limits.page_tokens = config.kv.page_tokens;
  limits.kv_format = config.kv.dtype;
  limits.max_seqs = config.model.sequences;
  limits.max_pages = CeilDiv(context, limits.page_tokens);
  limits.kv_pages = limits.max_pages * limits.max_seqs;
  limits.max_tokens = std::max<int64_t>(config.schedule.step_tokens, limits.max_seqs);
  limits.max_outputs = options.max_outputs > 0 ? options.max_outputs : limits.max_seqs;
  limits.max_outputs = std::max(limits.max_outputs, limits.max_seqs);
  return limits;
}

// Positions and cells of the cache are i32 in a step's data: tokens a sequence, at most.
int64_t MostContext(const Config& config) {
  const int64_t page = config.kv.page_tokens, sequences = config.model.sequences;
  return INT32_MAX / (page * sequences) * page;
}

Status TooManySlots(const Config& config, int64_t asked, int64_t most) {
  return ResourceExhaustedError(config.Where("model.context") + ": a context of " + std::to_string(asked) +
                                " tokens for sequences = " + std::to_string(config.model.sequences) +
                                " is more than a cache can number: at most " + std::to_string(most) +
                                "; ask for less, or for fewer sequences");
}

// Everything that is known before a placement: the graph, what each device says of it, the problem for Place().
struct Draft {
  GraphLimits limits;
  std::unique_ptr<ModelGraph> graph;    // stays where it is: what is compiled refers to it
  std::vector<DeviceProfile> profiles;  // a candidate
  PlacementProblem problem;
  std::vector<uint32_t> node_part;      // a node: index in problem.model.parts
};

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

std::string PartRefusal(const ModelGraph& graph, const DeviceProfile& profile, const std::vector<uint32_t>& nodes) {
  if (!profile.refusal.empty()) return profile.refusal;
  for (uint32_t n : nodes) {
    if (profile.verdicts[n].ok == 0) return NodeText(graph.graph, graph.graph.nodes[n]) + ": " + profile.verdicts[n].text;
  }
  return "";
}

uint64_t KvBytes(const Draft& draft, const DeviceProfile& profile, int32_t layer) {
  uint64_t bytes = 0;
  for (size_t k = 0; k < draft.graph->kv.size() && k < profile.kv_page_bytes.size(); ++k) {
    if (draft.graph->kv[k].layer != layer) continue;
    uint64_t more = 0;
    const bool counts = CheckedMul(profile.kv_page_bytes[k], static_cast<uint64_t>(draft.limits.kv_pages), &more);
    bytes = std::min(kMostKvBytes, bytes + (counts ? std::min(more, kMostKvBytes) : kMostKvBytes));
  }
  return bytes;
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
      part.refusals.push_back(PartRefusal(*draft->graph, profile, nodes.Of(i)));
      if (part.part.kind == PartKind::kKv) part.kv_bytes.push_back(KvBytes(*draft, profile, part.part.layer));
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
  return profile.refusal.rfind(name, 0) == 0 ? profile.refusal.substr(name.size()) : profile.refusal;
}

// Where no device keeps keys and values so there is nothing to place.
Status CheckKvSupport(const Config& config, const std::vector<DeviceProfile>& profiles) {
  std::string text = KvSetting(config) + ": no device can keep keys and values so";
  for (const DeviceProfile& profile : profiles) {
    if (profile.refusal.empty()) return OkStatus();
    text += "; " + profile.device->name() + ": " + OwnWords(profile);
  }
  return UnimplementedError(text + "; choose another with --kv or kv.dtype: f32, f16, q8, q4");
}

StatusOr<Draft> MakeDraft(const Config& config, const Model& model, const WeightsFile& file,
                          std::span<Device* const> candidates, const GraphLimits& limits, PlanReport* report) {
  Draft draft;
  draft.limits = limits;
  MOTLEY_ASSIGN_OR_RETURN(ModelGraph graph, model.BuildGraph(limits));
  draft.graph = std::make_unique<ModelGraph>(std::move(graph));
  draft.problem.pins = PinsOf(config);
  draft.problem.margin_bytes = config.placement.margin_bytes;
  draft.problem.model_name = file.metadata().origin();
  const std::vector<std::string> names = Names(candidates);
  MOTLEY_RETURN_IF_ERROR(CheckPinDevices(config, names));
  MOTLEY_ASSIGN_OR_RETURN(const PinnedModel pinned, ApplyPins(draft.problem.pins, model.Parts(), names));
  report->pins.clear();
  for (size_t p = 0; p < draft.problem.pins.size(); ++p) {
    report->pins.push_back({draft.problem.pins[p].selector, draft.problem.pins[p].device, pinned.matches[p]});
  }
  for (Device* device : candidates) {
    MOTLEY_ASSIGN_OR_RETURN(DeviceProfile profile, ProfileDevice(*device, *draft.graph, file, limits));
    draft.problem.devices.push_back({device->name(), device->info().pool, GuessWorkspace(profile)});
    MOTLEY_RETURN_IF_ERROR(AddPool(*device, &draft.problem));
    draft.profiles.push_back(std::move(profile));
  }
  MOTLEY_RETURN_IF_ERROR(CheckKvSupport(config, draft.profiles));
  for (DeviceProfile& profile : draft.profiles) {
    if (!profile.refusal.empty()) profile.refusal = KvSetting(config) + ": " + OwnWords(profile);
  }
  DescribeParts(pinned, &draft);
  return draft;
}

// Compiles what was placed. kept: the candidates that are used, in order.
StatusOr<std::unique_ptr<CompiledGraph>> CompilePlacement(const Draft& draft, const Placement& placement,
                                                          std::vector<uint32_t>* kept,
                                                          std::vector<uint32_t>* node_device) {
  kept->clear();
  node_device->clear();
  PlacedGraph placed;
  placed.graph = &draft.graph->graph;
  std::vector<uint32_t> new_index(draft.profiles.size(), ~0u);
  for (uint32_t d = 0; d < draft.profiles.size(); ++d) {
    if (std::find(placement.device.begin(), placement.device.end(), d) == placement.device.end()) continue;
    new_index[d] = static_cast<uint32_t>(kept->size());
    kept->push_back(d);
    placed.devices.push_back(draft.profiles[d].device);
    placed.details.push_back(draft.profiles[d].details);
  }
  for (uint32_t part : draft.node_part) node_device->push_back(new_index[placement.device[part]]);
  placed.node_device = *node_device;
  MOTLEY_ASSIGN_OR_RETURN(CompiledGraph compiled, CompiledGraph::Compile(placed));
  return std::make_unique<CompiledGraph>(std::move(compiled));
}

void FillReport(const Draft& draft, const Placement& placement, PlanReport* report) {
  report->devices.clear();
  std::vector<std::string> pools_seen;
  for (uint32_t d = 0; d < draft.problem.devices.size(); ++d) {
    const PlanDevice& device = draft.problem.devices[d];
    const DeviceUse& use = placement.use[d];
    PlanReport::DeviceLine line{device.name, device.pool, use.weight_bytes, use.kv_bytes, use.workspace_bytes};
    for (const PlanPool& pool : draft.problem.pools) {
      if (pool.name == device.pool) line.capacity_bytes = pool.free_bytes;
    }
    const bool used = use.total() > 0;
    if (used && std::find(pools_seen.begin(), pools_seen.end(), device.pool) == pools_seen.end()) {
      pools_seen.push_back(device.pool);
      line.margin_bytes = draft.problem.margin_bytes;
    }
    if (!used) {
      line.unused = draft.profiles[d].refusal;
      if (line.unused.empty()) line.unused = "everything fits on devices that are preferred";
    }
    report->devices.push_back(std::move(line));
  }
  std::vector<PlacedPart> parts;
  for (size_t i = 0; i < placement.device.size(); ++i) {
    parts.push_back({draft.problem.model.parts[i].part, draft.problem.devices[placement.device[i]].name});
  }
  report->placement = SummarizePlacement(parts);
}

// Places and compiles for one context. Programs say their workspace exactly; where it is more than was guessed, the
// placement is made again with what is known now.
StatusOr<std::unique_ptr<PlannedModel>> TryPlan(const Config& config, const Model& model, const WeightsFile& file,
                                                std::span<Device* const> candidates, const GraphLimits& limits) {
  auto planned = std::make_unique<PlannedModel>();
  MOTLEY_ASSIGN_OR_RETURN(Draft draft, MakeDraft(config, model, file, candidates, limits, &planned->report));
  const uint64_t step_bytes = StepData::Bytes(limits, model.rope().rotary_dim());
  for (int round = 0; round < kMaxPlacementRounds; ++round) {
    MOTLEY_ASSIGN_OR_RETURN(Placement placement, Place(draft.problem));
    std::vector<uint32_t> kept;
    MOTLEY_ASSIGN_OR_RETURN(planned->compiled, CompilePlacement(draft, placement, &kept, &planned->node_device));
    bool exact = true;
    for (uint32_t k = 0; k < kept.size(); ++k) {
      const uint64_t bytes = planned->compiled->work_bytes(k) + step_bytes;
      uint64_t& known = draft.problem.devices[kept[k]].workspace_bytes;
      exact = exact && bytes <= known;
      if (bytes > known || round == 0) known = bytes;
      placement.use[kept[k]].workspace_bytes = bytes;
    }
    if (!exact) continue;
    FillReport(draft, placement, &planned->report);
    std::vector<DeviceProfile> profiles;
    for (uint32_t d : kept) profiles.push_back(std::move(draft.profiles[d]));
    planned->profiles = std::move(profiles);
    planned->limits = limits;
    planned->graph = std::move(draft.graph);
    return planned;
  }
  return InternalError("the placement does not settle: programs ask for more workspace each time");
}

}  // namespace

StatusOr<std::vector<Device*>> CandidateDevices(const Config& config, const Backends& backends) {
  const std::vector<std::string> names = Names(backends.devices());
  std::vector<Device*> candidates;
  for (const std::string& wanted : config.placement.devices) {
    if (const Status known = CheckDeviceName(wanted, names); !known.ok()) {
      return known.WithPrefix(config.Where("placement.devices"));
    }
    candidates.push_back(backends.Find(wanted));
  }
  if (config.placement.devices.empty()) {
    for (Device* device : backends.devices()) {
      const bool pinned = std::any_of(config.placement.pins.begin(), config.placement.pins.end(),
                                      [&](const ConfigPin& pin) { return pin.on == device->name(); });
      if (device->info().kind != DeviceKind::kTest || pinned) candidates.push_back(device);
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const Device* a, const Device* b) {
      return Preference(a->info().kind) < Preference(b->info().kind);
    });
  }
  if (candidates.empty()) {
    return NotFoundError("no device was found; `motley plugins` says which folders were searched and why each was skipped");
  }
  return candidates;
}

StatusOr<std::unique_ptr<PlannedModel>> MakePlan(const Config& config, const Model& model, const WeightsFile& file,
                                                  const Backends& backends, const PlanningOptions& options) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Device*> candidates, CandidateDevices(config, backends));
  auto attempt = [&](int64_t context) {
    auto planned = TryPlan(config, model, file, candidates, LimitsFor(config, context, options));
    if (planned.ok()) (*planned)->report.context = context;
    return planned;
  };
  const int64_t trained = model.params().context_length, most = MostContext(config);
  if (config.model.context) {
    const auto asked = static_cast<int64_t>(*config.model.context);
    if (asked > most) return TooManySlots(config, asked, most);
    return attempt(asked);
  }
  StatusOr<std::unique_ptr<PlannedModel>> best = attempt(std::min(trained, most));
  if (!best.ok() && best.status().code() != Code::kResourceExhausted) return best;

  // The largest number of pages a sequence that fits, by halving the interval.
  const int64_t page = config.kv.page_tokens;
  const int64_t tried = CeilDiv(std::min(trained, most), page);
  for (int64_t low = 1, high = best.ok() ? 0 : tried - 1; low <= high;) {
    const int64_t middle = low + (high - low) / 2;
    StatusOr<std::unique_ptr<PlannedModel>> smaller = attempt(middle * page);
    if (!smaller.ok() && smaller.status().code() != Code::kResourceExhausted) return smaller;
    if (smaller.ok()) {
      low = middle + 1;
    } else {
      high = middle - 1;
    }
    // Where nothing fits, the smallest says how much is missing at least.
    if (smaller.ok() || !best.ok()) best = std::move(smaller);
  }
  if (best.ok() && (*best)->report.context < trained) {
    (*best)->report.notices.push_back("the context is lowered from the model's " + std::to_string(trained) + " to " +
                                      std::to_string((*best)->report.context) + " tokens, which fits; --context asks "
                                      "for another");
  }
  return best;
}

}  // namespace motley
