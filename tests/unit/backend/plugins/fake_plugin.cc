// The body of the fake plugins: as small as one can be, and wrong in one way at a time, by its option
// `fault`. What can only be wrong in motley_plugin itself is in fake_table.cc. Plain memory, one device
// (option `devices`), calls work on the calling thread. Reads no graph: every program does nothing and
// succeeds.
#include <motley/plugin.h>

#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "fake_plugin.h"

namespace {

// Tells a test that code of this library ran.
__attribute__((constructor)) void Loaded() {
  setenv("MOTLEY_FAKE_LOADED", fake_name, 1);
}

std::string View(motley_str text) {
  return {text.data, text.size};
}
motley_str Str(const char* text) {
  return {text, strlen(text)};
}

motley_status Fail(motley_error* error, motley_status code, const char* text) {
  if (error) {
    error->code = code;
    strncpy(error->text, text, sizeof error->text - 1);
    error->text[sizeof error->text - 1] = '\0';
  }
  return code;
}

struct Instance;
struct Device {
  Instance* instance;
  std::string name;
};
struct Fence {
  std::mutex mutex;
  uint64_t value = 0;
  motley_status code = 0;
  std::string why;
};

struct Instance {
  const motley_host* host;
  std::string fault;
  std::string seen;  // the options, as they came
  Device devices[20];
  uint32_t device_count = 1;
  motley_team* team = nullptr;
};

Device* D(motley_device* device) {
  return reinterpret_cast<Device*>(device);
}
bool Has(motley_device* device, const char* fault) {
  return D(device)->instance->fault == fault;
}

motley_status Devices(motley_instance* raw, motley_device** out, uint32_t capacity, uint32_t* count) {
  Instance* instance = reinterpret_cast<Instance*>(raw);
  *count = instance->fault == "zero_devices"   ? 0
           : instance->fault == "many_devices" ? 1u << 30
                                               : instance->device_count;
  for (uint32_t i = 0; i < *count && i < capacity && i < 20; ++i) {
    out[i] =
        instance->fault == "null_device" ? nullptr : reinterpret_cast<motley_device*>(&instance->devices[i]);
  }
  return 0;
}

motley_status DeviceInfo(motley_device* device, motley_device_info* info, motley_error*) {
  static const motley_rate rate = {MOTLEY_MATH_F32, 0, 1e9};
  static const motley_rate bad_rate = {MOTLEY_MATH_F32, 0, NAN};
  info->kind = Has(device, "unknown_kind") ? 77 : MOTLEY_DEVICE_TEST;
  info->numa_node = -1;
  info->name = Has(device, "same_names") ? Str("0") : Str(D(device)->name.c_str());
  if (Has(device, "null_name")) info->name = {nullptr, 5};
  info->arch = Str("fake-arch");
  info->pool = Has(device, "no_pool") ? Str("") : Str("ram");
  info->memory_bytes = 1 << 20;
  info->max_alloc = 1 << 16;
  info->alignment = Has(device, "alignment") ? 48 : 64;
  info->mem_bytes_per_s = 0;
  static const motley_rate reserved_rate = {MOTLEY_MATH_F32, 7, 1e9};
  info->rates = {Has(device, "nan_rate") ? &bad_rate : &rate, 1, sizeof rate, 0};
  if (Has(device, "rate_reserved")) info->rates.data = &reserved_rate;
  if (Has(device, "rates_reserved")) info->rates.reserved = 5;
  if (Has(device, "null_rates")) info->rates = {nullptr, 3, sizeof rate, 0};
  info->features = MOTLEY_FEATURE_DEVICE_SYNC | (Has(device, "unknown_feature") ? 1ull << 40 : 0);
  if (Has(device, "info_throws")) throw std::runtime_error("thrown by device_info");
  return 0;
}

motley_status DeviceMemory(motley_device* device, uint64_t* total, uint64_t* free_bytes, motley_error*) {
  *total = 1 << 20;
  *free_bytes = Has(device, "more_free_than_total") ? 2 << 20 : 1 << 19;
  return 0;
}

motley_status BufferAlloc(motley_device* device, uint64_t bytes, uint32_t, motley_buffer** out,
                          motley_error* error) {
  if (Has(device, "null_buffer")) return 0;
  if (Has(device, "endless_text")) {
    memset(error->text, 'x', sizeof error->text);
    return MOTLEY_INTERNAL;
  }
  if (Has(device, "odd_code")) return Fail(error, 4711, "an odd code");
  if (bytes > 4096) {
    error->bytes_short = 3 << 20;
    return Fail(error, MOTLEY_RESOURCE_EXHAUSTED, "no room for the buffer");
  }
  *out = reinterpret_cast<motley_buffer*>(calloc(1, bytes));
  return 0;
}

motley_status BufferImport(motley_device*, const motley_range* range, motley_buffer**, motley_error* error) {
  if (range->released) range->released(range->arg);
  return Fail(error, MOTLEY_UNIMPLEMENTED, "this device imports nothing");
}

motley_status BufferMap(motley_buffer* buffer, uint64_t offset, uint64_t, void** out, motley_error*) {
  *out = reinterpret_cast<char*>(buffer) + offset;
  return 0;
}
void BufferUnmap(motley_buffer*) {}
void BufferFree(motley_buffer* buffer) {
  free(buffer);
}

motley_status QueueCreate(motley_device* device, uint32_t, motley_queue** out, motley_error*) {
  *out = reinterpret_cast<motley_queue*>(device);
  return 0;
}
motley_status QueueFlush(motley_queue*, motley_error*) {
  return 0;
}
void QueueDestroy(motley_queue*) {}

Fence* F(motley_fence* fence) {
  return reinterpret_cast<Fence*>(fence);
}

motley_status FenceCreate(motley_instance*, uint64_t initial, motley_fence** out, motley_error*) {
  Fence* fence = new Fence;
  fence->value = initial;
  *out = reinterpret_cast<motley_fence*>(fence);
  return 0;
}
motley_status FenceQuery(motley_fence* fence, uint64_t* value, motley_error* error) {
  const std::lock_guard lock(F(fence)->mutex);
  if (F(fence)->code) return Fail(error, F(fence)->code, F(fence)->why.c_str());
  *value = F(fence)->value;
  return 0;
}
motley_status FenceSignal(motley_fence* fence, uint64_t value, motley_error*) {
  const std::lock_guard lock(F(fence)->mutex);
  F(fence)->value = value;
  return 0;
}
motley_status FencePoison(motley_fence* fence, int32_t code, motley_str why, motley_error*) {
  const std::lock_guard lock(F(fence)->mutex);
  F(fence)->code = code;
  F(fence)->why = View(why);
  return 0;
}
motley_status FenceWait(motley_fence* fence, uint64_t value, uint64_t timeout_ns, motley_error* error) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    uint64_t now = 0;
    if (const motley_status status = FenceQuery(fence, &now, error)) return status;
    if (now >= value) return 0;
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (static_cast<uint64_t>(std::chrono::nanoseconds(waited).count()) >= timeout_ns) {
      return Fail(error, MOTLEY_DEADLINE_EXCEEDED, "the time is over");
    }
    std::this_thread::yield();
  }
}
void FenceDestroy(motley_fence* fence) {
  delete F(fence);
}

