// The attention kernels of cpu_avx512 beside what this machine can do, measured in the same run.
//
//   bench_cpu_attention [THREADS] [DEPTH] [MIB OF PAGES]
//
// Times are CPU time of the slowest thread, best of a few runs, so that other work on the machine counts less.
// Decode: GB/s of pages for one row at DEPTH, and the share of the read bandwidth; each thread has layers of its own.
// Prefill: GFLOP/s of 512 rows from position 0, and of 96 rows at DEPTH, and the share of the FMA peak.
#include <cstdio>
#include <cstring>

#include "plugins/cpu_avx512/kernel_table.h"
#include "tests/bench/cpu_limits.h"

namespace motley::cpu {
namespace {

using namespace bench;

struct Shape {
  const char* name;
  int64_t n_heads, n_kv_heads, dim;
};
constexpr Shape kShapes[] = {{"9/3 x 64", 9, 3, 64}, {"32/8 x 128", 32, 8, 128}, {"96/8 x 128", 96, 8, 128}, {"16/16 x 64", 16, 16, 64}};

struct Format {
  const char* name;
  KvFormat format;
};
constexpr Format kFormats[] = {{"f32", KvFormat::kF32}, {"f16", KvFormat::kF16}, {"q8", KvFormat::kQ8_0}, {"q4", KvFormat::kQ4_0}};

constexpr int64_t kPageTokens = 64, kPromptRows = 512, kDeepRows = 96;

// Layers of one shape and format, all full up to a depth.
struct Layers {
  AttentionCall call{};
  int64_t depth, layer_bytes, count;
  uint8_t* memory;
  std::vector<int32_t> pages, position;
  std::vector<float> q, rope;
  mutable std::vector<float> y;

  Layers(const Shape& s, KvFormat format, int64_t at, size_t bytes, uint8_t* kv) : depth(at), memory(kv) {
    AttentionCall& c = call;
    c.n_heads = s.n_heads, c.n_kv_heads = s.n_kv_heads, c.head_dim = c.v_dim = c.rotary_dim = s.dim;
    c.page_tokens = kPageTokens, c.format = format, c.scale = 0.1f;
    c.page_bytes = KvPageBytes(format, kPageTokens, s.n_kv_heads, s.dim, s.dim);
    const int64_t per_layer = (depth + kPageTokens - 1) / kPageTokens;
    layer_bytes = per_layer * c.page_bytes;
    count = std::max<int64_t>(2, static_cast<int64_t>(bytes) / layer_bytes);
    for (int64_t p = 0; p < per_layer; ++p) pages.push_back(static_cast<int32_t>(p));
    q.assign(static_cast<size_t>(kPromptRows * s.n_heads * s.dim), 0.01f);
    rope.assign(static_cast<size_t>(kPromptRows * s.dim), 0.5f);
    y.resize(q.size());
    position.resize(kPromptRows);
  }
  AttentionCall Layer(int64_t layer) const {
    AttentionCall c = call;
    c.q = q.data(), c.rope = rope.data(), c.position = position.data(), c.y = y.data();
    c.kv = memory + layer % count * layer_bytes;
    return c;
  }
};

void DecodeLayer(const Kernels& kernels, const AttentionCall& c, const int32_t* pages, float* parts, void* scratch) {
  const int64_t heads = c.n_heads / c.n_kv_heads, chunks = c.position[0] / kKeyChunk + 1;
  for (int64_t h = 0; h < c.n_heads; h += heads) {
    const int64_t part_floats = chunks * (c.v_dim + 2);
    kernels.attend_chunks(c, pages, 0, h, heads, 0, chunks, parts, part_floats, scratch);
    for (int64_t i = 0; i < heads; ++i) kernels.merge_chunks(c, 0, h + i, parts + i * part_floats);
  }
}

double PrefillSeconds(const Kernels& kernels, Layers* layers, int threads, int64_t from, int64_t rows, const std::vector<uint8_t*>& scratch) {
  for (int64_t r = 0; r < rows; ++r) layers->position[static_cast<size_t>(r)] = static_cast<int32_t>(from + r);
  return Best(threads, 5, [&](int i) {
    const AttentionCall c = layers->Layer(i);
    const int64_t heads = c.n_heads / c.n_kv_heads, step = std::max<int64_t>(1, kMaxQueries / heads);
    for (int64_t h = 0; h < c.n_heads; h += heads) {
      for (int64_t r = 0; r < rows; r += step) {
        kernels.attend(c, layers->pages.data(), r, std::min(step, rows - r), h, heads, scratch[static_cast<size_t>(i)]);
      }
    }
  });
}

int Main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  const int64_t depth = std::max<int64_t>(kPromptRows, argc > 2 ? std::atoi(argv[2]) : 4096);
  const size_t bytes = static_cast<size_t>(argc > 3 ? std::atoi(argv[3]) : 256) << 20;
  const KernelChoice choice = ChooseKernels(ProbeCpu(ThisCpu()), "auto");
  if (choice.table == nullptr) return std::puts("this CPU has no AVX2"), 0;
  const Kernels& kernels = *choice.table;
  uint8_t* memory = Memory(2 * bytes);
  for (size_t i = 0; i < 2 * bytes; i += 8) {
    const uint64_t v = 0x2412241224122412ull + (i & 0x0101010101010101ull);  // small in every format
    std::memcpy(memory + i, &v, 8);
  }
  const size_t part = bytes / static_cast<size_t>(threads) / 256 * 256;
  const double read = static_cast<double>(part) * threads / Best(threads, 7, [&](int i) { ReadStreams(memory + static_cast<size_t>(i) * part, part); });
  const bool wide = choice.table == &avx512::kKernels;
  const auto spin = wide ? SpinFma : SpinAvx2Fma;
  const double peak = threads * kSpins * 12 * (wide ? 32.0 : 16.0) / Best(threads, 3, [&](int) { spin(); });
  std::printf("%d threads, depth %ld: read %.1f GB/s, fma %.0f GFLOP/s\n", threads, depth, read / 1e9, peak / 1e9);

