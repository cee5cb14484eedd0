// Plugins that are wrong in one way each, by BROKEN_FAULT: what cannot be opened. BROKEN_NAME is the plugin's
// name. Those that fail at work are in faulty_ref.cc, those that are no library at all are made by the tests.
#include <motley/plugin.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <stdexcept>

#define WRONG_MAJOR 1
#define SHORT_STRUCT 2
#define NULL_POINTER 3
#define THROWING_INIT 4
#define THROWING_OPEN 5
#define ZERO_DEVICES 6
#define HANG_IN_OPEN 7
#define CRASH_IN_OPEN 8
#define ABORT_IN_CLOSE 9
#define MISSING_DEPENDENCY 10
#define RESERVED_FIELD 11
#define OTHER_HARDWARE 12

#if BROKEN_FAULT == MISSING_DEPENDENCY
extern "C" int motley_nope();  // of libnope.so.1, which no loader finds
extern int (*const needs_nope)();
int (*const needs_nope)() = motley_nope;
#endif

namespace {

#if BROKEN_FAULT == THROWING_INIT
struct Thrower {
  Thrower() { throw std::runtime_error("thrown while the library is loaded"); }
} thrower;
#endif

// Never looked into: what it would need to be opened is there, and no more.
char instance_memory, device_memory;

motley_status Open(const motley_host*, motley_span, motley_instance** out,
                   [[maybe_unused]] motley_error* error) {
#if BROKEN_FAULT == THROWING_OPEN
  throw std::runtime_error("thrown by open");
#elif BROKEN_FAULT == HANG_IN_OPEN
  const timespec hour = {3600, 0};
  for (;;) nanosleep(&hour, nullptr);
#elif BROKEN_FAULT == CRASH_IN_OPEN
  std::raise(SIGSEGV);
#elif BROKEN_FAULT == OTHER_HARDWARE
  error->code = MOTLEY_NOT_FOUND;
  std::snprintf(error->text, sizeof error->text, "built for sm_120, gfx1030; the device here is sm_121");
  return MOTLEY_NOT_FOUND;
#endif
  *out = reinterpret_cast<motley_instance*>(&instance_memory);
  return MOTLEY_OK;
}

motley_status Close(motley_instance*, motley_error*) {
#if BROKEN_FAULT == ABORT_IN_CLOSE
  std::raise(SIGABRT);
#endif
  return MOTLEY_OK;
}

motley_status Devices(motley_instance*, motley_device** out, uint32_t capacity, uint32_t* count) {
  *count = BROKEN_FAULT == ZERO_DEVICES ? 0 : 1;
  if (capacity > 0 && *count > 0) out[0] = reinterpret_cast<motley_device*>(&device_memory);
  return MOTLEY_OK;
}

motley_status DeviceInfo(motley_device*, motley_device_info* info, motley_error*) {
  info->kind = MOTLEY_DEVICE_OTHER;
  info->numa_node = -1;
  info->name = {"0", 1};
  info->pool = {"ram", 3};
  info->alignment = 64;
  return MOTLEY_OK;
}

// Stands for every function that nobody gets as far as to call.
motley_status Refuse() {
  return MOTLEY_UNIMPLEMENTED;
}
template <typename F>
void Fill(F*& pointer) {
  pointer = reinterpret_cast<F*>(reinterpret_cast<void (*)()>(Refuse));
}

motley_compute Compute() {
  motley_compute t{};
  t.size = sizeof t, t.version = 1;
  t.devices = Devices, t.device_info = DeviceInfo;
  Fill(t.device_memory), Fill(t.buffer_alloc), Fill(t.buffer_import), Fill(t.buffer_map),
      Fill(t.buffer_unmap);
  Fill(t.buffer_free), Fill(t.queue_create), Fill(t.queue_flush), Fill(t.queue_destroy), Fill(t.fence_create);
  Fill(t.fence_query), Fill(t.fence_signal), Fill(t.fence_poison), Fill(t.fence_wait), Fill(t.fence_destroy);
  Fill(t.copy), Fill(t.write), Fill(t.read), Fill(t.weight_plan), Fill(t.weight_load), Fill(t.kv_plan);
  Fill(t.supports), Fill(t.compile), Fill(t.program_info), Fill(t.execute), Fill(t.program_destroy);
  if (BROKEN_FAULT == NULL_POINTER) t.execute = nullptr;
  return t;
}

motley_status GetInterface(motley_instance*, uint32_t, uint32_t, const void** out) {
  static const motley_compute table = Compute();
  *out = &table;
  return MOTLEY_OK;
}

const motley_plugin plugin = {
    BROKEN_FAULT == SHORT_STRUCT ? offsetof(motley_plugin, close) : sizeof(motley_plugin),
    MOTLEY_ABI_MAJOR + (BROKEN_FAULT == WRONG_MAJOR),
    MOTLEY_ABI_MINOR,
    0,
    {BROKEN_NAME, sizeof BROKEN_NAME - 1},
    {"1", 1},
    {"tests", 5},
    {"test", 4},
    {nullptr, 0, 0, BROKEN_FAULT == RESERVED_FIELD},
    Open,
    Close,
    GetInterface};

}  // namespace

MOTLEY_EXPORT const motley_plugin* motley_plugin_query(uint32_t, uint32_t) {
  return &plugin;
}
