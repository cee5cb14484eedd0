#include "core/backend/instance.h"

#include <cstddef>
#include <cstring>

#include "core/backend/abi.h"

namespace motley {
namespace {

// The functions that every compute table must have, by their place in it.
struct Required {
  const char* name;
  size_t offset;
};
#define MOTLEY_REQUIRED(f) \
  { #f, offsetof(motley_compute, f) }
constexpr Required kRequired[] = {
    MOTLEY_REQUIRED(devices),        MOTLEY_REQUIRED(device_info),   MOTLEY_REQUIRED(device_memory),
    MOTLEY_REQUIRED(buffer_alloc),   MOTLEY_REQUIRED(buffer_import), MOTLEY_REQUIRED(buffer_map),
    MOTLEY_REQUIRED(buffer_unmap),   MOTLEY_REQUIRED(buffer_free),   MOTLEY_REQUIRED(queue_create),
    MOTLEY_REQUIRED(queue_flush),    MOTLEY_REQUIRED(queue_destroy), MOTLEY_REQUIRED(fence_create),
    MOTLEY_REQUIRED(fence_query),    MOTLEY_REQUIRED(fence_signal),  MOTLEY_REQUIRED(fence_poison),
    MOTLEY_REQUIRED(fence_wait),     MOTLEY_REQUIRED(fence_destroy), MOTLEY_REQUIRED(copy),
    MOTLEY_REQUIRED(write),          MOTLEY_REQUIRED(read),          MOTLEY_REQUIRED(weight_plan),
    MOTLEY_REQUIRED(weight_load),    MOTLEY_REQUIRED(kv_plan),       MOTLEY_REQUIRED(supports),
    MOTLEY_REQUIRED(compile),        MOTLEY_REQUIRED(program_info),  MOTLEY_REQUIRED(execute),
    MOTLEY_REQUIRED(program_destroy)};
#undef MOTLEY_REQUIRED

constexpr uint32_t kComputeVersion = 1;
constexpr uint32_t kNeededBytes =
    offsetof(motley_compute, program_destroy) + sizeof(motley_compute::program_destroy);
constexpr uint32_t kMostDevices = 4096;

Status CheckCompute(const motley_compute& table) {
  if (table.size < kNeededBytes) {
    return FailedPreconditionError("motley_compute.size = " + std::to_string(table.size) + ": at least " +
                                   std::to_string(kNeededBytes));
  }
  if (table.version < kComputeVersion) {
    return FailedPreconditionError("motley_compute.version = " + std::to_string(table.version) +
                                   ": at least " + std::to_string(kComputeVersion));
  }
  for (const Required& function : kRequired) {
    void* pointer = nullptr;
    std::memcpy(&pointer, reinterpret_cast<const std::byte*>(&table) + function.offset, sizeof pointer);
    if (pointer == nullptr)
      return FailedPreconditionError(std::string("motley_compute.") + function.name + " is NULL");
  }
  return OkStatus();
}

}  // namespace

Instance::Instance(std::shared_ptr<Library> library, Host& host, Logger& logger)
    : library_(std::move(library)), host_(host), logger_(logger), table_(host.LendTo(library_->name())) {}

StatusOr<std::shared_ptr<Instance>> Instance::Open(std::shared_ptr<Library> library,
                                                   const OptionValues& values, Host& host, Logger& logger) {
  std::shared_ptr<Instance> instance(new Instance(std::move(library), host, logger));
  const motley_plugin& plugin = instance->library_->plugin();
  const std::string& name = instance->plugin();
  motley_instance* raw = nullptr;
  const Status opened = CallPlugin(name, "open", [&](motley_error* error) {
    return plugin.open(instance->table_, values.span(), &raw, error);
  });
  if (!opened.ok()) {
    // Whatever it had begun before it failed may still run; one that says so itself has at least stopped its teams.
    instance->library_->Pin();
    if (opened.code() != Code::kInternal) host.ReclaimTeams(instance->table_);
    return opened;
  }
  if (raw == nullptr) return InternalError(name + ": open returned 0 and no instance");
  instance->raw_ = raw;

  const void* table = nullptr;
  MOTLEY_RETURN_IF_ERROR(CallPlugin(name, "get_interface(COMPUTE)", [&](motley_error*) {
    return plugin.get_interface(raw, MOTLEY_IFACE_COMPUTE, kComputeVersion, &table);
  }));
  if (table == nullptr) return InternalError(name + ": get_interface(COMPUTE) returned 0 and no table");
  instance->compute_ = static_cast<const motley_compute*>(table);
  if (const Status checked = CheckCompute(*instance->compute_); !checked.ok())
    return checked.WithPrefix(name);
  return instance;
}

Instance::~Instance() {
  if (raw_ == nullptr) return;
  const Status closed = CallPlugin(
      plugin(), "close", [&](motley_error* error) { return library_->plugin().close(raw_, error); });
  if (!closed.ok()) {
    library_->Pin();  // its threads may still run
    Warn(closed);
    return;
  }
  if (const uint32_t teams = host_.ReclaimTeams(table_); teams != 0) {
    Warn(InternalError(plugin() + ": close left " + std::to_string(teams) + " teams of threads behind"));
  }
}

bool Instance::has_fence_notify() const {
  return compute_->fence_notify != nullptr;
}

StatusOr<std::vector<motley_device*>> Instance::Devices() const {
  std::vector<motley_device*> devices(16, nullptr);
  for (;;) {
    uint32_t count = 0;
    const uint32_t capacity = static_cast<uint32_t>(devices.size());
    MOTLEY_RETURN_IF_ERROR(CallPlugin(plugin(), "devices", [&](motley_error*) {
      return compute_->devices(raw_, devices.data(), capacity, &count);
    }));
    if (count == 0) return NotFoundError(plugin() + ": has no devices here");
    if (count > kMostDevices) {
      return InternalError(plugin() + ": devices gave a count of " + std::to_string(count) + ": at most " +
                           std::to_string(kMostDevices));
    }
    devices.resize(count, nullptr);
    if (count > capacity) continue;  // asked again with room for all
    for (const motley_device* device : devices) {
      if (device == nullptr) return InternalError(plugin() + ": devices gave a NULL device");
    }
    return devices;
  }
}

void Instance::Warn(const Status& status) const {
  logger_.Write(LogLevel::kWarning, "plugin." + plugin(), status.message());
}

}  // namespace motley
