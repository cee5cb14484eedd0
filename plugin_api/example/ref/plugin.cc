// The plugin `ref`: its table, its options, and open().
#include "device.h"

namespace {

using motley::plugin::Fault;
using motley::plugin::HostInstance;
using motley::plugin::OptionRow;
using motley::plugin::Options;

constexpr motley_option kOptions[] = {
    OptionRow("threads", MOTLEY_TYPE_I64, "1", "0..1024",
              "Compute threads of each device; 0 = as many as the host lends."),
    OptionRow("devices", MOTLEY_TYPE_I64, "1", "1..4", "Identical devices."),
};

motley_status Open(const motley_host* abi, motley_span values, motley_instance** out, motley_error* err) {
  return motley::plugin::Guard(err, [&]() -> Fault {
    motley_host host{};
    MOTLEY_TRY(motley::plugin::ReadStruct(abi, "motley_host", &host));
    if (!out) return motley::plugin::Fail(MOTLEY_INVALID_ARGUMENT, "open: out is NULL");
    Options options;
    MOTLEY_TRY(Options::Parse(values, kOptions, &options));
    const uint32_t devices = static_cast<uint32_t>(options.I64("devices"));
    const uint32_t threads = static_cast<uint32_t>(options.I64("threads"));
    auto instance = std::make_unique<HostInstance>();
    instance->host = abi;
    for (uint32_t i = 0; i < devices; ++i) {
      auto device = std::make_unique<motley::ref::RefDevice>(i);
      MOTLEY_TRY(device->Open(abi, threads));
      instance->Add(std::move(device));
    }
    *out = motley::plugin::ToAbi(instance.release());
    return {};
  });
}

const motley_plugin kPlugin = {sizeof(motley_plugin),
                               MOTLEY_ABI_MAJOR,
                               MOTLEY_ABI_MINOR,
                               MOTLEY_PLUGIN_MAY_UNLOAD,
                               motley::plugin::Str("ref"),
                               motley::plugin::Str("0.1.0"),
                               motley::plugin::Str("motley"),
                               motley::plugin::Str(__VERSION__),
                               motley::plugin::SpanOf(kOptions, std::size(kOptions)),
                               Open,
                               motley::plugin::HostClose,
                               motley::plugin::HostGetInterface};

}  // namespace

MOTLEY_EXPORT const motley_plugin* motley_plugin_query(uint32_t /*host_abi_major*/,
                                                       uint32_t /*host_abi_minor*/) {
  return &kPlugin;
}
