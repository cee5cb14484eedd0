// Whole segments through the bare ABI: against ref, and bitwise against each other.
#include <gtest/gtest.h>

#include <atomic>
#include <new>

#include "tests/unit/cpu_avx512/tiny_llama.h"

namespace {
std::atomic<int64_t> allocations{0};
}

// Not inlined: GCC would otherwise see free() meet what it takes for the library's operator new.
[[gnu::noinline]] void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace motley::cpu::test {
namespace {

const OptionMap kOneThread = {{"threads", int64_t{1}}};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
}

// KV formats by id: F32, F16, BF16, Q8_0, Q4_0.
constexpr uint32_t kKvFormats[] = {0, 1, 30, 8, 2};

TEST(Program, AgreesWithRefInEveryFormat) {
  MOTLEY_NEEDS_AVX2();
  const auto prompt = Prompt(40, 1);
  const auto compare = [&](WeightFormat f, uint32_t kv) {
    const Client ref(MOTLEY_REF_PLUGIN, kOneThread), cpu(MOTLEY_CPU_PLUGIN, {{"threads", int64_t{2}}});
    TinyLlama expected(ref, 0, {f, kv, 16}), got(cpu, 0, {f, kv, 16});
    const auto want = expected.RunPrompt(prompt, 40);
    const std::vector<double> wanted(want.begin(), want.end());
    const auto y = got.RunPrompt(prompt, 40);
    // Pages in fewer bits: a key that falls on the other side of a rounding.
    const double tolerance = IsQuantised(f) ? 1e-2 : kv == 0 ? 1e-9 : kv == 1 ? 1e-6 : 1e-4;
    EXPECT_LE(Nmse(wanted.data(), y.data(), y.size()), tolerance) << Name(f) << " kv " << kv;
    EXPECT_EQ(got.verdicts[2].math, IsQuantised(f) ? MOTLEY_MATH_INT8 : MOTLEY_MATH_F32) << Name(f);
  };
  for (const WeightFormat f : kAllFormats) compare(f, 1);
  for (const uint32_t kv : kKvFormats) compare(WeightFormat::kF32, kv);
}

TEST(Program, KvFormatsStepsPagesAndThreadsDoNotChangeABit) {
  MOTLEY_NEEDS_AVX2();
  const auto prompt = Prompt(60, 8);
  const Client one(MOTLEY_CPU_PLUGIN, kOneThread), three(MOTLEY_CPU_PLUGIN, {{"threads", int64_t{3}}});
  for (const uint32_t kv : kKvFormats) {
    TinyLlama base(one, 0, {WeightFormat::kF32, kv, 16});
    const auto y = base.RunPrompt(prompt, 60);
    for (const int64_t step : {1, 7}) EXPECT_TRUE(SameBits(base.RunPrompt(prompt, step), y)) << kv << " step " << step;
    for (const int64_t page_tokens : {1, 17, 64}) {
      TinyLlama other(three, 0, {WeightFormat::kF32, kv, page_tokens});
      EXPECT_TRUE(SameBits(other.RunPrompt(prompt, 60), y)) << kv << " page " << page_tokens;
      EXPECT_TRUE(SameBits(other.RunPrompt(prompt, 9), y)) << kv << " page " << page_tokens;
    }
  }
}

TEST(Program, StepsPagesThreadsAndKernelsDoNotChangeABit) {
  MOTLEY_NEEDS_AVX2();
  const auto prompt = Prompt(60, 2);
  for (const WeightFormat f : {WeightFormat::kF32, WeightFormat::kF16, WeightFormat::kQ4_1, WeightFormat::kQ4_K,
                               WeightFormat::kQ6_K, WeightFormat::kQ8_0}) {
    const Client one(MOTLEY_CPU_PLUGIN, kOneThread);
    TinyLlama base(one, 0, {f, 1, 16});
    const auto y = base.RunPrompt(prompt, 60);
    for (const int64_t step : {1, 7, 32}) EXPECT_TRUE(SameBits(base.RunPrompt(prompt, step), y)) << Name(f) << " step " << step;
    for (const int64_t page_tokens : {1, 17, 256}) {
      TinyLlama other(one, 0, {f, 1, page_tokens});
      EXPECT_TRUE(SameBits(other.RunPrompt(prompt, 60), y)) << Name(f) << " page " << page_tokens;
      EXPECT_TRUE(SameBits(other.RunPrompt(prompt, 9), y)) << Name(f) << " page " << page_tokens;
    }
    for (const int64_t threads : {2, 3, 5}) {
      const Client client(MOTLEY_CPU_PLUGIN, {{"threads", threads}});
      TinyLlama other(client, 0, {f, 1, 16});
      EXPECT_TRUE(SameBits(other.RunPrompt(prompt, 60), y)) << Name(f) << " threads " << threads;
      EXPECT_TRUE(SameBits(other.RunPrompt(prompt, 1), y)) << Name(f) << " threads " << threads;
    }
    const Client split(MOTLEY_CPU_PLUGIN, {{"threads", int64_t{3}}, {"devices", int64_t{2}}, {"isa", std::string("avx2")}});
    ASSERT_EQ(split.devices.size(), 2u);
    TinyLlama other(split, 1, {f, 1, 16});
    EXPECT_TRUE(SameBits(other.RunPrompt(prompt, 60), y)) << Name(f) << " device 1, avx2";
  }
}

TEST(Program, LongContextSharedByThreadsDoesNotChangeABit) {
  MOTLEY_NEEDS_AVX2();
  const auto prompt = Prompt(290, 3);  // more than one chunk of keys
  const Client one(MOTLEY_CPU_PLUGIN, kOneThread), many(MOTLEY_CPU_PLUGIN, {{"threads", int64_t{4}}});
  for (const uint32_t kv : kKvFormats) {
    TinyLlama a(one, 0, {WeightFormat::kQ8_0, kv, 16}), b(many, 0, {WeightFormat::kQ8_0, kv, 16});
    const auto y = a.RunPrompt(prompt, 64);
    EXPECT_TRUE(SameBits(b.RunPrompt(prompt, 64), y)) << kv;
    EXPECT_TRUE(SameBits(b.RunPrompt(prompt, 1), y)) << kv;
    EXPECT_TRUE(SameBits(b.RunPrompt(prompt, 3), y)) << kv << ": some rows of one sequence";
  }
}

TEST(Program, SequencesOfOneStepAreAsAlone) {
  MOTLEY_NEEDS_AVX2();
  const auto first = Prompt(30, 4), second = Prompt(23, 5);
  const Client client(MOTLEY_CPU_PLUGIN, {{"threads", int64_t{2}}});
  for (const WeightFormat f : {WeightFormat::kF32, WeightFormat::kQ4_1}) {
    TinyLlama alone(client, 0, {f, 0, 16}), mixed(client, 0, {f, 0, 16});
    const auto y0 = alone.RunPrompt(first, 30, 0), y1 = alone.RunPrompt(second, 23, 1);
    std::vector<float> got0, got1;
    const auto split = [&](const std::vector<float>& y, size_t n0) {
      const auto middle = y.begin() + static_cast<long>(n0 * TinyLlama::kVocab);
      got0.insert(got0.end(), y.begin(), middle);
      got1.insert(got1.end(), middle, y.end());
    };
    // Ten together; one of each; then the rest.
    const auto piece = [](int64_t s, int64_t begin, int64_t end, const std::vector<int32_t>& t) {
      return TinyStep::Piece{s, begin, {t.begin() + begin, t.begin() + end}};
    };
    split(mixed.Run({{piece(0, 0, 10, first), piece(1, 0, 5, second)}}), 10);
    split(mixed.Run({{piece(0, 10, 11, first), piece(1, 5, 6, second)}}), 1);
    split(mixed.Run({{piece(0, 11, 30, first), piece(1, 6, 23, second)}}), 19);
    EXPECT_TRUE(SameBits(got0, y0)) << Name(f);
    EXPECT_TRUE(SameBits(got1, y1)) << Name(f);
  }
}

TEST(Program, NoAllocationInAStepAfterTheFirst) {
  MOTLEY_NEEDS_AVX2();
  const Client client(MOTLEY_CPU_PLUGIN, kOneThread);  // the test host's teams allocate
  TinyLlama model(client, 0, {WeightFormat::kQ4_1, 1, 16});
  const auto prompt = Prompt(20, 6);
  model.RunPrompt(prompt, 20);
  // What the harness itself allocates in a step, by a step that fails in the check of its data.
  std::vector<float> logits;
  std::string text;
  text.reserve(4096);
  const auto count = [&](const auto& spoil) {
    std::vector<float> out;
    out.reserve(1 << 16);
    const TinyStep step = {{{0, 19, {prompt[19]}}}};
    const int64_t before = allocations;
    model.Run(step, &out, &text, spoil);
    return allocations - before;
  };
  count([](auto&) {});
  const int64_t empty = count([](TinyLlama::StepData& d) {
    d.dims = {0, 0, 0, 1, 1};
    d.row_start = {0}, d.counts.assign(16, 0), d.counts[3] = d.counts[4] = 1;
  });
  EXPECT_EQ(count([](auto&) {}), empty);
}

TEST(Program, AStepWithoutTokensRuns) {
  MOTLEY_NEEDS_AVX2();
  const Client client(MOTLEY_CPU_PLUGIN, {{"threads", int64_t{2}}});
  TinyLlama model(client, 0, {WeightFormat::kF32, 0, 16});
  EXPECT_TRUE(model.Run({}).empty());
}

// Every value out of range is an error in every build, and neither cache nor output is touched.
TEST(FieldFailure, R03_StepDataOutOfRangeIsRefusedBeforeAnythingIsWritten) {
  MOTLEY_NEEDS_AVX2();
  const Client client(MOTLEY_CPU_PLUGIN, {{"threads", int64_t{2}}});
  TinyLlama model(client, 0, {WeightFormat::kQ8_0, 0, 16});
  const auto prompt = Prompt(20, 7);
  model.RunPrompt(prompt, 20);
  const auto cache = model.Cache(0);
  const auto logits = model.RawLogits();
  using Data = TinyLlama::StepData;
  const std::vector<std::pair<const char*, void (*)(Data&)>> faults = {
      {"token", [](Data& d) { d.token[1] = TinyLlama::kVocab; }},
      {"token", [](Data& d) { d.token[0] = -1; }},
      {"row", [](Data& d) { d.out_row[0] = 2; }},
      {"row", [](Data& d) { d.out_row[1] = -1; }},
      {"slot", [](Data& d) { d.slot[0] = static_cast<int32_t>(TinyLlama::kKvPages * 16); }},
      {"slot", [](Data& d) { d.slot[1] = -2; }},
      {"position", [](Data& d) { d.position[1] = d.kv_len[0]; }},
      {"position", [](Data& d) { d.position[0] = -1; }},
      {"kv_len", [](Data& d) { d.kv_len[0] = static_cast<int32_t>(TinyLlama::kMaxPages * 16 + 1); }},
      {"kv_len", [](Data& d) { d.kv_len[0] = -1; }},
      {"seq_row", [](Data& d) { d.seq_row[0] = static_cast<int32_t>(TinyLlama::kMaxSeqs); }},
      {"row_start", [](Data& d) { d.row_start[1] = 3; }},
      {"row_start", [](Data& d) { d.row_start[0] = 1; }},
      {"pages", [](Data& d) { d.pages[0] = static_cast<int32_t>(TinyLlama::kKvPages); }},
      {"pages", [](Data& d) { d.pages[1] = -1; }},
      {"counts", [](Data& d) { d.counts[0] = 3; }},
  };
  for (size_t i = 0; i < faults.size(); ++i) {
    std::vector<float> out;
    std::string text;
    EXPECT_EQ(model.Run({{{0, 18, {1, 2}}}}, &out, &text, faults[i].second), MOTLEY_INVALID_ARGUMENT) << i;
    EXPECT_NE(text.find(faults[i].first), std::string::npos) << i << ": " << text;
  }
  EXPECT_EQ(model.Cache(0), cache);
  EXPECT_TRUE(SameBits(model.RawLogits(), logits));
  EXPECT_EQ(model.Run({{{0, 18, {1, 2}}}}).size(), 2u * TinyLlama::kVocab);  // and the next step runs
}

// ---- Fusion must not change what a graph means ---------------------------------------------------------------------

// x -> norm -> two linears, one of which is added to something, with every tensor in turn also an OUTPUT.
TEST(Fusion, GraphsWithOutputsInTheMiddleAgreeWithRef) {
  MOTLEY_NEEDS_AVX2();
  constexpr int64_t kWidth = 64;
  for (int shown = 0; shown < 7; ++shown) {
    for (const int64_t rows : {1, 9}) {
      std::vector<std::vector<float>> results[2];
      int plugin = 0;
      for (const char* path : {MOTLEY_REF_PLUGIN, MOTLEY_CPU_PLUGIN}) {
        const Client client(path, {{"threads", int64_t{2}}});
        Session session(client, 0);
        TestGraph g;
        const auto x_data = RandomFloats(64 * kWidth, 1);
        std::vector<motley_slice> slices;
        std::vector<uint32_t> outputs;
        const auto tensor = [&](bool output) {
          const uint32_t id = g.Tensor(output ? MOTLEY_ROLE_OUTPUT : MOTLEY_ROLE_TEMP, 0, {kTokens, kWidth});
          slices.push_back(output ? session.Alloc(64 * kWidth * 4) : motley_slice{});
          if (output) outputs.push_back(id);
          return id;
        };
        std::vector<std::vector<uint8_t>> bytes;
        const auto weight = [&](std::vector<int64_t> dims) {
          const bool matrix = dims.size() == 2;
          const uint32_t layout = !matrix ? MOTLEY_LAYOUT_F32 : plugin == 0 ? MOTLEY_LAYOUT_STORED : 256;
          const uint32_t id = g.Tensor(MOTLEY_ROLE_WEIGHT, 0, dims, layout);
          bytes.push_back(RandomStored(WeightFormat::kF32, dims[0], matrix ? dims[1] : 1, id + 5));
          slices.push_back(session.LoadWeight(bytes.back(), 0, dims, layout));
          return id;
        };
        const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, 0, {kTokens, kWidth});
        slices.push_back(session.Upload(x_data));
        const uint32_t nw = weight({kWidth}), w1 = weight({kWidth, kWidth}), w2 = weight({kWidth, kWidth});
        const uint32_t w3 = weight({kWidth, kWidth});
        const uint32_t n = tensor(shown == 1), a = tensor(shown == 2), b = tensor(shown == 3), s = tensor(shown == 4);
        const uint32_t c = tensor(shown == 5), twice = tensor(shown == 6), y = tensor(true);
        g.Node(Op::kRMS_NORM, {x, nw}, {n}, {{"eps", 1e-5}});
        g.Node(Op::kLINEAR, {n, w1, MOTLEY_NO_TENSOR}, {a});
        g.Node(Op::kLINEAR, {n, w2, MOTLEY_NO_TENSOR}, {b});
        g.Node(Op::kSWIGLU, {a, b}, {s});
        g.Node(Op::kLINEAR, {s, w3, MOTLEY_NO_TENSOR}, {c});
        g.Node(Op::kADD, {c, c}, {twice});  // both operands are the linear
        g.Node(Op::kADD, {twice, a}, {y});
        motley_program* program = session.Compile(g);
        std::string text;
        ASSERT_EQ(session.Run(program, slices, {rows, 1, 0, 1, 2}, &text), MOTLEY_OK) << text;
        for (const uint32_t id : outputs) {
          results[plugin].emplace_back(static_cast<size_t>(rows * kWidth));
          session.Read(results[plugin].back().data(), {slices[id].buffer, 0, static_cast<uint64_t>(rows * kWidth * 4)});
        }
        ++plugin;
      }
      ASSERT_EQ(results[0].size(), results[1].size());
      for (size_t i = 0; i < results[0].size(); ++i) {
        const std::vector<double> expected(results[0][i].begin(), results[0][i].end());
        EXPECT_LE(Nmse(expected.data(), results[1][i].data(), expected.size()), 1e-10) << "shown " << shown << " " << i;
      }
    }
  }
}

