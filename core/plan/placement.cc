#include "core/plan/placement.h"

#include <algorithm>

#include "core/base/units.h"

namespace motley {
namespace {

// A placement while it grows, with what it takes of each pool.
class Filler {
 public:
  explicit Filler(const PlacementProblem& problem)
      : problem_(problem),
        used_(problem.pools.size(), 0),
        has_weight_(problem.devices.size(), std::vector<bool>(problem.model.weights.size(), false)) {
    placement_.device.resize(problem.model.parts.size(), 0);
    placement_.use.resize(problem.devices.size());
    placement_.host_bytes = problem.host_bytes;
    for (size_t p = 0; p < problem.pools.size(); ++p) {
      if (problem.pools[p].name == problem.host_pool) used_[p] = problem.host_bytes;
    }
  }

  // What `part` would add on `device`: a weight that is there already costs nothing.
  DeviceUse Extra(const PlanPart& part, uint32_t device) const {
    DeviceUse extra;
    std::vector<uint32_t> counted;
    for (uint32_t w : part.weights) {
      if (has_weight_[device][w] || std::find(counted.begin(), counted.end(), w) != counted.end()) continue;
      counted.push_back(w);
      extra.weight_bytes += problem_.model.weights[w].bytes[device];
    }
    if (!part.kv_bytes.empty()) extra.kv_bytes = part.kv_bytes[device];
    if (placement_.use[device].workspace_bytes == 0) extra.workspace_bytes = problem_.devices[device].workspace_bytes;
    return extra;
  }

  uint64_t Left(uint32_t device) const {
    const uint32_t pool = PoolOf(device);
    const uint64_t taken = used_[pool] + problem_.margin_bytes;
    return problem_.pools[pool].free_bytes > taken ? problem_.pools[pool].free_bytes - taken : 0;
  }

  void Put(uint32_t part_index, uint32_t device) {
    const PlanPart& part = problem_.model.parts[part_index];
    const DeviceUse extra = Extra(part, device);
    DeviceUse& use = placement_.use[device];
    use.weight_bytes += extra.weight_bytes;
    use.kv_bytes += extra.kv_bytes;
    use.workspace_bytes += extra.workspace_bytes;
    for (uint32_t w : part.weights) has_weight_[device][w] = true;
    used_[PoolOf(device)] += extra.total();
    placement_.device[part_index] = device;
  }

  // How many bytes the pools are over, and where.
  uint64_t Short(std::string* where) const {
    uint64_t worst = 0;
    for (size_t p = 0; p < used_.size(); ++p) {
      const uint64_t need = used_[p] == 0 ? 0 : used_[p] + problem_.margin_bytes;
      if (need > problem_.pools[p].free_bytes && need - problem_.pools[p].free_bytes > worst) {
        worst = need - problem_.pools[p].free_bytes;
        *where = problem_.pools[p].name;
      }
    }
    return worst;
  }

  uint32_t PoolOf(uint32_t device) const {
    for (uint32_t p = 0; p < problem_.pools.size(); ++p) {
      if (problem_.pools[p].name == problem_.devices[device].pool) return p;
    }
    return 0;
  }

  Placement Take() { return std::move(placement_); }

