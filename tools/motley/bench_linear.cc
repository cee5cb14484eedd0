#include "tools/motley/bench_linear.h"

#include <cstdio>
#include <vector>

#include "core/base/read_bandwidth.h"
#include "core/base/units.h"
#include "core/engine/linear_loop.h"
#include "core/engine/planning.h"
#include "core/text/utf8.h"
#include "tools/motley/backends.h"
#include "tools/motley/format_flag.h"

namespace motley {
namespace {

constexpr MeasureLimits kLimits{1.0, 5, 100'000, 0};  // the whole second: an operator waits for it anyway

void Report(const LinearBench& bench, const Device& device, const LinearLoop& loop, const Figure& seconds,
            const ReadBandwidth& limit, Output& out) {
  const double rate = static_cast<double>(loop.weight_bytes()) / seconds.median;
  const double flops = loop.operations(bench.tokens) / seconds.median;
  const double share = limit.best_bytes_per_s > 0 ? rate / limit.best_bytes_per_s : 0;
  if (out.json) {
    out.PrintJson({{"op", "linear"},
                   {"device", ToValidUtf8(device.name())},
                   {"format", bench.format},
                   {"rows", bench.rows},
                   {"cols", bench.cols},
                   {"tokens", bench.tokens},
                   {"layout", loop.layout()},
                   {"stored_bytes", loop.stored_bytes()},
                   {"weight_bytes", loop.weight_bytes()},
                   {"seconds", seconds.median},
                   {"seconds_low", seconds.low},
                   {"seconds_high", seconds.high},
                   {"read_bytes_per_s", rate},
                   {"ops_per_s", flops},
                   {"bandwidth_bytes_per_s", limit.best_bytes_per_s},
                   {"fraction", share},
                   {"runs", seconds.runs}});
    return;
  }
  char line[256];
  std::snprintf(line, sizeof(line),
                "linear %s [%lld, %lld], %lld %s on %s: %.2f GB/s, %.0f %% of the %.2f GB/s measured in this "
                "run (%s read in %s, %.1f Gop/s, median of %u)\n",
                bench.format.c_str(), static_cast<long long>(bench.rows), static_cast<long long>(bench.cols),
                static_cast<long long>(bench.tokens), bench.tokens == 1 ? "token" : "tokens",
                device.name().c_str(), rate / 1e9, 100 * share, limit.best_bytes_per_s / 1e9,
                FormatSize(loop.weight_bytes()).c_str(),
                FormatTimeNs(static_cast<uint64_t>(seconds.median * 1e9)).c_str(), flops / 1e9, seconds.runs);
  out.Print(line);
}

}  // namespace

Status RunLinearBench(const LinearBench& bench, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(const Format format, ParseFormatFlag(bench.format));
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  MOTLEY_ASSIGN_OR_RETURN(const OpenedBackends opened, OpenBackends(launcher.flags, config));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Device*> devices, CandidateDevices(config, *opened.backends));
  Device& device = *devices[0];
  launcher.interrupt.OnInterruptOnlySetFlag();
  MOTLEY_ASSIGN_OR_RETURN(const auto loop,
                          LinearLoop::Create(device, {format, bench.rows, bench.cols, bench.tokens}));
  // The limit before and after, as a shared machine changes from second to second; the better one counts.
  const ReadOptions read{loop->weight_bytes(), opened.host->threads()};
  MOTLEY_ASSIGN_OR_RETURN(ReadBandwidth limit, MeasureReadBandwidth(read));
  MOTLEY_ASSIGN_OR_RETURN(const Figure seconds, loop->Measure(bench.tokens, kLimits, [&] {
    return launcher.interrupt.IsSet();
  }));
  MOTLEY_ASSIGN_OR_RETURN(const ReadBandwidth after, MeasureReadBandwidth(read));
  if (after.best_bytes_per_s > limit.best_bytes_per_s) limit = after;
  Report(bench, device, *loop, seconds, limit, launcher.out);
  return OkStatus();
}

}  // namespace motley
