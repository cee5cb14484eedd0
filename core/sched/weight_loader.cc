#include "core/sched/weight_loader.h"

#include <algorithm>
#include <deque>

#include "core/plan/weight_desc.h"

namespace motley {
namespace {

constexpr uint64_t kMinStagingBytes = 64ull << 20;
constexpr uint32_t kAllSlots = ~0u;

// A weight on its way into a device. The range is in use until the plugin says that it is released.
struct Flight {
  std::unique_ptr<WeightDesc> desc;
  uint64_t value = 0;  // of the device's fence
  uint64_t staging_bytes = 0;
};

// What is being loaded into one device.
struct DeviceLoad {
  const DeviceProfile* profile = nullptr;
  ResidentTensors* resident = nullptr;
  std::deque<Flight> flights;         // destroyed after the queue, whose end waits for their work
  Fence fence;
  Queue queue;                        // ends before the fence that its work signals
  uint64_t value = 0;
  std::vector<bool> needed;           // a tensor of the graph
  std::vector<uint32_t> arena_index;  // a tensor of the graph
  uint64_t staging_bytes = 0;
};

std::vector<bool> NeededTensors(const LoadRequest& request, uint32_t device) {
  const Graph& graph = request.model->graph;
  std::vector<bool> needed(graph.tensors.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (request.node_device[n] != device) continue;
    for (TensorId id : graph.nodes[n].in) {
      if (id == kNoTensor) continue;
      const Role role = graph.tensors[id].role;
      needed[id] = needed[id] || role == Role::kWeight || role == Role::kState;
    }
  }
  return needed;
}

// Room for all that the device will hold; nothing is read yet.
Status Allocate(const LoadRequest& request, DeviceLoad* load) {
  const Graph& graph = request.model->graph;
  ResidentTensors& resident = *load->resident;
  resident.slices.resize(graph.tensors.size());
  load->arena_index.resize(graph.tensors.size(), 0);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (!load->needed[id] || graph.tensors[id].role != Role::kWeight) continue;
    const WeightPlan& plan = load->profile->weights[id];
    load->arena_index[id] = resident.weights.Add(plan.bytes, plan.alignment);
  }
  for (size_t k = 0; k < request.model->kv.size(); ++k) {
    const TensorId state = request.model->kv[k].state;
    if (!load->needed[state]) continue;
    const uint64_t bytes = load->profile->kv_page_bytes[k] * static_cast<uint64_t>(request.limits->kv_pages);
    load->arena_index[state] = resident.kv.Add(bytes, load->profile->kv_alignment[k]);
  }
  const Device& device = *load->profile->device;
  MOTLEY_RETURN_IF_ERROR(resident.weights.Allocate(device, Usage::kWeights));
  MOTLEY_RETURN_IF_ERROR(resident.kv.Allocate(device, Usage::kKv));
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (!load->needed[id]) continue;
    const bool is_state = graph.tensors[id].role == Role::kState;
    resident.slices[id] = (is_state ? resident.kv : resident.weights).slice(load->arena_index[id]);
  }
  return OkStatus();
}

// Waits for the oldest load of the device.
Status Land(DeviceLoad* load) {
  MOTLEY_RETURN_IF_ERROR(load->fence.Wait(load->flights.front().value));
  load->staging_bytes -= load->flights.front().staging_bytes;
  load->flights.pop_front();
  return OkStatus();
}

// What `released` needs to know: whose bytes may leave the memory.
struct ReleaseNote {
  const WeightsFile* file;
  const StoredTensor* tensor;
  bool last_user;
};

void OnReleased(void* arg) {
  const std::unique_ptr<ReleaseNote> note(static_cast<ReleaseNote*>(arg));
  if (note->last_user) note->file->Release(*note->tensor);
}

// Waits until `bytes` more may be in flight over all devices; one load larger than the limit goes alone.
Status MakeRoom(std::span<DeviceLoad> loads, uint64_t bytes, uint64_t staging_limit) {
  for (;;) {
    uint64_t in_flight = 0;
    DeviceLoad* fullest = nullptr;
    for (DeviceLoad& load : loads) {
      in_flight += load.staging_bytes;
      if (!load.flights.empty() && (fullest == nullptr || load.staging_bytes > fullest->staging_bytes)) fullest = &load;
    }
    if (fullest == nullptr || in_flight + bytes <= staging_limit) return OkStatus();
    MOTLEY_RETURN_IF_ERROR(Land(fullest));
  }
}

