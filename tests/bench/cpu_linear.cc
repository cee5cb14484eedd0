// The linear kernels of cpu_avx512 beside what this machine can do, measured in the same run.
//
//   bench_cpu_linear [THREADS] [MIB OF WEIGHTS] [FORMAT]
//
// Times are CPU time of the slowest thread, best of a few runs, so that other work on the machine counts less.
// Decode: GB/s of packed bytes for 1..6 rows, and the share of the read bandwidth (4 streams a thread, prefetched).
// Prefill: GOP/s for 512 rows, and the share of the peak of vpdpbusd (without VNNI: of
// what AVX2 has in its place) for quantised, of FMA for float weights, from registers.
#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "plugins/cpu_avx512/kernel_table.h"

namespace motley::cpu {
namespace {

// Huge pages, as buffers of the plugin have them.
uint8_t* Memory(size_t bytes) {
  constexpr size_t kHuge = 2 << 20;
  bytes = (bytes + kHuge - 1) / kHuge * kHuge + kHuge;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::abort();
  const auto at = (reinterpret_cast<uintptr_t>(p) + kHuge - 1) / kHuge * kHuge;
  madvise(reinterpret_cast<void*>(at), bytes - kHuge, MADV_HUGEPAGE);
  return reinterpret_cast<uint8_t*>(at);
}

double CpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// f(member) on each of `threads` at once; CPU seconds of the slowest, the best of a few runs.
double Best(int threads, int runs, const std::function<void(int)>& f) {
  double best = 1e9;
  std::vector<double> spent(static_cast<size_t>(threads));
  for (int r = 0; r < runs; ++r) {
    std::atomic<int> ready{0};
    std::vector<std::thread> team;
    for (int i = 0; i < threads; ++i) {
      team.emplace_back([&, i] {
        ready.fetch_add(1);
        while (ready.load() < threads) std::this_thread::yield();
        const double start = CpuSeconds();
        f(i);
        spent[static_cast<size_t>(i)] = CpuSeconds() - start;
      });
    }
    for (std::thread& t : team) t.join();
    best = std::min(best, *std::max_element(spent.begin(), spent.end()));
  }
  return best;
}

std::atomic<uint64_t> sink;

__attribute__((target("avx2"))) void ReadStreams(const uint8_t* p, size_t bytes) {
  const size_t part = bytes / 4 / 64 * 64;
  __m256i sum[4] = {};
  for (size_t o = 0; o < part; o += 64) {
    for (size_t s = 0; s < 4; ++s) {
      const auto* line = reinterpret_cast<const __m256i*>(p + o + s * part);
      _mm_prefetch(reinterpret_cast<const char*>(line) + 2048, _MM_HINT_T0);
      sum[s] = _mm256_xor_si256(sum[s], _mm256_xor_si256(_mm256_loadu_si256(line), _mm256_loadu_si256(line + 1)));
    }
  }
  const __m256i all = _mm256_xor_si256(_mm256_xor_si256(sum[0], sum[1]), _mm256_xor_si256(sum[2], sum[3]));
  sink += static_cast<uint64_t>(_mm256_extract_epi64(all, 0));
}

constexpr int64_t kSpins = 20'000'000;

__attribute__((target("avx512f,avx512vnni"))) void SpinVnni() {
  __m512i c[12], a = _mm512_set1_epi8(3);
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) c[i] = _mm512_set1_epi32(i);
  for (int64_t n = 0; n < kSpins; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) __asm__ volatile("vpdpbusd %1, %1, %0" : "+v"(c[i]) : "v"(a));
  }
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) sink += static_cast<uint64_t>(_mm512_reduce_add_epi32(c[i]));
}
__attribute__((target("avx512f"))) void SpinFma() {
  __m512 c[12], a = _mm512_set1_ps(1e-9f);
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) c[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t n = 0; n < kSpins; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) __asm__ volatile("vfmadd231ps %1, %1, %0" : "+v"(c[i]) : "v"(a));
  }
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) sink += static_cast<uint64_t>(_mm512_reduce_add_ps(c[i]));
}

