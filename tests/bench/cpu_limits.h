// What this machine can do, for the benches of cpu_avx512 to print beside what the kernels do.
#pragma once

#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

namespace motley::cpu::bench {

// Huge pages, as buffers of the plugin have them.
inline uint8_t* Memory(size_t bytes) {
  constexpr size_t kHuge = 2 << 20;
  bytes = (bytes + kHuge - 1) / kHuge * kHuge + kHuge;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::abort();
  const auto at = (reinterpret_cast<uintptr_t>(p) + kHuge - 1) / kHuge * kHuge;
  madvise(reinterpret_cast<void*>(at), bytes - kHuge, MADV_HUGEPAGE);
  return reinterpret_cast<uint8_t*>(at);
}

inline double CpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// f(member) on each of `threads` at once; CPU seconds of the slowest, the best of a few runs.
inline double Best(int threads, int runs, const std::function<void(int)>& f) {
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

inline std::atomic<uint64_t> sink;

__attribute__((target("avx2"))) inline void ReadStreams(const uint8_t* p, size_t bytes) {
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

__attribute__((target("avx512f,avx512vnni"))) inline void SpinVnni() {
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
__attribute__((target("avx512f"))) inline void SpinFma() {
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

constexpr int64_t kTileSpins = 2'000'000;

// Products of whole tiles: 16 rows x 16 columns x 64 k. Assembly, as in the kernels; the caller knows that
// there are tiles.
inline void SpinTiles() {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
  } shapes;
  __asm__ volatile("ldtilecfg %0" ::"m"(shapes));
  __asm__ volatile(
      "tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\ttilezero %tmm3\n\ttilezero %tmm4\n\ttilezero "
      "%tmm5");
  for (int64_t n = 0; n < kTileSpins; ++n) {
    __asm__ volatile(
        "tdpbsud %tmm5, %tmm4, %tmm0\n\ttdpbsud %tmm5, %tmm4, %tmm1\n\t"
        "tdpbsud %tmm5, %tmm4, %tmm2\n\ttdpbsud %tmm5, %tmm4, %tmm3");
  }
  __asm__ volatile("tilerelease");
}

// The same with AVX2: integer products as vpmaddubsw, vpmaddwd and vpaddd, three instructions of 64
// operations.
__attribute__((target("avx2"))) inline void SpinAvx2Int8() {
  __m256i c[12], a = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1), t;
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) c[i] = _mm256_set1_epi32(i);
  for (int64_t n = 0; n < kSpins; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) {
      __asm__ volatile("vpmaddubsw %2, %2, %1\n\tvpmaddwd %3, %1, %1\n\tvpaddd %1, %0, %0"
                       : "+x"(c[i]), "=&x"(t)
                       : "x"(a), "x"(ones));
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) sink += static_cast<uint64_t>(_mm256_extract_epi32(c[i], 0));
}
__attribute__((target("avx2,fma"))) inline void SpinAvx2Fma() {
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

}  // namespace motley::cpu::bench