void SignalAll(const motley_sync* sync) {
  if (!sync) return;
  for (uint64_t i = 0; i < sync->signal.count; ++i) {
    const char* at = static_cast<const char*>(sync->signal.data) + i * sync->signal.stride;
    const motley_point* point = reinterpret_cast<const motley_point*>(at);
    FenceSignal(point->fence, point->value, nullptr);
  }
}
char* At(motley_slice slice) {
  return reinterpret_cast<char*>(slice.buffer) + slice.offset;
}

motley_status Copy(motley_queue*, motley_slice dst, motley_slice src, const motley_sync* sync,
                   motley_error*) {
  memmove(At(dst), At(src), dst.bytes);
  SignalAll(sync);
  return 0;
}
motley_status Write(motley_queue*, motley_slice dst, const void* src, const motley_sync* sync,
                    motley_error*) {
  memcpy(At(dst), src, dst.bytes);
  SignalAll(sync);
  return 0;
}
motley_status Read(motley_queue*, void* dst, motley_slice src, const motley_sync* sync, motley_error*) {
  memcpy(dst, At(src), src.bytes);
  SignalAll(sync);
  return 0;
}

motley_status WeightPlan(motley_device* device, const motley_weight*, uint32_t layout,
                         motley_weight_plan* plan, motley_error*) {
  plan->layout = Has(device, "other_layout") ? layout + 1 : layout;
  plan->bytes = Has(device, "huge_plan") ? ~0ull : 256;
  plan->alignment = Has(device, "plan_alignment") ? 3 : 64;
  plan->reserved = Has(device, "plan_reserved") ? 1 : 0;
  return 0;
}
motley_status WeightLoad(motley_queue*, const motley_weight*, uint32_t, uint32_t, motley_slice,
                         const motley_sync* sync, motley_error*) {
  SignalAll(sync);
  return 0;
}
motley_status KvPlan(motley_device* device, const motley_kv_desc* desc, motley_kv_plan* plan, motley_error*) {
  plan->page_bytes = Has(device, "empty_page") ? 0 : 4ull * desc->page_tokens;
  plan->reserved = Has(device, "kv_reserved") ? 1 : 0;
  return 0;
}

