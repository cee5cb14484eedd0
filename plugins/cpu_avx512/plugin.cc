// The plugin `cpu_avx512`: its table, its options, and open(). Baseline code: nothing here needs AVX.
#include <sched.h>

#include "plugins/cpu_avx512/device.h"
#include "plugins/cpu_avx512/probe.h"

namespace {

using motley::plugin::Fail;
using motley::plugin::Fault;
using motley::plugin::HostInstance;
using motley::plugin::OptionRow;
using motley::plugin::Options;

constexpr motley_option kOptions[] = {
    OptionRow("threads", MOTLEY_TYPE_I64, "0", "0..1024",
              "Compute threads of all its devices together; 0 = one a CPU that the process may use."),
    OptionRow("devices", MOTLEY_TYPE_I64, "1", "1..64", "Devices, named 0, 1, ...; they share the threads evenly."),
    OptionRow("isa", MOTLEY_TYPE_STR, "auto", "auto|amx|vnni|avx512bw|avx2",
              "The kernels: auto = the best that the CPU has; all give the same bits."),
};

// CPUs on which this process may run. The host keeps teams inside a container's quota.
uint32_t AllowedCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count > 0 ? static_cast<uint32_t>(count) : 1;
}

motley_status Open(const motley_host* abi, motley_span values, motley_instance** out, motley_error* err) {
  return motley::plugin::Guard(err, [&]() -> Fault {
    const motley::cpu::CpuFeatures features = motley::cpu::ProbeCpu(motley::cpu::ThisCpu());
    if (!features.usable()) {
      return Fail(MOTLEY_UNIMPLEMENTED, "cpu_avx512 needs at least AVX2: this CPU or system lacks %s; use ref",
                  features.missing.c_str());
    }
    motley_host host{};
    MOTLEY_TRY(motley::plugin::ReadStruct(abi, "motley_host", &host));
    if (!out) return Fail(MOTLEY_INVALID_ARGUMENT, "open: out is NULL");
    Options options;
    MOTLEY_TRY(Options::Parse(values, kOptions, &options));
    const motley::cpu::KernelChoice kernels = motley::cpu::ChooseKernels(features, options.Text("isa"));
    if (!kernels.fault.empty()) return Fail(MOTLEY_UNIMPLEMENTED, "plugin.cpu_avx512.%s", kernels.fault.c_str());

    const uint32_t devices = static_cast<uint32_t>(options.I64("devices"));
    uint32_t threads = static_cast<uint32_t>(options.I64("threads"));
    if (threads == 0) threads = AllowedCpus();
    auto instance = std::make_unique<HostInstance>();
    instance->host = abi;
    for (uint32_t i = 0; i < devices; ++i) {
      const uint32_t share = std::max(1u, threads / devices + (i < threads % devices ? 1 : 0));
      instance->Add(std::make_unique<motley::cpu::CpuDevice>(abi, i, share, features, kernels));
    }
    motley::plugin::Log(abi, motley::plugin::LogLevel::kDebug, "cpu_avx512", kernels.notes);
    *out = motley::plugin::ToAbi(instance.release());
    return {};
  });
}

const motley_plugin kPlugin = {
    sizeof(motley_plugin), MOTLEY_ABI_MAJOR, MOTLEY_ABI_MINOR, MOTLEY_PLUGIN_MAY_UNLOAD,
    motley::plugin::Str("cpu_avx512"), motley::plugin::Str("0.1.0"), motley::plugin::Str("motley"),
    motley::plugin::Str(__VERSION__),
    motley::plugin::SpanOf(kOptions, std::size(kOptions)),
    Open, motley::plugin::HostClose, motley::plugin::HostGetInterface};

}  // namespace

MOTLEY_EXPORT const motley_plugin* motley_plugin_query(uint32_t /*host_abi_major*/, uint32_t /*host_abi_minor*/) {
  return &kPlugin;
}