  for (const Shape& shape : kShapes) {
    for (const Format& format : kFormats) {
      Layers layers(shape, format.format, depth, bytes, memory);
      std::vector<uint8_t*> scratch;
      std::vector<std::vector<float>> parts(static_cast<size_t>(threads));
      for (int i = 0; i < threads; ++i) {
        scratch.push_back(Memory(static_cast<size_t>(AttentionScratchBytes(shape.dim, shape.dim))));
        parts[static_cast<size_t>(i)].resize(static_cast<size_t>((depth / kKeyChunk + 1) * shape.n_heads * (shape.dim + 2)));
      }
      layers.position[0] = static_cast<int32_t>(depth - 1);
      const int64_t each = std::max<int64_t>(1, layers.count / threads);
      const double decode = Best(threads, 5, [&](int i) {
        for (int64_t l = 0; l < each; ++l) {
          DecodeLayer(kernels, layers.Layer(i * each + l), layers.pages.data(), parts[static_cast<size_t>(i)].data(), scratch[static_cast<size_t>(i)]);
        }
      });
      const double rate = static_cast<double>(each * threads * layers.layer_bytes) / decode;
      const double a_pair = 4.0 * static_cast<double>(shape.dim * shape.n_heads * threads);
      const double prompt = a_pair * kPromptRows * (kPromptRows + 1) / 2 /
                            PrefillSeconds(kernels, &layers, threads, 0, kPromptRows, scratch);
      const double deep = a_pair * kDeepRows * static_cast<double>(depth - kDeepRows / 2) /
                          PrefillSeconds(kernels, &layers, threads, depth - kDeepRows, kDeepRows, scratch);
      std::printf("%-11s %s  decode %5.1f GB/s %3.0f %%  prompt %5.1f GFLOP/s %3.0f %%  deep %5.1f GFLOP/s %3.0f %%\n",
                  shape.name, format.name, rate / 1e9, 100 * rate / read, prompt / 1e9, 100 * prompt / peak, deep / 1e9,
                  100 * deep / peak);
    }
  }
  return 0;
}

}  // namespace
}  // namespace motley::cpu

int main(int argc, char** argv) { return motley::cpu::Main(argc, argv); }