 private:
  const PlacementProblem& problem_;
  Placement placement_;
  std::vector<uint64_t> used_;                 // a pool
  std::vector<std::vector<bool>> has_weight_;  // a device, a weight
};

StatusOr<uint32_t> PinnedDevice(const PlacementProblem& problem, const PlanPart& part) {
  const Pin& pin = problem.pins[static_cast<size_t>(part.pin)];
  for (uint32_t d = 0; d < problem.devices.size(); ++d) {
    if (problem.devices[d].name != pin.device) continue;
    if (part.refusals[d].empty()) return d;
    return InvalidArgumentError(pin.origin + ": " + pin.selector + " = " + pin.device + ": " + ToString(part.part) +
                                " can't run there: " + part.refusals[d]);
  }
  return InvalidArgumentError(pin.origin + ": " + pin.selector + " = " + pin.device + ": there is no such device");
}

// A layer's cache is written and read by its attention, so both are one unit.
uint32_t UnitEnd(const std::vector<PlanPart>& parts, uint32_t begin) {
  uint32_t end = begin + 1;
  while (end < parts.size() && parts[end].part.kind == PartKind::kKv) ++end;
  return end;
}

StatusOr<int32_t> PinOfUnit(const PlacementProblem& problem, uint32_t begin, uint32_t end) {
  const std::vector<PlanPart>& parts = problem.model.parts;
  int32_t pin = -1;
  for (uint32_t i = begin; i < end; ++i) {
    if (parts[i].pin < 0) continue;
    const std::string& device = problem.pins[static_cast<size_t>(parts[i].pin)].device;
    if (pin >= 0 && problem.pins[static_cast<size_t>(pin)].device != device) {
      return InvalidArgumentError(problem.pins[static_cast<size_t>(parts[i].pin)].origin + ": " +
                                  ToString(parts[i].part) + " = " + device + ": a cache is where its attention is, on " +
                                  problem.pins[static_cast<size_t>(pin)].device);
    }
    pin = parts[i].pin;
  }
  return pin;
}

struct Unit {
  uint32_t begin, end;  // parts
  int32_t pin;
};

// "" or why the device can't run one of the unit's parts.
std::string Refusal(const PlacementProblem& problem, const Unit& unit, uint32_t device) {
  for (uint32_t i = unit.begin; i < unit.end; ++i) {
    const std::string& refusal = problem.model.parts[i].refusals[device];
    if (!refusal.empty()) return refusal;
  }
  return "";
}

// By how much the part's largest buffer exceeds what the device gives; 0 = it does not.
uint64_t BufferShort(const PlacementProblem& problem, uint32_t part, uint32_t device) {
  const std::vector<uint64_t>& largest = problem.model.parts[part].largest;
  const uint64_t need = largest.empty() ? 0 : largest[device], most = problem.devices[device].max_alloc_bytes;
  return need > most ? need - most : 0;
}

bool Fits(const Filler& filler, const PlacementProblem& problem, const Unit& unit, uint32_t device) {
  DeviceUse extra;
  for (uint32_t i = unit.begin; i < unit.end; ++i) {
    if (BufferShort(problem, i, device) > 0) return false;
    const DeviceUse part = filler.Extra(problem.model.parts[i], device);
    extra.weight_bytes += part.weight_bytes;
    extra.kv_bytes += part.kv_bytes;
    extra.workspace_bytes = std::max(extra.workspace_bytes, part.workspace_bytes);
  }
  return extra.total() <= filler.Left(device);
}

void PutUnit(Filler* filler, const Unit& unit, uint32_t device) {
  for (uint32_t i = unit.begin; i < unit.end; ++i) filler->Put(i, device);
}

Status NoDeviceRuns(const PlacementProblem& problem, const Unit& unit) {
  std::string text = problem.model_name.empty() ? "" : problem.model_name + ": ";
  text += ToString(problem.model.parts[unit.begin].part) + ": no device runs it";
  for (uint32_t d = 0; d < problem.devices.size(); ++d) {
    const std::string name = problem.devices[d].name + ": ", refusal = Refusal(problem, unit, d);
    text += "; " + (refusal.rfind(name, 0) == 0 ? refusal : name + refusal);  // a device's own errors name it
  }
  return InvalidArgumentError(text);
}

Status DoesNotFit(uint64_t bytes_short, const std::string& pool) {
  return ResourceExhaustedError("the model does not fit: short " + FormatSize(bytes_short) + " in pool " + pool +
                                "; a smaller --context, fewer sequences, a narrower --kv, a smaller placement.margin or "
                                "another device would help");
}

// One buffer can be too large for a device that has the memory.
Status CheckBuffers(const PlacementProblem& problem, const std::vector<uint32_t>& device_of) {
  for (uint32_t i = 0; i < device_of.size(); ++i) {
    const uint64_t bytes_short = BufferShort(problem, i, device_of[i]);
    if (bytes_short == 0) continue;
    const PlanDevice& device = problem.devices[device_of[i]];
    const PlanPart& part = problem.model.parts[i];
    const bool cache = part.part.kind == PartKind::kKv;
    return ResourceExhaustedError(
        ToString(part.part) + " needs one buffer of " + FormatSize(part.largest[device_of[i]]) + ", and " + device.name +
        " gives at most " + FormatSize(device.max_alloc_bytes) + " (short " + FormatSize(bytes_short) + "); " +
        (cache ? "a smaller --context, fewer sequences, a narrower --kv or another device would help"
               : "another device would help"));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Placement> Place(const PlacementProblem& problem) {
  const std::vector<PlanPart>& parts = problem.model.parts;
  if (problem.devices.empty()) return InvalidArgumentError("there is no device to place the model on");
  std::vector<Unit> units;
  for (uint32_t i = 0; i < parts.size(); i = units.back().end) {
    const uint32_t end = UnitEnd(parts, i);
    MOTLEY_ASSIGN_OR_RETURN(const int32_t pin, PinOfUnit(problem, i, end));
    units.push_back({i, end, pin});
  }

  Filler filler(problem);
  for (const Unit& unit : units) {
    if (unit.pin < 0) continue;
    for (uint32_t i = unit.begin; i < unit.end; ++i) {
      PlanPart pinned = parts[i];
      pinned.pin = unit.pin;
      MOTLEY_ASSIGN_OR_RETURN(const uint32_t device, PinnedDevice(problem, pinned));
      filler.Put(i, device);
    }
  }
  // Only forward: going back to an earlier device would add a hop for every unit.
  uint32_t current = 0;
  for (const Unit& unit : units) {
    if (unit.pin >= 0) continue;
    uint32_t device = current;
    while (device < problem.devices.size() &&
           (!Refusal(problem, unit, device).empty() || !Fits(filler, problem, unit, device))) {
      ++device;
    }
    if (device == problem.devices.size()) {
      // The last one that can run it takes the rest, so that the error can say how much is missing in all.
      while (device > 0 && !Refusal(problem, unit, device - 1).empty()) --device;
      if (device == 0) return NoDeviceRuns(problem, unit);
      --device;
    } else {
      // A device passed over only because it can't run this one may still take the next.
      const bool full = Refusal(problem, unit, current).empty();
      if (full) current = device;
    }
    PutUnit(&filler, unit, device);
  }
  Placement placement = filler.Take();
  MOTLEY_RETURN_IF_ERROR(CheckBuffers(problem, placement.device));
  std::string pool;
  if (const uint64_t bytes_short = filler.Short(&pool); bytes_short > 0) return DoesNotFit(bytes_short, pool);
  return placement;
}

}  // namespace motley
