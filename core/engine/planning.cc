#include "core/engine/planning.h"

#include <algorithm>

#include "core/base/units.h"
#include "core/engine/lost_devices.h"
#include "core/engine/plan_draft.h"
#include "core/plan/settle.h"
#include "core/sched/step_data.h"

namespace motley {
namespace {

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

// A device that could run some part has lost them all to others; else the first part's refusal tells most.
std::string WhyUnused(const PlanModel& model, uint32_t device) {
  for (const PlanPart& part : model.parts) {
    if (part.part.kind != PartKind::kKv && part.refusals[device].empty())
      return "everything fits on devices that are preferred";
  }
  return model.parts.empty() ? "" : model.parts[0].refusals[device];
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
      line.unused = WhyUnused(draft.problem.model, d);
    }
    report->devices.push_back(std::move(line));
  }
  report->host = {draft.problem.host_pool, placement.host_bytes};
  std::vector<PlacedPart> parts;
  for (size_t i = 0; i < placement.device.size(); ++i) {
    parts.push_back({draft.problem.model.parts[i].part, draft.problem.devices[placement.device[i]].name});
  }
  report->placement = SummarizePlacement(parts);
}

// What compiled programs take: on each device of the problem, and of the host.
StatusOr<WorkBytes> MeasurePlacement(const Draft& draft, const CompiledGraph& compiled, const std::vector<uint32_t>& kept,
                                     uint64_t step_bytes) {
  WorkBytes work;
  work.device.resize(draft.problem.devices.size(), 0);
  work.host = compiled.host_bytes() + step_bytes;
  for (uint32_t k = 0; k < kept.size(); ++k) {
    const PlanDevice& device = draft.problem.devices[kept[k]];
    uint64_t largest = compiled.workspace_bytes(k);
    for (TensorId id : compiled.boundary_tensors(k))
      largest = std::max(largest, compiled.TensorBytes(id, compiled.graph().max));
    if (largest > device.max_alloc_bytes) {
      return ResourceExhaustedError(device.name + ": a step needs one buffer of " + FormatSize(largest) +
                                    ", and it gives at most " + FormatSize(device.max_alloc_bytes) + " (short " +
                                    FormatSize(largest - device.max_alloc_bytes) +
                                    "); a smaller schedule.step_tokens or --context would help");
    }
    work.device[kept[k]] = compiled.work_bytes(k) + step_bytes;
  }
  return work;
}

// Places and compiles for one context. Programs say their workspace exactly; where it is more than was guessed, the
// placement is made again with what is known now.
StatusOr<std::unique_ptr<PlannedModel>> TryPlan(const Config& config, const Model& model, const WeightsFile& file,
                                                std::span<Device* const> candidates, const GraphLimits& limits) {
  auto planned = std::make_unique<PlannedModel>();
  MOTLEY_ASSIGN_OR_RETURN(Draft draft, MakeDraft(config, model, file, candidates, limits, &planned->report));
  const uint64_t step_bytes = StepData::Bytes(limits, model.rope().rotary_dim());
  draft.problem.host_bytes = step_bytes;  // what a plan on one plugin takes
  for (const Tensor& tensor : draft.graph->graph.tensors) {
    if (tensor.role == Role::kOutput)
      draft.problem.host_bytes += static_cast<uint64_t>(ElementCount(tensor, limits.Max())) * sizeof(float);
  }
  std::vector<uint32_t> kept;
  const auto measure = [&](const Placement& placement) -> StatusOr<WorkBytes> {
    MOTLEY_ASSIGN_OR_RETURN(planned->compiled, CompilePlacement(draft, placement, &kept, &planned->node_device));
    return MeasurePlacement(draft, *planned->compiled, kept, step_bytes);
  };
  MOTLEY_ASSIGN_OR_RETURN(const Placement placement, SettlePlacement(&draft.problem, measure));
  FillReport(draft, placement, &planned->report);
  for (uint32_t d : kept) planned->profiles.push_back(std::move(draft.profiles[d]));
  planned->limits = limits;
  planned->graph = std::move(draft.graph);
  for (const CompiledSegment& segment : planned->compiled->segments()) {
    planned->segment_work.push_back(
        CountWork(*planned->graph, planned->profiles[segment.device], segment.nodes, limits.page_tokens));
  }
  return planned;
}

StatusOr<std::unique_ptr<PlannedModel>> PlanOn(std::span<Device* const> candidates, const Config& config,
                                               const Model& model, const WeightsFile& file,
                                               const PlanningOptions& options) {
  auto attempt = [&](int64_t context) {
    auto planned = TryPlan(config, model, file, candidates, LimitsFor(config, context, options));
    if (planned.ok()) (*planned)->report.context = context;
    return planned;
  };
  const auto predict = [&](std::unique_ptr<PlannedModel> planned) {
    planned->report.times = PredictPlan(*planned->compiled, planned->segment_work, options.profile, planned->report.context,
                                        config.schedule.step_tokens);
    return planned;
  };
  const int64_t trained = model.params().context_length, most = MostContext(config);
  if (config.model.context) {
    const auto asked = static_cast<int64_t>(*config.model.context);
    if (asked > most) return TooManySlots(config, asked, most);
    MOTLEY_ASSIGN_OR_RETURN(auto planned, attempt(asked));
    return predict(std::move(planned));
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
  if (!best.ok()) return best;
  return predict(*std::move(best));
}

}  // namespace

StatusOr<std::vector<Device*>> CandidateDevices(const Config& config, const Backends& backends) {
  const std::vector<std::string> names = DeviceNames(backends.devices());
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
  MOTLEY_ASSIGN_OR_RETURN(std::vector<Device*> devices, CandidateDevices(config, backends));
  if (options.lost == nullptr || !options.lost->any()) return PlanOn(devices, config, model, file, options);
  std::erase_if(devices, [&](const Device* device) { return options.lost->Has(*device); });
  if (devices.empty()) return UnavailableError("no device is left");
  std::vector<std::string> notices;
  auto planned = PlanOn(devices, options.lost->WithoutTheirPins(config, &notices), model, file, options);
  if (planned.ok()) {
    std::vector<std::string>& all = (*planned)->report.notices;
    all.insert(all.begin(), notices.begin(), notices.end());
  }
  return planned;
}

}  // namespace motley
