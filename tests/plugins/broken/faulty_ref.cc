// The plugin `ref` under another name, in which one function of its table fails, or whose internal symbols
// are those of another plugin too. Its device calls itself a CPU, so that automatic placement takes it before
// `ref`.
#include <motley/plugin.h>

#include <cstdio>

// plugin.cc of ref, compiled with its entry point named so.
extern "C" const motley_plugin* faulty_ref_query(uint32_t host_abi_major, uint32_t host_abi_minor);

// Every one of these plugins defines this symbol, visible to the loader, and each must get its own.
extern "C" __attribute__((visibility("default"))) const char* motley_test_shared_name() {
  return FAULTY_NAME;
}

namespace {

const motley_plugin& Ref() {
  return *faulty_ref_query(MOTLEY_ABI_MAJOR, MOTLEY_ABI_MINOR);
}

const motley_compute* ref_compute = nullptr;  // set before any function of the table can be called

[[maybe_unused]] motley_status Fail(motley_error* error, motley_status code, const char* text) {
  if (error == nullptr) return code;
  error->code = code;
  std::snprintf(error->text, sizeof error->text, "%s", text);
  error->bytes_short = 0;
  error->node = -1;
  return code;
}

motley_status DeviceInfo(motley_device* device, motley_device_info* info, motley_error* error) {
  const motley_status status = ref_compute->device_info(device, info, error);
  if (status != MOTLEY_OK) return status;
  info->kind = MOTLEY_DEVICE_CPU;
  const char* name =
      motley_test_shared_name();  // through the loader's table: another plugin's where it leaks
  info->arch = {name, __builtin_strlen(name)};
  return MOTLEY_OK;
}

#if defined(FAULTY_ALLOC)
motley_status BufferAlloc(motley_device*, uint64_t, uint32_t, motley_buffer**, motley_error* error) {
  return Fail(error, MOTLEY_RESOURCE_EXHAUSTED, "the test's allocator has nothing to give");
}
#endif
#if defined(FAULTY_EXECUTE)
motley_status Execute(motley_queue*, motley_program*, const motley_bind*, const motley_sync*,
                      motley_error* error) {
  return Fail(error, MOTLEY_INTERNAL, "the test's kernel does not start");
}
#endif

motley_compute Faulty() {
  motley_compute table = *ref_compute;
  table.device_info = DeviceInfo;
#if defined(FAULTY_ALLOC)
  table.buffer_alloc = BufferAlloc;
#endif
#if defined(FAULTY_EXECUTE)
  table.execute = Execute;
#endif
  return table;
}

motley_status GetInterface(motley_instance* instance, uint32_t id, uint32_t min_version, const void** out) {
  const motley_status status = Ref().get_interface(instance, id, min_version, out);
  if (status != MOTLEY_OK) return status;
  ref_compute = static_cast<const motley_compute*>(*out);
  static const motley_compute table = Faulty();
  *out = &table;
  return MOTLEY_OK;
}

motley_plugin Plugin() {
  motley_plugin plugin = Ref();
  plugin.name = {FAULTY_NAME, sizeof FAULTY_NAME - 1};
  plugin.get_interface = GetInterface;
  return plugin;
}

}  // namespace

MOTLEY_EXPORT const motley_plugin* motley_plugin_query(uint32_t, uint32_t) {
  static const motley_plugin plugin = Plugin();
  return &plugin;
}
