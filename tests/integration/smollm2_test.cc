// SmolLM2-135M-Instruct, a real model, against a float32 torch model with the same dequantised weights.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/integration/cached_file.h"
#include "tests/integration/model_run.h"
#include "tests/support/golden_case.h"

namespace motley::test {
namespace {

// A sanitizer looks for faults of memory, which one prompt and one window show as well as all of them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class SmolLM2 : public ::testing::TestWithParam<std::string> {};

TEST_P(SmolLM2, PromptsAreNearTieSameAsTorch) {
  const std::string device = GetParam();
  const std::string path = TestModel().string();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "skipped: no SmolLM2 in the cache; tools/check fetches it";
  if (!HasDevice(device)) GTEST_SKIP() << "skipped: no " << device << " on this CPU";
  const StatusOr<SmolGolden> golden = LoadSmolGolden();
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  ASSERT_EQ(golden->prompts.size(), 8u);
  Config config = TestConfig(path, {device});
  config.model.context = 1024;
  const StatusOr<OpenedEngine> opened = OpenEngine(config);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const Tolerance tolerance = NearTieTolerance(device == "cpu_avx512:0" ? "int8" : "f32");
  // The portable kernels are slow: two prompts of eight, one where each is copied besides.
  size_t count = device == "ref:0" ? 2 : device == "async_device:0" ? 1 : golden->prompts.size();
  if (kSanitized) count = 1;
  for (size_t p = 0; p < count; ++p) {
    const SmolPrompt& prompt = golden->prompts[p];
    const StatusOr<std::vector<float>> got = Logits(*opened->engine, prompt.tokens);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    const NearTieReport report = CompareSmol(*golden, prompt, *got, tolerance);
    EXPECT_TRUE(report.ok) << prompt.text << ": " << report.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SmolLM2, ::testing::Values("ref:0", "cpu_avx512:0", "async_device:0"), [](const auto& info) {
  return info.param.substr(0, info.param.find(':'));
});

TEST(SmolLM2Perplexity, IsWithinHalfAPercentOfTorch) {
  const std::string path = TestModel().string();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "skipped: no SmolLM2 in the cache; tools/check fetches it";
  if (!HasDevice("cpu_avx512:0")) GTEST_SKIP() << "skipped: no cpu_avx512 on this CPU";
  const StatusOr<SmolGolden> golden = LoadSmolGolden();
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  ASSERT_FALSE(golden->perplexity.empty());
  Config config = TestConfig(path, {"cpu_avx512:0"});
  config.model.context = 2048;
  const StatusOr<OpenedEngine> opened = OpenEngine(config);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  for (const SmolGolden::Perplexity& expected : golden->perplexity) {
    if (kSanitized && expected.context != 512) continue;
    double sum = 0;
    int64_t scored = 0;
    const auto total = static_cast<int64_t>(golden->text_tokens.size());
    for (int64_t begin = 0; begin < total; begin += expected.context) {
      const int64_t end = std::min(begin + expected.context, total);
      const std::vector<int32_t> window(golden->text_tokens.begin() + begin, golden->text_tokens.begin() + end);
      const StatusOr<std::vector<float>> logits = Logits(*opened->engine, window);
      ASSERT_TRUE(logits.ok()) << logits.status().ToString();
      for (size_t i = 0; i + 1 < window.size(); ++i) {
        const float* row = logits->data() + static_cast<int64_t>(i) * golden->n_vocab;
        double partition = 0, top = row[0];
        for (int64_t v = 1; v < golden->n_vocab; ++v) top = std::max<double>(top, row[v]);
        for (int64_t v = 0; v < golden->n_vocab; ++v) partition += std::exp(row[v] - top);
        sum += std::log(partition) + top - row[window[i + 1]];
        ++scored;
      }
    }
    EXPECT_EQ(scored, expected.scored);
    const double perplexity = std::exp(sum / static_cast<double>(scored));
    // A window's first token is an outlier that int8 activations round coarsely; short windows have more of them.
    const double tolerance = expected.context >= 512 ? 0.005 : 0.01;
    EXPECT_NEAR(perplexity / expected.value, 1.0, tolerance) << perplexity << " against " << expected.value;
    RecordProperty("perplexity", std::to_string(perplexity));
  }
}

}  // namespace
}  // namespace motley::test
