#include "tools/motley/bandwidth.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
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
constexpr uint64_t kHugePage = 2ull << 20;
constexpr uint64_t kMinBytesAThread = 1ull << 20;
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
#endif

bool HasAvx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

ReadFn BestReader() {
#if defined(__x86_64__)
  if (HasAvx512()) return ReadAvx512;
#endif
  return ReadPlain;
}

// A buffer in huge pages where there are some: page walks are no part of the limit.
class Buffer {
 public:
  explicit Buffer(uint64_t bytes) : mapped_(bytes + kHugePage) {
    void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    base_ = memory;
    const auto address = reinterpret_cast<uintptr_t>(memory);
    begin_ = reinterpret_cast<std::byte*>((address + kHugePage - 1) & ~(kHugePage - 1));
    madvise(begin_, bytes, MADV_HUGEPAGE);
  }
  ~Buffer() {
    if (base_ != nullptr) munmap(base_, mapped_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::byte* begin() const { return begin_; }

 private:
  uint64_t mapped_;
  void* base_ = nullptr;
  std::byte* begin_ = nullptr;
};

// One pass of all threads over the buffer is timed from the last one's start to the last one's end.
double BestPass(const Buffer& buffer, uint64_t part, uint32_t threads, uint32_t streams, double seconds,
                std::atomic<uint64_t>& sink) {
  std::barrier gate(threads);
  std::atomic<bool> enough{false};
  double best = 0;
  const ReadFn read = BestReader();
  const auto work = [&](uint32_t i) {
    const std::byte* begin = buffer.begin() + i * part;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (int pass = 0;; ++pass) {
      gate.arrive_and_wait();
      const auto start = Clock::now();
      sink.fetch_xor(read(begin, part, streams), std::memory_order_relaxed);
      gate.arrive_and_wait();
      if (i == 0) {
        const double took = std::chrono::duration<double>(Clock::now() - start).count();
        // The first pass warms pages and clocks up.
        if (pass > 0) best = std::max(best, static_cast<double>(part) * threads / took);
        enough = pass >= 2 && Clock::now() >= end;
      }
      gate.arrive_and_wait();
      if (enough) return;
    }
  };
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < threads; ++i) others.emplace_back(work, i);
  work(0);
  for (std::thread& thread : others) thread.join();
  return best;
}

// Each thread touches its part first, so that its memory is near it.
void Fill(const Buffer& buffer, uint64_t part, uint32_t threads) {
  std::vector<std::thread> others;
  for (uint32_t i = 0; i < threads; ++i)
    others.emplace_back([&, i] { std::memset(buffer.begin() + i * part, static_cast<int>(i + 1), part); });
  for (std::thread& thread : others) thread.join();
}

}  // namespace

Bandwidth MeasureReadBandwidth(uint64_t buffer_bytes, uint32_t threads, double seconds) {
  Bandwidth result;
  result.threads = std::max(threads, 1u);
  if (const auto memory = ReadSystemMemory(); memory.ok())
    buffer_bytes = std::min(buffer_bytes, memory->available_bytes / 3);
  constexpr uint32_t kStreams[] = {1, 2, 4, 8};
  const uint64_t unit = 8 * kLine;
  const uint64_t part = std::max(buffer_bytes / result.threads, kMinBytesAThread) / unit * unit;
  result.buffer_bytes = part * result.threads;
  const Buffer buffer(result.buffer_bytes);
  if (buffer.begin() == nullptr) return result;
  Fill(buffer, part, result.threads);
  std::atomic<uint64_t> sink{0};
  result.avx512 = HasAvx512();
  for (uint32_t streams : kStreams) {
    const double rate = BestPass(buffer, part, result.threads, streams, seconds / std::size(kStreams), sink);
    if (rate <= result.bytes_per_s) continue;
    result.bytes_per_s = rate;
    result.streams = streams;
  }
  return result;
}

}  // namespace motley
