#include "device.h"

#include "ops.h"
#include "queue.h"

namespace motley::async_device {

namespace {
constexpr int kGuard = 0xa5;
}  // namespace

Device::Device(Instance* owner, uint32_t number)
    : instance(owner),
      ordinal(number),
      name_(std::to_string(number)),
      pool_("async:" + std::to_string(number)) {}

Fault Device::CheckAlive() const {
  if (!lost()) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  return Fail(MOTLEY_UNAVAILABLE, "async_device:%u is lost: %s", ordinal, why_lost_.c_str());
}

Fault Device::CountCall() {
  const int64_t lose_at = instance->settings.lose_at_call;
  if (++instance->calls == lose_at) Lose("lose_at_call = " + std::to_string(lose_at));
  return CheckAlive();
}

void Device::Lose(std::string why) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (why_lost_.empty()) why_lost_ = std::move(why);
  }
  lost_.store(true, std::memory_order_release);
  FlushQueues();
}

void Device::Describe(motley_device_info* info) const {
  info->kind = MOTLEY_DEVICE_TEST;
  info->ordinal = ordinal;
  info->numa_node = -1;
  info->name = plugin::Str(name_);
  info->arch = plugin::Str("test");
  info->pool = plugin::Str(pool_);
  info->memory_bytes = info->max_alloc = instance->settings.memory_bytes;
  info->alignment = kAlignment;
  info->features = MOTLEY_FEATURE_ROW_INVARIANT;
}

uint32_t Device::kv_layout() const {
  return instance->settings.unlike_layouts && ordinal == 1 ? ref::kHeadsFirst : ref::kTokensFirst;
}

Fault Device::Reserve(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t free = instance->settings.memory_bytes - used_bytes_;
  if (bytes > free) {
    Fault fault = Fail(MOTLEY_RESOURCE_EXHAUSTED, "async_device:%u: %llu bytes, %llu are free", ordinal,
                       static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(free));
    fault.bytes_short = bytes - free;
    return fault;
  }
  used_bytes_ += bytes;
  return {};
}

void Device::Unreserve(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  used_bytes_ -= bytes;
}

uint64_t Device::FreeBytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return instance->settings.memory_bytes - used_bytes_;
}

void Device::AddQueue(Queue* queue) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queues_.insert(queue);
}

void Device::RemoveQueue(Queue* queue) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queues_.erase(queue);
}

void Device::FlushQueues() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Queue* queue : queues_) queue->Flush();
}

// ---- Buffers
// --------------------------------------------------------------------------------------------------------

Buffer::Buffer(Device* owner, uint64_t size, uint32_t usage)
    : device(owner), bytes(size), mappable(usage == MOTLEY_USAGE_HOST) {
  block_ = static_cast<std::byte*>(::operator new(size + 2 * kAlignment, std::align_val_t(kAlignment)));
  std::memset(block_, kGuard, kAlignment);
  std::memset(data(), kFresh, size);
  std::memset(data() + size, kGuard, kAlignment);
}

Buffer::~Buffer() {
  if (!GuardsIntact()) {
    ++device->instance->overruns;
    plugin::Log(device->instance->host, plugin::LogLevel::kError, "async_device",
                "a buffer was written out of bounds");
  }
  ::operator delete(block_, std::align_val_t(kAlignment));
}

bool Buffer::GuardsIntact() const {
  for (uint64_t i = 0; i < kAlignment; ++i) {
    if (block_[i] != std::byte{kGuard} || data()[bytes + i] != std::byte{kGuard}) return false;
  }
  return true;
}

Fault Resolve(const motley_slice& slice, uint64_t needed, const char* what, std::byte** out) {
  if (!slice.buffer) return Fail(MOTLEY_INVALID_ARGUMENT, "%s: the buffer is NULL", what);
  const Buffer* buffer = reinterpret_cast<const Buffer*>(slice.buffer);
  if (slice.offset > buffer->bytes || slice.bytes > buffer->bytes - slice.offset) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s: bytes [%llu, +%llu) are outside the buffer of %llu", what,
                static_cast<unsigned long long>(slice.offset), static_cast<unsigned long long>(slice.bytes),
                static_cast<unsigned long long>(buffer->bytes));
  }
  if (slice.bytes < needed) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s: the slice has %llu bytes, needs %llu", what,
                static_cast<unsigned long long>(slice.bytes), static_cast<unsigned long long>(needed));
  }
  *out = buffer->data() + slice.offset;
  return {};
}

}  // namespace motley::async_device
