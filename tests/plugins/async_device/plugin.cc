// The plugin `async_device`: its options, open and close.
#include "table.h"

namespace motley::async_device {
namespace {

using plugin::OptionRow;
using plugin::Options;

constexpr motley_option kOptions[] = {
    OptionRow("seed", MOTLEY_TYPE_I64, "1", "", "Of the random delays."),
    OptionRow("delay_us", MOTLEY_TYPE_I64, "100", "0..1000000", "The longest delay before a command."),
    OptionRow("execute_ms", MOTLEY_TYPE_I64, "0", "0..60000", "Sleep of each execute."),
    OptionRow("fail_at", MOTLEY_TYPE_I64, "0", "0..1000000000",
              "The Nth execute fails when it runs; 0 = none."),
    OptionRow("lose_at", MOTLEY_TYPE_I64, "0", "0..1000000000",
              "The Nth execute loses its device; 0 = none."),
    OptionRow("lose_next_at", MOTLEY_TYPE_I64, "0", "0..1000000000", "Likewise, for a second device."),
    OptionRow("lose_at_call", MOTLEY_TYPE_I64, "0", "0..1000000000",
              "The Nth call on a device or queue finds it lost; 0 = none."),
    OptionRow("memory_mib", MOTLEY_TYPE_I64, "4096", "1..1048576", "Memory of each device."),
    OptionRow("layouts", MOTLEY_TYPE_STR, "unlike", "unlike|same",
              "Whether the devices' KV page layouts differ."),
};

motley_status Open(const motley_host* abi, motley_span values, motley_instance** out, motley_error* err) {
  return plugin::Guard(err, [&]() -> Fault {
    motley_host host{};
    MOTLEY_TRY(plugin::ReadStruct(abi, "motley_host", &host));
    if (!out) return Fail(MOTLEY_INVALID_ARGUMENT, "open: out is NULL");
    Options options;
    MOTLEY_TRY(Options::Parse(values, kOptions, &options));
    auto instance = std::make_unique<Instance>();
    instance->host = abi;
    Settings& settings = instance->settings;
    settings.seed = static_cast<uint64_t>(options.I64("seed"));
    settings.delay_us = options.I64("delay_us");
    settings.execute_ms = options.I64("execute_ms");
    settings.fail_at = options.I64("fail_at");
    settings.lose_at = options.I64("lose_at");
    settings.lose_next_at = options.I64("lose_next_at");
    settings.lose_at_call = options.I64("lose_at_call");
    settings.memory_bytes = static_cast<uint64_t>(options.I64("memory_mib")) << 20;
    settings.unlike_layouts = options.Text("layouts") == "unlike";
    for (uint32_t i = 0; i < 2; ++i) instance->devices.push_back(std::make_unique<Device>(instance.get(), i));
    *out = reinterpret_cast<motley_instance*>(instance.release());
    return {};
  });
}

motley_status Close(motley_instance* handle, motley_error* err) {
  return plugin::Guard(err, [&]() -> Fault {
    if (!handle) return {};
    std::unique_ptr<Instance> instance(reinterpret_cast<Instance*>(handle));
    if (instance->live != 0) {
      const int64_t live = instance->live;
      static_cast<void>(instance.release());
      return Fail(MOTLEY_FAILED_PRECONDITION,
                  "%lld buffers, queues, programs and fences are open: give them back",
                  static_cast<long long>(live));
    }
    if (instance->overruns != 0) {
      return Fail(MOTLEY_INTERNAL, "%lld buffers were written out of bounds",
                  static_cast<long long>(instance->overruns));
    }
    return {};
  });
}

motley_status GetInterface(motley_instance*, uint32_t id, uint32_t min_version, const void** out) {
  if (!out) return MOTLEY_INVALID_ARGUMENT;
  *out = nullptr;
  if (id != MOTLEY_IFACE_COMPUTE || min_version > kTable.version) return MOTLEY_UNIMPLEMENTED;
  *out = &kTable;
  return MOTLEY_OK;
}

const motley_plugin kPlugin = {sizeof(motley_plugin),
                               MOTLEY_ABI_MAJOR,
                               MOTLEY_ABI_MINOR,
                               MOTLEY_PLUGIN_MAY_UNLOAD,
                               plugin::Str("async_device"),
                               plugin::Str("0.1.0"),
                               plugin::Str("motley"),
                               plugin::Str(__VERSION__),
                               plugin::SpanOf(kOptions, std::size(kOptions)),
                               Open,
                               Close,
                               GetInterface};

}  // namespace
}  // namespace motley::async_device

MOTLEY_EXPORT const motley_plugin* motley_plugin_query(uint32_t, uint32_t) {
  return &motley::async_device::kPlugin;
}