// Vectors come as F32 whatever they are stored in.
TEST(Device, LoadsVectorsOfEveryFloatFormat) {
  MOTLEY_NEEDS_AVX2();
  const Client client(MOTLEY_CPU_PLUGIN, kOneThread);
  Session session(client, 0);
  for (const WeightFormat f : {WeightFormat::kF32, WeightFormat::kF16, WeightFormat::kBF16}) {
    const auto stored = RandomStored(f, 1, 70, 9);
    const auto got = session.Download<float>(session.LoadWeight(stored, static_cast<uint32_t>(f), {70}, MOTLEY_LAYOUT_F32));
    ASSERT_EQ(got.size(), 70u) << Name(f);
    for (int64_t i = 0; i < 70; ++i) {
      EXPECT_EQ(static_cast<double>(got[static_cast<size_t>(i)]), StoredValue(f, stored.data(), i)) << Name(f) << " " << i;
    }
  }
}

// ---- What is refused, and with which words ----------------------------------------------------------------------------

TEST(Device, RefusesWhatItDoesNotHaveAndSaysWhy) {
  MOTLEY_NEEDS_AVX2();
  const Client client(MOTLEY_CPU_PLUGIN, kOneThread);
  const motley_compute& api = *client.api;
  Error err;
  const auto refusal = [&](uint32_t format, uint32_t k_dim, uint32_t v_dim) {
    const motley_kv_desc desc = {sizeof desc, MOTLEY_KV_GQA, format, 64, 2, k_dim, v_dim, 0};
    motley_kv_plan plan{};
    plan.size = sizeof plan;
    EXPECT_EQ(api.kv_plan(client.devices[0], &desc, &plan, &err), MOTLEY_UNIMPLEMENTED);
    return std::string(err.text);
  };
  EXPECT_EQ(refusal(8, 80, 96), "KV pages in Q8_0 need head dims in multiples of 32, not 80 and 96");
  EXPECT_EQ(refusal(2, 64, 40), "KV pages in Q4_0 need head dims in multiples of 32, not 64 and 40");
  EXPECT_EQ(refusal(12, 256, 256), "KV pages in Q4_K are not supported: F32, F16, BF16, Q8_0 and Q4_0 are");

  TestGraph g;
  const uint32_t x = g.Tensor(MOTLEY_ROLE_INPUT, 0, {kTokens, 256}), y = g.Tensor(MOTLEY_ROLE_OUTPUT, 0, {kTokens, 8});
  const uint32_t w = g.Tensor(MOTLEY_ROLE_WEIGHT, 28, {8, 256});  // F64
  g.Node(Op::kLINEAR, {x, w, MOTLEY_NO_TENSOR}, {y});
  motley_verdict verdict{};
  const std::vector<int64_t> at = {1, 1, 1, 1, 2};
  ASSERT_EQ(api.supports(client.devices[0], g.Abi(), at.data(), at.size(), {&verdict, 1, sizeof verdict, 0}, &err), 0);
  EXPECT_EQ(verdict.ok, 0u);
  EXPECT_EQ(verdict.reason, static_cast<uint32_t>(MOTLEY_UNIMPLEMENTED));
  EXPECT_NE(std::string(verdict.text).find("F64"), std::string::npos) << verdict.text;
  EXPECT_NE(std::string(verdict.text).find("Q4_0"), std::string::npos) << verdict.text << ": what there is instead";

  g.tensors[w].dtype = 12;
  g.tensors[w].layout = MOTLEY_LAYOUT_STORED;
  motley_program* program = nullptr;
  EXPECT_EQ(api.compile(client.devices[0], g.Abi(), {nullptr, 0, sizeof(motley_value), 0}, &program, &err),
            MOTLEY_INVALID_ARGUMENT);
  EXPECT_NE(std::string(err.text).find("needs 268"), std::string::npos) << err.text;
}