// The same with AVX2: integer products as vpmaddubsw, vpmaddwd and vpaddd, three instructions of 64 operations.
__attribute__((target("avx2"))) void SpinAvx2Int8() {
  __m256i c[12], a = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1), t;
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) c[i] = _mm256_set1_epi32(i);
  for (int64_t n = 0; n < kSpins; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) {
      __asm__ volatile("vpmaddubsw %2, %2, %1\n\tvpmaddwd %3, %1, %1\n\tvpaddd %1, %0, %0" : "+x"(c[i]), "=&x"(t) : "x"(a), "x"(ones));
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) sink += static_cast<uint64_t>(_mm256_extract_epi32(c[i], 0));
}
__attribute__((target("avx2,fma"))) void SpinAvx2Fma() {
  __m256 c[12], a = _mm256_set1_ps(1e-9f);
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) c[i] = _mm256_set1_ps(static_cast<float>(i));
  for (int64_t n = 0; n < kSpins; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) __asm__ volatile("vfmadd231ps %1, %1, %0" : "+x"(c[i]) : "x"(a));
  }
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) sink += static_cast<uint64_t>(_mm256_cvtss_f32(c[i]));
}

int Main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  const size_t bytes = static_cast<size_t>(argc > 2 ? std::atoi(argv[2]) : 512) << 20;
  const KernelChoice choice = ChooseKernels(ProbeCpu(ThisCpu()), "auto");
  if (choice.table == nullptr) return std::puts("this CPU has no AVX2"), 0;
  const Kernels& kernels = *choice.table;
  uint8_t* weights = Memory(bytes + (1 << 20));
  for (size_t i = 0; i < bytes; i += 8) {
    // Small in every format, but neither NaN nor denormal.
    const uint64_t v = ((i * 0x9e3779b97f4a7c15ull) & 0x1f1f1f1f1f1f1f1full) | 0x3030303030303030ull;
    std::memcpy(weights + i, &v, 8);
  }
  const size_t part = bytes / static_cast<size_t>(threads) / 256 * 256;
  const double read = static_cast<double>(part) * threads / Best(threads, 7, [&](int i) { ReadStreams(weights + static_cast<size_t>(i) * part, part); });
  const bool wide = choice.table == &avx512::kKernels, vnni = choice.quantised == avx512::kKernels.linear_vnni;
  const auto int8_spin = vnni ? SpinVnni : SpinAvx2Int8;
  const auto f32_spin = wide ? SpinFma : SpinAvx2Fma;
  const double int8_peak = threads * kSpins * 12 * (vnni ? 128.0 : 64.0) / Best(threads, 3, [&](int) { int8_spin(); });
  const double f32_peak = threads * kSpins * 12 * (wide ? 32.0 : 16.0) / Best(threads, 3, [&](int) { f32_spin(); });
  std::printf("%d threads, %zu MiB: read %.1f GB/s, int8 (%s) %.0f GOP/s, fma %.0f GFLOP/s\n", threads, bytes >> 20,
              read / 1e9, vnni ? "vpdpbusd" : "vpmaddubsw, vpmaddwd, vpaddd of 256 bits", int8_peak / 1e9, f32_peak / 1e9);

  constexpr int64_t kK = 4096;
  constexpr int64_t kRows = 512;
  std::vector<float> x(kRows * kK), y;
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
  auto* blocks = reinterpret_cast<ActivationBlock*>(Memory(kRows * kK / 32 * sizeof(ActivationBlock)));
  std::vector<uint8_t*> scratch;
  for (int i = 0; i < threads; ++i) scratch.push_back(Memory(kLinearScratchBytes));
  for (const FormatRow& f : kFormats) {
    if (argc > 3 && std::string(NameOf(f.format)) != argv[3]) continue;
    const bool quantised = IsQuantised(f.format);
    const LinearFn kernel = quantised ? choice.quantised : kernels.linear_float;
    const auto seconds = [&](int64_t tiles, int64_t rows) {
      const int64_t n_out = tiles * kTileRows;
      y.resize(static_cast<size_t>(n_out * rows));
      if (quantised) kernels.quantise_rows(x.data(), kK, rows, kK, 0, rows, blocks);
      const LinearCall call{f.format, weights, n_out, kK, x.data(), kK, blocks, rows, y.data(), n_out, nullptr, nullptr, 0};
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
      std::printf("  %ld row%s %5.1f GB/s %3.0f %%", rows, rows == 1 ? " " : "s", rate / 1e9, 100 * rate / read);
    }
    const double ops = 2.0 * 4096 * kK * kRows / seconds(256, kRows), peak = quantised ? int8_peak : f32_peak;
    std::printf("  512 rows %5.0f GOP/s %3.0f %%\n", ops / 1e9, 100 * ops / peak);
  }
  return 0;
}

}  // namespace
}  // namespace motley::cpu

int main(int argc, char** argv) { return motley::cpu::Main(argc, argv); }
