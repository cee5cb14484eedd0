#include "core/engine/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace motley {
namespace {

constexpr int kVocab = 5;

std::map<int32_t, int> Draw(const SamplingParams& params, std::vector<float> logits, int times,
                            const std::vector<bool>& seen = {}) {
  Sampler sampler(kVocab);
  std::map<int32_t, int> counts;
  for (int i = 0; i < times; ++i) {
    std::vector<float> row = logits;
    counts[*sampler.Sample(row, params, seen, 1, static_cast<uint64_t>(i))]++;
  }
  return counts;
}

const std::vector<float> kLogits = {std::log(0.5f), std::log(0.3f), std::log(0.1f), std::log(0.06f), std::log(0.04f)};

TEST(Sampler, TemperatureZeroTakesTheLikeliestAndTheLowerIdOfEquals) {
  EXPECT_EQ(Draw({}, {1, 3, 3, 0, 2}, 1).begin()->first, 1);
}

TEST(Sampler, DrawsInProportion) {
  SamplingParams params;
  params.temperature = 1;
  auto counts = Draw(params, kLogits, 20000);
  EXPECT_NEAR(counts[0] / 20000.0, 0.5, 0.02);
  EXPECT_NEAR(counts[1] / 20000.0, 0.3, 0.02);
  EXPECT_NEAR(counts[4] / 20000.0, 0.04, 0.01);
}

TEST(Sampler, TopKTopPMinPCutTheTail) {
  SamplingParams params;
  params.temperature = 1;
  params.top_k = 2;
  EXPECT_EQ(Draw(params, kLogits, 500).size(), 2u);
  params.top_k = 0;
  params.top_p = 0.75;  // 0.5 + 0.3 reaches it
  EXPECT_EQ(Draw(params, kLogits, 500).size(), 2u);
  params.top_p = 1;
  params.min_p = 0.19;  // 0.1 / 0.5 = 0.2 stays, 0.06 / 0.5 goes
  EXPECT_EQ(Draw(params, kLogits, 500).size(), 3u);
}

TEST(Sampler, PenaltyAndBiasChangeTheChoice) {
  SamplingParams params;
  params.repeat_penalty = 2;
  EXPECT_EQ(Draw(params, {3, 2, 0, 0, 0}, 1, {true, false, false, false, false}).begin()->first, 1);
  SamplingParams biased;
  biased.logit_bias = {{4, 10.0f}};
  EXPECT_EQ(Draw(biased, {3, 2, 0, 0, 0}, 1).begin()->first, 4);
}

TEST(Sampler, TheDrawDependsOnSeedSequenceAndPositionAlone) {
  EXPECT_EQ(RandomUnit(1, 2, 3), RandomUnit(1, 2, 3));
  EXPECT_NE(RandomUnit(1, 2, 3), RandomUnit(2, 2, 3));
  EXPECT_NE(RandomUnit(1, 2, 3), RandomUnit(1, 3, 3));
  EXPECT_NE(RandomUnit(1, 2, 3), RandomUnit(1, 2, 4));
  double sum = 0;
  for (uint64_t i = 0; i < 10000; ++i) sum += RandomUnit(9, 1, i);
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(FieldFailure, T04_PaddedIdsCannotBeChosen) {
  Sampler sampler(3);
  std::vector<float> row = {0, 1, 0, 99, 99};
  EXPECT_EQ(*sampler.Sample(row, {}, {}, 1, 1), 1);
}

TEST(FieldFailure, M13_NaNIsAnErrorOfThatRowAlone) {
  Sampler sampler(3);
  std::vector<float> bad = {0, std::numeric_limits<float>::quiet_NaN(), 1};
  EXPECT_EQ(sampler.Sample(bad, {}, {}, 1, 1).status().code(), Code::kDataLoss);
  std::vector<float> good = {0, 1, 0};
  EXPECT_EQ(*sampler.Sample(good, {}, {}, 1, 1), 1);
}

TEST(FieldFailure, S03_ParametersOutOfRangeAreNamed) {
  auto message = [](auto set) {
    SamplingParams params;
    set(params);
    return CheckSampling(params, kVocab).message();
  };
  EXPECT_NE(message([](auto& p) { p.temperature = 999999; }).find("temperature"), std::string::npos);
  EXPECT_NE(message([](auto& p) { p.temperature = std::nan(""); }).find("temperature"), std::string::npos);
  EXPECT_NE(message([](auto& p) { p.top_p = -1; }).find("top_p"), std::string::npos);
  EXPECT_NE(message([](auto& p) { p.top_p = 0; }).find("top_p"), std::string::npos);
  EXPECT_NE(message([](auto& p) { p.min_p = 2; }).find("min_p"), std::string::npos);
  EXPECT_NE(message([](auto& p) { p.repeat_penalty = 0; }).find("repeat_penalty"), std::string::npos);
  EXPECT_NE(message([](auto& p) { p.logit_bias = {{1000000000, 1.0f}}; }).find("logit_bias"), std::string::npos);
  EXPECT_TRUE(CheckSampling({}, kVocab).ok());
}

}  // namespace
}  // namespace motley
