// The SmolLM2 goldens are whole, and their comparison can fail. The model itself is tested where the engine is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/golden_case.h"

namespace motley::test {
namespace {

// Rows that agree with everything committed about a prompt: the sampled logits, and, spread over the other ids, what
// the mean asks for; the argmax above the rest.
std::vector<float> RowsLike(const SmolGolden& golden, const SmolPrompt& prompt) {
  const size_t n_vocab = golden.n_vocab, n_sample = golden.sample_ids.size();
  std::vector<float> rows(prompt.tokens.size() * n_vocab);
  for (size_t p = 0; p < prompt.tokens.size(); ++p) {
    float* row = &rows[p * n_vocab];
    double sum = 0;
    for (size_t i = 0; i < n_sample; ++i) sum += prompt.sample[p * n_sample + i];
    const double rest = (prompt.mean[p] * static_cast<double>(n_vocab) - sum) / static_cast<double>(n_vocab - n_sample);
    std::fill_n(row, n_vocab, static_cast<float>(rest));
    for (size_t i = 0; i < n_sample; ++i) row[golden.sample_ids[i]] = prompt.sample[p * n_sample + i];
    const float top = *std::max_element(row, row + n_vocab);
    if (row[prompt.argmax[p]] < top) row[prompt.argmax[p]] = top + 1;
  }
  return rows;
}

TEST(SmolGolden, EightPromptsOf64GreedyTokens) {
  const auto golden = LoadSmolGolden();
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  EXPECT_EQ(golden->n_vocab, 49152);
  EXPECT_EQ(golden->sample_ids.size(), 384u);
  ASSERT_EQ(golden->prompts.size(), 8u);
  for (const SmolPrompt& prompt : golden->prompts) {
    ASSERT_EQ(static_cast<int64_t>(prompt.tokens.size()), prompt.n_prompt + 64) << prompt.text;
    for (size_t p = prompt.n_prompt - 1; p + 1 < prompt.tokens.size(); ++p) {
      EXPECT_EQ(prompt.argmax[p], prompt.tokens[p + 1]) << prompt.text << " at " << p;
      EXPECT_GT(prompt.gap[p], 10 * NearTieTolerance("f32").gap) << prompt.text << " at " << p;
    }
  }
}

TEST(SmolGolden, PerplexityScoresAllButTheFirstTokenOfAWindow) {
  const auto golden = LoadSmolGolden();
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  const int64_t n = static_cast<int64_t>(golden->text_tokens.size());
  EXPECT_GT(n, 1800);
  EXPECT_GT(golden->text.size(), 8000u);
  ASSERT_FALSE(golden->perplexity.empty());
  for (const SmolGolden::Perplexity& value : golden->perplexity) {
    EXPECT_EQ(value.scored, n - (n + value.context - 1) / value.context) << value.context;
    EXPECT_GT(value.value, 1);
  }
}

TEST(SmolGolden, CompareSmolCanFail) {
  const auto golden = LoadSmolGolden();
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  const SmolPrompt& prompt = golden->prompts[0];
  const Tolerance tolerance = {1e-4, 1e-3};
  std::vector<float> rows = RowsLike(*golden, prompt);
  EXPECT_TRUE(CompareSmol(*golden, prompt, rows, tolerance).ok) << CompareSmol(*golden, prompt, rows, tolerance).text;

  // Noise of 2 % of a row's spread is an NMSE of 4e-4.
  const size_t n_vocab = golden->n_vocab, at = 20;
  std::vector<float> noisy = rows;
  for (size_t i = 0; i < n_vocab; ++i) {
    noisy[at * n_vocab + i] += (i % 2 ? 0.02f : -0.02f) * std::sqrt(prompt.variance[at]);
  }
  const NearTieReport report = CompareSmol(*golden, prompt, noisy, tolerance);
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.worst_position, static_cast<int64_t>(at));
  EXPECT_NEAR(report.worst_nmse, 4e-4, 1e-4) << report.text;

  // Another argmax, at an id that is not in the sample.
  size_t other = 0;
  const auto taken = [&](int32_t id) {
    return id == prompt.argmax[at] || std::count(golden->sample_ids.begin(), golden->sample_ids.end(), id) > 0;
  };
  while (taken(static_cast<int32_t>(other))) ++other;
  std::vector<float> changed = rows;
  changed[at * n_vocab + other] = rows[at * n_vocab + prompt.argmax[at]] + 1e-3f;
  EXPECT_FALSE(CompareSmol(*golden, prompt, changed, tolerance).ok);

  rows[at * n_vocab + golden->sample_ids[5]] = std::nanf("");
  EXPECT_FALSE(CompareSmol(*golden, prompt, rows, tolerance).ok);
  rows.pop_back();
  EXPECT_FALSE(CompareSmol(*golden, prompt, rows, tolerance).ok);
}

}  // namespace
}  // namespace motley::test
