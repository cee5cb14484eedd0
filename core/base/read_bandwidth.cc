#include "core/base/read_bandwidth.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/base/system_memory.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kLine = 64;
constexpr uint32_t kMostStreams = 8;
constexpr uint64_t kMinBytesAThread = 8 * kMostStreams * kLine;
// A pass reads a small working set so often that starting and ending it is no part of what is measured.
constexpr uint64_t kMinPassBytesAThread = 16ull << 20;
// The core fetches ahead within a page by itself; asked for this far ahead it also crosses into the next one.
constexpr uint64_t kPrefetchBytes = 2048;

// Reads [begin, begin + bytes) in `streams` streams; the result depends on every byte, so that none is left
// out. bytes is a multiple of streams · kLine.
using ReadFn = uint64_t (*)(const std::byte* begin, uint64_t bytes, uint32_t streams);

uint64_t ReadPlain(const std::byte* begin, uint64_t bytes, uint32_t streams) {
  const uint64_t part = bytes / streams;
  uint64_t sums[8] = {};
  for (uint64_t offset = 0; offset < part; offset += kLine) {
    for (uint32_t s = 0; s < streams; ++s) {
      const std::byte* line = begin + s * part + offset;
      __builtin_prefetch(line + kPrefetchBytes);
      uint64_t words[8];
      std::memcpy(words, line, sizeof(words));
      for (int w = 0; w < 8; ++w) sums[w] ^= words[w];
    }
  }
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7];
}

#if defined(__x86_64__)
template <uint32_t kStreams>
__attribute__((target("avx512f"))) uint64_t ReadAvx512Streams(const std::byte* begin, uint64_t bytes) {
  const uint64_t part = bytes / kStreams;
  __m512i sums[kStreams];
  for (uint32_t s = 0; s < kStreams; ++s) sums[s] = _mm512_setzero_si512();
  for (uint64_t offset = 0; offset < part; offset += kLine) {
    for (uint32_t s = 0; s < kStreams; ++s) {
      const std::byte* line = begin + s * part + offset;
      _mm_prefetch(reinterpret_cast<const char*>(line) + kPrefetchBytes, _MM_HINT_T0);
      sums[s] = _mm512_xor_si512(sums[s], _mm512_load_si512(line));  // parts are multiples of a line
    }
  }
  for (uint32_t s = 1; s < kStreams; ++s) sums[0] = _mm512_xor_si512(sums[0], sums[s]);
  alignas(kLine) uint64_t words[8];
  _mm512_store_si512(words, sums[0]);
  return words[0] ^ words[1] ^ words[2] ^ words[3] ^ words[4] ^ words[5] ^ words[6] ^ words[7];
}

uint64_t ReadAvx512(const std::byte* begin, uint64_t bytes, uint32_t streams) {
  switch (streams) {
    case 1: return ReadAvx512Streams<1>(begin, bytes);
    case 2: return ReadAvx512Streams<2>(begin, bytes);
    case 4: return ReadAvx512Streams<4>(begin, bytes);
    default: return ReadAvx512Streams<8>(begin, bytes);
  }
}

template <uint32_t kStreams>
__attribute__((target("avx2"))) uint64_t ReadAvx2Streams(const std::byte* begin, uint64_t bytes) {
  const uint64_t part = bytes / kStreams;
  __m256i sums[kStreams];
  for (uint32_t s = 0; s < kStreams; ++s) sums[s] = _mm256_setzero_si256();
  for (uint64_t offset = 0; offset < part; offset += kLine) {
    for (uint32_t s = 0; s < kStreams; ++s) {
      const auto* line = reinterpret_cast<const __m256i*>(begin + s * part + offset);
      _mm_prefetch(reinterpret_cast<const char*>(line) + kPrefetchBytes, _MM_HINT_T0);
      sums[s] =
          _mm256_xor_si256(sums[s], _mm256_xor_si256(_mm256_load_si256(line), _mm256_load_si256(line + 1)));
    }
  }
  for (uint32_t s = 1; s < kStreams; ++s) sums[0] = _mm256_xor_si256(sums[0], sums[s]);
  alignas(kLine) uint64_t words[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(words), sums[0]);
  return words[0] ^ words[1] ^ words[2] ^ words[3];
}

uint64_t ReadAvx2(const std::byte* begin, uint64_t bytes, uint32_t streams) {
  switch (streams) {
    case 1: return ReadAvx2Streams<1>(begin, bytes);
    case 2: return ReadAvx2Streams<2>(begin, bytes);
    case 4: return ReadAvx2Streams<4>(begin, bytes);
    default: return ReadAvx2Streams<8>(begin, bytes);
  }
}
#endif

