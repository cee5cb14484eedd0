// The harsh test device: two devices that are asynchronous, have memory of their own, and obey nothing but
// the ABI.
//
// - Calls only enqueue. Nothing of a queue starts before queue_flush or a fence_wait (which flushes all
// queues);
//   polling fence_query, or fence_notify, without a flush waits for ever. Each queue has a thread, which
//   sleeps a random time before each command, so that queues overtake each other wherever fences allow it.
// - Memory is reached by read, write, copy alone (USAGE_HOST may be mapped). Fresh memory, the workspace
// before each
//   execute and the rows of outputs are 0xff: NaN as a float, -1 as an i32. Guards around each buffer are
//   checked.
// - Host memory is read and written when the command runs, not when it is enqueued.
// - Slices of a bind are aligned to 256 bytes and have room for the dims' max.
// - bind_id replays: the very slices must come again; the values of the dims are read from step.counts.
// - fail_at = N: the Nth execute of the instance fails when it runs. lose_at = N: its device is lost then, and
//   lose_next_at = M: so is the device of the Mth. lose_at_call = N: the Nth call on a device or a queue, of
//   whatever kind, finds its device lost.
#pragma once

#include <motley/graph_check.hpp>
#include <motley/options.hpp>
#include <motley/timeline.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace motley::async_device {

using plugin::Fail;
using plugin::Fault;

inline constexpr uint64_t kAlignment = 256;
inline constexpr int kFresh = 0xff;

class Queue;
struct Instance;

struct Settings {
  uint64_t seed = 1;
  int64_t delay_us = 0;    // at most, before each command
  int64_t execute_ms = 0;  // at least, for each execute
  int64_t fail_at = 0, lose_at = 0, lose_next_at = 0, lose_at_call = 0;
  uint64_t memory_bytes = 0;
  bool unlike_layouts = true;
};

class Device {
 public:
  Device(Instance* instance, uint32_t ordinal);

  // UNAVAILABLE once the device is lost.
  Fault CheckAlive() const;
  // The same for a call of the host's, which is counted.
  Fault CountCall();
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  // Everything that is queued, held back or not, ends in poison.
  void Lose(std::string why);

  void Describe(motley_device_info* info) const;
  uint32_t kv_layout() const;

  // Memory is counted against the device's own size.
  Fault Reserve(uint64_t bytes);
  void Unreserve(uint64_t bytes);
  uint64_t FreeBytes() const;

  void AddQueue(Queue* queue);
  void RemoveQueue(Queue* queue);
  void FlushQueues();

  Instance* const instance;
  const uint32_t ordinal;

 private:
  const std::string name_, pool_;
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;  // guards what follows
  std::string why_lost_;
  uint64_t used_bytes_ = 0;
  std::set<Queue*> queues_;
};

struct Instance {
  const motley_host* host = nullptr;
  Settings settings;
  std::vector<std::unique_ptr<Device>> devices;
  std::atomic<int64_t> live{0};      // buffers, queues, programs, fences
  std::atomic<int64_t> executes{0};  // enqueued so far
  std::atomic<int64_t> calls{0};     // on devices and queues
  std::atomic<int64_t> overruns{0};  // buffers whose guards were written to

  void FlushAll() {
    for (const auto& device : devices) device->FlushQueues();
  }
};

// A block of the device's heap between two guards.
class Buffer {
 public:
  Buffer(Device* device, uint64_t bytes, uint32_t usage);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return block_ + kAlignment; }
  Device* const device;
  const uint64_t bytes;
  const bool mappable;

 private:
  bool GuardsIntact() const;
  std::byte* block_;
};

// The memory of a slice; at least `needed` bytes of it.
Fault Resolve(const motley_slice& slice, uint64_t needed, const char* what, std::byte** out);

}  // namespace motley::async_device
