// Attention over a long context: what it needs beside the cache, and what `motley plan` says of that.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/integration/model_run.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MOTLEY_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MOTLEY_SANITIZED 1
#endif
#endif
#ifdef MOTLEY_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr char kCpu[] = "cpu_avx512:0";
constexpr int64_t kPrompt = 32768;
constexpr uint64_t kMostWorkspace = 64 << 20;

// Few and narrow heads: the products of 32,768 x 32,768 scores are to take seconds.
TinyModelSpec Narrow(int64_t head_dim) {
  TinyModelSpec spec = *FindTinyModel("llama-tied-f32");
  spec.hidden = 32, spec.ffn = 32, spec.layers = 2, spec.heads = 2, spec.kv_heads = 1, spec.head_dim = head_dim;
  spec.key_length = true;
  return spec;
}

class LongPrompt : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasDevice(kCpu)) GTEST_SKIP() << "skipped: this CPU has no AVX2";
  }
  Config Model(int64_t head_dim, Format kv, int64_t context) {
    const std::string path = (dir_.path() / "narrow.gguf").string();
    EXPECT_TRUE(WriteTinyModel(Narrow(head_dim), path).ok());
    Config config = TestConfig(path, {kCpu});
    config.kv.dtype = kv;
    config.model.context = static_cast<uint64_t>(context);
    return config;
  }

  TempDir dir_;
};

// Attention that kept the scores of a step would need 512 x 32,768 floats a head: 128 MiB.
TEST_F(LongPrompt, Of32768TokensNeedsNoMoreThan64MiBOfWorkspace) {
  if (kSanitized) GTEST_SKIP() << "skipped: half a billion scores take minutes under a sanitizer";
  StatusOr<OpenedEngine> opened = OpenEngine(Model(16, Format::kF16, kPrompt + 8), 1);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  Engine& engine = *opened->engine;
  const PlannedModel& planned = engine.planned();
  EXPECT_LE(planned.compiled->workspace_bytes(0), kMostWorkspace);
  ASSERT_EQ(engine.plan().devices.size(), 1u);
  EXPECT_LE(engine.plan().devices[0].workspace_bytes, kMostWorkspace);
  EXPECT_GE(engine.plan().devices[0].workspace_bytes, planned.compiled->workspace_bytes(0));

  Request request;
  for (int64_t i = 0; i < kPrompt; ++i) request.prompt.push_back(static_cast<int32_t>(3 + i * i % 300));
  request.max_tokens = 4;
  request.ignore_end = true;
  int64_t rows = 0;
  request.on_logits = [&](int64_t position, std::span<const float> logits) {
    EXPECT_EQ(position, kPrompt - 1 + rows++);
    for (const float x : logits) ASSERT_TRUE(std::isfinite(x));
  };
  ASSERT_TRUE(engine.Submit(std::move(request)).ok());
  std::vector<Event> events;
  int64_t tokens = 0;
  while (engine.busy()) {
    ASSERT_TRUE(engine.Step(&events).ok());
    for (const Event& event : events) {
      ASSERT_TRUE(event.error.ok()) << event.error.ToString();
      tokens += event.token >= 0;
    }
  }
  EXPECT_EQ(tokens, 4);
  EXPECT_EQ(rows, 4);
}

// Two layers, one head of 64 keys and 64 values a token: what the format takes and nothing else.
TEST_F(LongPrompt, P01_ThePlanCountsTheCacheOfEveryFormatExactly) {
  struct Case {
    Format format;
    uint64_t row_bytes;  // 64 values
  };
  for (const Case& test : {Case{Format::kF32, 256}, Case{Format::kF16, 128}, Case{Format::kQ8_0, 68}, Case{Format::kQ4_0, 36}}) {
    const StatusOr<OpenedEngine> opened = OpenEngine(Model(64, test.format, kPrompt), 1);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    EXPECT_EQ(opened->engine->plan().devices[0].kv_bytes, 2 * 2 * kPrompt * test.row_bytes) << FormatName(test.format);
  }
}

}  // namespace
}  // namespace motley::test