Status LoadOne(const WeightsFile& file, const StoredTensor& tensor, TensorId id, bool last_user, uint64_t staging_limit,
               std::span<DeviceLoad> loads, DeviceLoad* load) {
  const WeightPlan& plan = load->profile->weights[id];
  auto desc = std::make_unique<WeightDesc>(file, tensor);
  if (plan.bytes == 0) {
    MOTLEY_ASSIGN_OR_RETURN(Buffer buffer, load->profile->device->ImportBuffer(desc->range()));
    load->resident->slices[id] = buffer.Whole();
    load->resident->imports.push_back(std::move(buffer));
    return OkStatus();
  }
  MOTLEY_RETURN_IF_ERROR(MakeRoom(loads, plan.staging + tensor.bytes, staging_limit));
  desc->OnReleased(OnReleased, new ReleaseNote{&file, &tensor, last_user});
  const motley_point signal = load->fence.At(++load->value);
  const motley_sync sync = MakeSync({}, {&signal, 1});
  MOTLEY_RETURN_IF_ERROR(
      load->queue.LoadWeight(desc->weight(), plan.layout, kAllSlots, load->resident->slices[id], &sync));
  load->staging_bytes += plan.staging + tensor.bytes;
  load->flights.push_back({std::move(desc), load->value, plan.staging + tensor.bytes});  // also where the flush fails
  return load->queue.Flush();
}

}  // namespace

StatusOr<std::vector<std::unique_ptr<ResidentTensors>>> LoadTensors(const LoadRequest& request,
                                                                    const LoadProgress& progress) {
  const Graph& graph = request.model->graph;
  std::vector<std::unique_ptr<ResidentTensors>> residents;
  std::vector<DeviceLoad> loads(request.devices.size());
  for (uint32_t d = 0; d < loads.size(); ++d) {
    residents.push_back(std::make_unique<ResidentTensors>());
    DeviceLoad& load = loads[d];
    load.profile = request.devices[d];
    load.resident = residents[d].get();
    load.needed = NeededTensors(request, d);
    MOTLEY_ASSIGN_OR_RETURN(load.queue, load.profile->device->CreateQueue());
    MOTLEY_ASSIGN_OR_RETURN(load.fence, load.profile->device->CreateFence());
    MOTLEY_RETURN_IF_ERROR(Allocate(request, &load));
  }

  std::vector<std::pair<const StoredTensor*, TensorId>> order;
  uint64_t total_bytes = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].role != Role::kWeight) continue;
    MOTLEY_ASSIGN_OR_RETURN(const StoredTensor* stored, request.file->GetTensor(graph.tensors[id].name));
    order.push_back({stored, id});
    total_bytes += stored->bytes;
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first->file, a.first->offset) < std::pair(b.first->file, b.first->offset);
  });

  const uint64_t staging_limit = std::max(kMinStagingBytes, total_bytes / 20);
  uint64_t done_bytes = 0;
  for (const auto& [stored, id] : order) {
    uint32_t users = 0;
    for (const DeviceLoad& load : loads) users += load.needed[id] ? 1 : 0;
    const bool in_place = std::any_of(loads.begin(), loads.end(), [&, id = id](const DeviceLoad& load) {
      return load.needed[id] && load.profile->weights[id].bytes == 0;
    });
    for (DeviceLoad& load : loads) {
      if (!load.needed[id]) continue;
      --users;
      MOTLEY_RETURN_IF_ERROR(LoadOne(*request.file, *stored, id, users == 0 && !in_place, staging_limit, loads, &load));
    }
    done_bytes += stored->bytes;
    if (progress && !progress(done_bytes, total_bytes)) return CancelledError("loading was cancelled");
  }
  for (DeviceLoad& load : loads) {
    while (!load.flights.empty()) MOTLEY_RETURN_IF_ERROR(Land(&load));
  }
  return residents;
}

}  // namespace motley