motley_status Supports(motley_device* device, const motley_graph* graph, const int64_t*, uint64_t,
                       motley_span out, motley_error* error) {
  if (Has(device, "supports_fails")) {
    error->node = 3;
    return Fail(error, MOTLEY_INVALID_ARGUMENT, "cannot read the node");
  }
  for (uint64_t i = 0; i < graph->nodes.count; ++i) {
    motley_verdict* v =
        reinterpret_cast<motley_verdict*>(static_cast<char*>(const_cast<void*>(out.data)) + i * out.stride);
    v->ok = Has(device, "silent_refusal") ? 0 : 1;
    v->math = Has(device, "odd_math") ? 99 : MOTLEY_MATH_F32;
    v->seconds = Has(device, "nan_seconds") ? NAN : 0;
    v->reserved = Has(device, "verdict_reserved") ? 1 : 0;
    if (Has(device, "endless_verdict")) memset(v->text, 'x', sizeof v->text);
  }
  return 0;
}
motley_status Compile(motley_device* device, const motley_graph*, motley_span, motley_program** out,
                      motley_error*) {
  *out = Has(device, "null_program") ? nullptr : reinterpret_cast<motley_program*>(device);
  return 0;
}
motley_status ProgramInfo(motley_program* program, motley_program_info* info, motley_error*) {
  motley_device* device = reinterpret_cast<motley_device*>(program);
  info->kernels = 7;
  info->workspace = 128;
  info->alignment = Has(device, "program_alignment") ? 12 : 64;
  info->notes = Str(D(device)->instance->seen.c_str());
  return 0;
}
motley_status Execute(motley_queue* queue, motley_program*, const motley_bind*, const motley_sync* sync,
                      motley_error*) {
  if (Has(reinterpret_cast<motley_device*>(queue), "execute_throws")) throw 42;
  SignalAll(sync);
  return 0;
}
void ProgramDestroy(motley_program*) {}

