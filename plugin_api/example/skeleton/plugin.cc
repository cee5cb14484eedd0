// The plugin `skeleton`: its table, its options, and open().
#include "device.h"

namespace {

using motley::plugin::Fault;
using motley::plugin::HostInstance;

// What may stand in [plugin.skeleton]; the host checks it before open().
constexpr motley_option kOptions[] = {
    motley::plugin::OptionRow("threads", MOTLEY_TYPE_I64, "1", "1..1024", "Compute threads of the device."),
};

motley_status Open(const motley_host* host, motley_span values, motley_instance** out, motley_error* err) {
  return motley::plugin::Guard(err, [&]() -> Fault {
    motley_host known{};
    MOTLEY_TRY(motley::plugin::ReadStruct(host, "motley_host", &known));
    if (!out) return motley::plugin::Fail(MOTLEY_INVALID_ARGUMENT, "open: out is NULL");
    motley::plugin::Options options;
    MOTLEY_TRY(motley::plugin::Options::Parse(values, kOptions, &options));
    auto instance = std::make_unique<HostInstance>();
    instance->host = host;
    std::unique_ptr<motley::plugin::HostDevice> device;
    MOTLEY_TRY(vendor::OpenDevice(host, static_cast<uint32_t>(options.I64("threads")), &device));
    instance->Add(std::move(device));
    *out = motley::plugin::ToAbi(instance.release());
    return {};
  });
}

const motley_plugin kPlugin = {sizeof(motley_plugin),
                               MOTLEY_ABI_MAJOR,
                               MOTLEY_ABI_MINOR,
                               MOTLEY_PLUGIN_MAY_UNLOAD,
                               motley::plugin::Str("skeleton"),
                               motley::plugin::Str("0.1.0"),
                               motley::plugin::Str("vendor"),
                               motley::plugin::Str(__VERSION__),
                               motley::plugin::SpanOf(kOptions, std::size(kOptions)),
                               Open,
                               motley::plugin::HostClose,
                               motley::plugin::HostGetInterface};

}  // namespace

MOTLEY_EXPORT const motley_plugin* motley_plugin_query(uint32_t /*host_abi_major*/, uint32_t /*host_abi_minor*/) {
  return &kPlugin;
}
