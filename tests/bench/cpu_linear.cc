// The linear kernels of cpu_avx512 beside what this machine can do, measured in the same run.
//
//   bench_cpu_linear [THREADS] [MIB OF WEIGHTS] [FORMAT or "all"] [ISA, as the plugin's option has it]
//
// Times are CPU time of the slowest thread, best of a few runs, so that other work on the machine counts less.
// Decode: GB/s of packed bytes for 1..6 rows, and the share of the read bandwidth (4 streams a thread, prefetched).
// Prefill: GOP/s for 512 rows, and the share of the peak of vpdpbusd (without VNNI: of what AVX2 has in its place; with
// tiles: of tdpbsud) for quantised, of FMA for float weights, from registers.
#include <cstdio>
#include <cstring>
#include <string>

#include "plugins/cpu_avx512/kernel_table.h"
#include "tests/bench/cpu_limits.h"

namespace motley::cpu {
namespace {

using namespace bench;

int Main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  const size_t bytes = static_cast<size_t>(argc > 2 ? std::atoi(argv[2]) : 512) << 20;
  const KernelChoice choice = ChooseKernels(ProbeCpu(ThisCpu()), argc > 4 ? argv[4] : "auto");
  if (choice.table == nullptr)
    return std::printf("%s\n", choice.fault.empty() ? "this CPU has no AVX2" : choice.fault.c_str()), 2;
  const Kernels& kernels = *choice.table;
  uint8_t* weights = Memory(bytes + (1 << 20));
  for (size_t i = 0; i < bytes; i += 8) {
    // Small in every format, but neither NaN nor denormal.
    const uint64_t v = ((i * 0x9e3779b97f4a7c15ull) & 0x1f1f1f1f1f1f1f1full) | 0x3030303030303030ull;
    std::memcpy(weights + i, &v, 8);
  }
  const size_t part = bytes / static_cast<size_t>(threads) / 256 * 256;
  const double read = static_cast<double>(part) * threads / Best(threads, 7, [&](int i) {
                        ReadStreams(weights + static_cast<size_t>(i) * part, part);
                      });
  const bool wide = choice.table == &avx512::kKernels,
             tiles_used = choice.quantised == avx512::kKernels.linear_amx;
  const bool vnni = wide && choice.quantised == avx512::kKernels.linear_vnni;
  const auto int8_spin = vnni ? SpinVnni : SpinAvx2Int8;
  const auto f32_spin = wide ? SpinFma : SpinAvx2Fma;
  const double int8_peak =
      tiles_used
          ? threads * kTileSpins * 4 * 32768.0 / Best(threads, 3, [&](int) { SpinTiles(); })
          : threads * kSpins * 12 * (vnni ? 128.0 : 64.0) / Best(threads, 3, [&](int) { int8_spin(); });
  const double f32_peak =
      threads * kSpins * 12 * (wide ? 32.0 : 16.0) / Best(threads, 3, [&](int) { f32_spin(); });
  std::printf("%d threads, %zu MiB: read %.1f GB/s, int8 (%s) %.0f GOP/s, fma %.0f GFLOP/s\n", threads,
              bytes >> 20, read / 1e9,
              tiles_used ? "tdpbsud"
              : vnni     ? "vpdpbusd"
                         : "vpmaddubsw, vpmaddwd, vpaddd of 256 bits",
              int8_peak / 1e9, f32_peak / 1e9);

  constexpr int64_t kK = 4096;
  constexpr int64_t kRows = 512;
  std::vector<float> x(kRows * kK), y;
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
  auto* blocks = reinterpret_cast<ActivationBlock*>(Memory(kRows * kK / 32 * sizeof(ActivationBlock)));
  std::vector<uint8_t*> scratch;
  for (int i = 0; i < threads; ++i) scratch.push_back(Memory(kLinearScratchBytes));
  for (const FormatRow& f : kFormats) {
    if (argc > 3 && std::string(argv[3]) != "all" && std::string(NameOf(f.format)) != argv[3]) continue;
    const bool quantised = IsQuantised(f.format);
    const LinearFn kernel = quantised ? choice.quantised : kernels.linear_float;
    const auto seconds = [&](int64_t tiles, int64_t rows) {
      const int64_t n_out = tiles * kTileRows;
      y.resize(static_cast<size_t>(n_out * rows));
      if (quantised) kernels.quantise_rows(x.data(), kK, rows, kK, 0, rows, blocks);
      const LinearCall call{f.format, weights,  n_out, kK,      x.data(), kK, blocks,
                            rows,     y.data(), n_out, nullptr, nullptr,  0};
      return Best(threads, 5, [&](int i) {
        const int64_t begin = tiles / 4 * i / threads * 4, end = tiles / 4 * (i + 1) / threads * 4;
        for (int64_t r = 0; r < rows; r += RowsPerCall(kK)) {
          kernel(call, begin, end, r, std::min(r + RowsPerCall(kK), rows), scratch[static_cast<size_t>(i)]);
        }
      });
    };
    const int64_t tiles = static_cast<int64_t>(bytes) / TileBytes(f.format, kK) / 4 * 4;
    std::printf("%-7s", NameOf(f.format));
    for (const int64_t rows : {1, 2, 4, 6}) {
      const double rate = static_cast<double>(tiles * TileBytes(f.format, kK)) / seconds(tiles, rows);
      std::printf("  %ld row%s %5.1f GB/s %3.0f %%", rows, rows == 1 ? " " : "s", rate / 1e9,
                  100 * rate / read);
    }
    const double ops = 2.0 * 4096 * kK * kRows / seconds(256, kRows), peak = quantised ? int8_peak : f32_peak;
    std::printf("  512 rows %5.0f GOP/s %3.0f %%\n", ops / 1e9, 100 * ops / peak);
  }
  return 0;
}

}  // namespace
}  // namespace motley::cpu

int main(int argc, char** argv) { return motley::cpu::Main(argc, argv); }