// 92 layers, 8 KV heads of 128, 65,536 tokens.
TEST(FieldFailure, P01_KvPlanCountsWhatEachFormatTakes) {
  MOTLEY_NEEDS_AVX2();
  const Client client(MOTLEY_CPU_PLUGIN, kOneThread);
  Session session(client, 0);
  struct Case {
    uint32_t format;
    uint64_t mib;
  };
  for (const Case& test : {Case{0, 47104}, Case{1, 23552}, Case{30, 23552}, Case{8, 12512}, Case{2, 6624}}) {
    for (const uint32_t page_tokens : {16u, 64u, 256u}) {
      const uint64_t page_bytes = session.KvPlan(test.format, page_tokens, 8, 128, 128).page_bytes;
      EXPECT_EQ(92 * (65536 / page_tokens) * page_bytes, test.mib << 20) << test.format << " pages of " << page_tokens;
    }
  }
}

TEST(Device, SaysWhatItIs) {
  MOTLEY_NEEDS_AVX2();
  const Client client(MOTLEY_CPU_PLUGIN, {{"threads", int64_t{2}}, {"devices", int64_t{2}}});
  ASSERT_EQ(client.devices.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const motley_device_info info = client.Info(i);
    EXPECT_EQ(info.kind, MOTLEY_DEVICE_CPU);
    EXPECT_EQ(std::string(info.name.data, info.name.size), std::to_string(i));
    EXPECT_EQ(std::string(info.pool.data, info.pool.size), "ram");
    EXPECT_EQ(info.features, MOTLEY_FEATURE_DEVICE_SYNC | MOTLEY_FEATURE_ROW_INVARIANT);
    uint64_t total = 0, available = 0;
    ASSERT_EQ(client.api->device_memory(client.devices[i], &total, &available, nullptr), 0);
    EXPECT_GT(available, 0u);
    EXPECT_LE(available, total);
  }
}

}  // namespace
}  // namespace motley::cpu::test