motley_compute Table() {
  motley_compute t{};
  t.size = sizeof t;
  t.version = 1;
  t.devices = Devices, t.device_info = DeviceInfo, t.device_memory = DeviceMemory;
  t.buffer_alloc = BufferAlloc, t.buffer_import = BufferImport, t.buffer_map = BufferMap;
  t.buffer_unmap = BufferUnmap, t.buffer_free = BufferFree;
  t.queue_create = QueueCreate, t.queue_flush = QueueFlush, t.queue_destroy = QueueDestroy;
  t.fence_create = FenceCreate, t.fence_query = FenceQuery, t.fence_signal = FenceSignal;
  t.fence_poison = FencePoison, t.fence_wait = FenceWait, t.fence_destroy = FenceDestroy;
  t.copy = Copy, t.write = Write, t.read = Read;
  t.weight_plan = WeightPlan, t.weight_load = WeightLoad, t.kv_plan = KvPlan;
  t.supports = Supports, t.compile = Compile, t.program_info = ProgramInfo;
  t.execute = Execute, t.program_destroy = ProgramDestroy;
  return t;
}

}  // namespace

motley_status FakeOpen(const motley_host* host, motley_span values, motley_instance** out,
                       motley_error* error) {
  auto owner = std::make_unique<Instance>();
  Instance* instance = owner.get();
  instance->host = host;
  uint32_t team_threads = 0;
  for (uint64_t i = 0; i < values.count; ++i) {
    const char* at = static_cast<const char*>(values.data) + i * values.stride;
    const motley_value& value = *reinterpret_cast<const motley_value*>(at);
    const std::string name = View(value.name);
    instance->seen += name + "=";
    if (value.type == MOTLEY_TYPE_STR) instance->seen += View(value.u.s);
    if (value.type == MOTLEY_TYPE_F64) instance->seen += std::to_string(value.u.f);
    if (value.type == MOTLEY_TYPE_I64 || value.type == MOTLEY_TYPE_BOOL)
      instance->seen += std::to_string(value.u.i);
    instance->seen += ";";
    if (name == "fault") instance->fault = View(value.u.s);
    if (name == "devices") instance->device_count = static_cast<uint32_t>(value.u.i);
    if (name == "team") team_threads = static_cast<uint32_t>(value.u.i);
  }
  for (int i = 0; i < 20; ++i) instance->devices[i] = {instance, std::to_string(i)};
  host->log(host->self, 1, Str(fake_name), Str("opened\nwith a second line"));
  if (instance->fault == "open_throws") throw std::runtime_error("thrown by open");
  if (instance->fault == "open_throws_int") throw 42;
  if (instance->fault == "no_hardware") return Fail(error, MOTLEY_NOT_FOUND, "no such hardware: plug it in");
  if (instance->fault == "null_instance") return 0;
  if (team_threads != 0) {
    const motley_status status = host->team_create(host->self, team_threads, -1, &instance->team);
    if (status != 0) {
      return Fail(error, status, "the host has no such team");
    }
  }
  *out = reinterpret_cast<motley_instance*>(owner.release());
  return 0;
}

motley_status FakeClose(motley_instance* raw, motley_error* error) {
  Instance* instance = reinterpret_cast<Instance*>(raw);
  if (instance->fault == "close_fails") {
    delete instance;
    return Fail(error, MOTLEY_INTERNAL, "a thread did not stop");
  }
  if (instance->team && instance->fault != "team_left") instance->host->team_destroy(instance->team);
  delete instance;
  return 0;
}

motley_status FakeGetInterface(motley_instance* raw, uint32_t id, uint32_t, const void** out) {
  if (id != MOTLEY_IFACE_COMPUTE) return MOTLEY_UNIMPLEMENTED;
  static const motley_compute good = Table();
  static const motley_compute without_execute = [] {
    motley_compute table = Table();
    table.execute = nullptr;
    return table;
  }();
  static const motley_compute short_table = [] {
    motley_compute table = Table();
    table.size = offsetof(motley_compute, supports);
    return table;
  }();
  const std::string& fault = reinterpret_cast<Instance*>(raw)->fault;
  if (fault == "no_compute") return MOTLEY_UNIMPLEMENTED;
  *out = fault == "null_compute" ? nullptr : &good;
  if (fault == "null_execute") *out = &without_execute;
  if (fault == "short_compute") *out = &short_table;
  return 0;
}