ReadFn BestReader() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return ReadAvx512;
  if (__builtin_cpu_supports("avx2")) return ReadAvx2;
#endif
  return ReadPlain;
}

// Runs work(i) for i in [0, threads), all at once, 0 on the caller's thread.
Status RunOnThreads(uint32_t threads, const std::function<void(uint32_t)>& work) {
  std::atomic<int> go{0};  // 1: begin; 2: a thread is missing, so nobody begins
  std::vector<std::thread> others;
  Status status;
  const auto wait_and_work = [&](uint32_t i) {
    go.wait(0);
    if (go == 1) work(i);
  };
  for (uint32_t i = 1; i < threads && status.ok(); ++i) {
    try {
      others.emplace_back(wait_and_work, i);
    } catch (const std::system_error& error) {
      status = ResourceExhaustedError("thread " + std::to_string(i) + " of " + std::to_string(threads) +
                                      ": " + error.what());
    }
  }
  go = status.ok() ? 1 : 2;
  go.notify_all();
  if (status.ok()) work(0);
  for (std::thread& thread : others) thread.join();
  return status;
}

struct Passes {
  const std::byte* begin;
  uint64_t part;  // bytes a thread
  uint32_t threads;
};

// Bytes a second of each pass, timed from the last thread's start to the last one's end. The first pass warms
// pages and clocks up and is left out.
StatusOr<std::vector<double>> RunPasses(const Passes& passes, uint32_t streams, double seconds,
                                        std::atomic<uint64_t>& sink) {
  std::barrier gate(static_cast<std::ptrdiff_t>(passes.threads));
  std::atomic<bool> enough{false};
  std::vector<double> rates;
  const ReadFn read = BestReader();
  const uint64_t repeats = std::max<uint64_t>(1, kMinPassBytesAThread / passes.part);
  const double bytes = static_cast<double>(passes.part) * static_cast<double>(repeats) * passes.threads;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  const Status ran = RunOnThreads(passes.threads, [&](uint32_t i) {
    const std::byte* begin = passes.begin + i * passes.part;
    for (int pass = 0; !enough; ++pass) {
      gate.arrive_and_wait();
      const auto start = Clock::now();
      uint64_t sum = 0;
      for (uint64_t r = 0; r < repeats; ++r) sum ^= read(begin, passes.part, streams) + r;
      sink.fetch_xor(sum, std::memory_order_relaxed);
      gate.arrive_and_wait();
      if (i == 0) {
        const double took = std::chrono::duration<double>(Clock::now() - start).count();
        if (pass > 0 && took > 0) rates.push_back(bytes / took);
        enough = pass >= 2 && Clock::now() >= end;
      }
      gate.arrive_and_wait();
    }
  });
  if (!ran.ok()) return ran;
  return rates;
}

}  // namespace

StatusOr<ReadBandwidth> MeasureReadBandwidth(const ReadOptions& options) {
  ReadBandwidth result;
  result.threads = std::max(options.threads, 1u);
  uint64_t bytes = options.bytes;
  if (const auto memory = ReadSystemMemory(); memory.ok())
    bytes = std::min(bytes, memory->available_bytes / 3);
  const uint64_t unit = kMostStreams * kLine;
  const uint64_t part = std::max(bytes / result.threads, kMinBytesAThread) / unit * unit;
  result.bytes = part * result.threads;
  MOTLEY_ASSIGN_OR_RETURN(const HostPages pages, HostPages::Allocate(result.bytes, options.pages));
  result.pages = pages.kind();
  result.notice = pages.notice();
  // Each thread touches its part first, so that its memory is near it.
  MOTLEY_RETURN_IF_ERROR(RunOnThreads(result.threads, [&](uint32_t i) {
    std::memset(pages.data() + i * part, static_cast<int>(i + 1), part);
  }));
  std::atomic<uint64_t> sink{0};
  const Passes passes{pages.data(), part, result.threads};
  constexpr uint32_t kStreams[] = {1, 2, 4, kMostStreams};
  for (uint32_t streams : kStreams) {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<double> rates,
                            RunPasses(passes, streams, options.seconds / std::size(kStreams), sink));
    const Figure figure = MakeFigure(rates);
    if (!rates.empty())
      result.best_bytes_per_s =
          std::max(result.best_bytes_per_s, *std::max_element(rates.begin(), rates.end()));
    if (figure.median <= result.bytes_per_s.median) continue;
    result.bytes_per_s = figure;
    result.streams = streams;
  }
  return result;
}

}  // namespace motley
