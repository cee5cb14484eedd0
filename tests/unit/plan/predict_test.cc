#include "core/plan/predict.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

Figure Exactly(double value) {
  return {value, value, value, 9};
}

// 1 us a launch, 0.1 us a node; a weight of 1000 elements takes 1 us for one row, 1 us more for each further
// row up to 8, and then only a quarter of that.
DeviceProbe Probe() {
  DeviceProbe probe;
  probe.identity.name = "gpu:0";
  probe.launch_s = Exactly(1e-6);
  probe.node_s = Exactly(0.1e-6);
  probe.reads = {{1 << 20, Exactly(100e9)}, {1 << 30, Exactly(10e9)}};
  probe.copies = {
      {true, 1000, Exactly(10e-6)}, {true, 1'001'000, Exactly(1010e-6)}, {false, 1000, Exactly(20e-6)}};
  probe.linears = {{Format::kQ8_0, 8, 10, 100, 1, Exactly(8e-6)},
                   {Format::kQ8_0, 1, 10, 100, 1, Exactly(1e-6)},
                   {Format::kQ8_0, 512, 20, 100, 1, Exactly(2 * 134e-6)}};
  return probe;
}

SegmentWork Linear(Format format, bool outputs_only = false) {
  SegmentWork work;
  work.linears = {{format, 100, 100, outputs_only, 3, 0}};  // 30,000 elements
  work.nodes = 4;
  return work;
}

TEST(Predict, ALinearNodeTakesItsElementsShareOfWhatWasMeasured) {
  const double fixed = 1e-6 + 3 * 0.1e-6;
  const auto seconds = [&](int64_t tokens) {
    return PredictSegment(Linear(Format::kQ8_0), Probe(), {tokens, 1, 0}).seconds - fixed;
  };
  EXPECT_NEAR(seconds(1), 30 * 1e-6, 1e-12);
  EXPECT_NEAR(seconds(8), 30 * 8e-6, 1e-12);
  EXPECT_NEAR(seconds(4), 30 * 4e-6, 1e-12);       // halfway on the line from 1 to 8
  EXPECT_NEAR(seconds(260), 30 * 71e-6, 1e-12);    // 8 + 252/504 * 126
  EXPECT_NEAR(seconds(1024), 30 * 268e-6, 1e-11);  // beyond the last: twice the rows, twice the time
}

TEST(Predict, TheHeadCountsForTheRowsOfLogitsAlone) {
  const auto head = PredictSegment(Linear(Format::kQ8_0, true), Probe(), {512, 1, 0});
  EXPECT_NEAR(head.seconds, 1.3e-6 + 30 * 1e-6, 1e-12);
  EXPECT_TRUE(head.guesses.empty());
}

TEST(Predict, TheCacheIsReadAtTheRateOfItsSize) {
  SegmentWork work;
  work.kv_bytes_per_token = 1000;
  work.nodes = 1;
  EXPECT_NEAR(PredictSegment(work, Probe(), {1, 1, 1000}).seconds, 1e-6 + 1e6 / 100e9, 1e-12);
  EXPECT_NEAR(PredictSegment(work, Probe(), {1, 1, 100'000}).seconds, 1e-6 + 1e8 / 10e9, 1e-9);
  EXPECT_NEAR(PredictSegment(work, Probe(), {1, 1, 10'000'000}).seconds, 1e-6 + 1e10 / 10e9,
              1e-6);  // beyond all
}

TEST(Predict, WhatWasNotMeasuredIsSaid) {
  const auto other = PredictSegment(Linear(Format::kQ6_K), Probe(), {1, 1, 0});
  EXPECT_TRUE(other.possible);
  ASSERT_EQ(other.guesses.size(), 1u);
  EXPECT_NE(other.guesses[0].find("Q6_K was not measured: taken as Q8_0"), std::string::npos);
  const auto nothing = PredictSegment(Linear(Format::kQ6_K), DeviceProbe(), {1, 1, 0});
  EXPECT_FALSE(nothing.possible);
  EXPECT_FALSE(nothing.guesses.empty());
}

TEST(Predict, AnUnmeasuredFormatIsTakenAsTheNearestInSize) {
  DeviceProbe probe = Probe();
  probe.linears.push_back({Format::kQ4_K, 1, 10, 100, 1, Exactly(0.5e-6)});
  const auto five =
      PredictSegment(Linear(Format::kQ5_K), probe, {1, 1, 0});  // 5.5 bits: nearer to 4.5 than to 8.5
  EXPECT_NE(five.guesses.at(0).find("taken as Q4_K"), std::string::npos);
  EXPECT_NEAR(five.seconds, 1.3e-6 + 30 * 0.5e-6, 1e-12);
}

TEST(Predict, ACopyIsLatencyAndBandwidth) {
  EXPECT_NEAR(CopySeconds(Probe(), true, 500), 10e-6, 1e-12);
  EXPECT_NEAR(CopySeconds(Probe(), true, 501'000), 510e-6, 1e-9);
  EXPECT_NEAR(CopySeconds(Probe(), false, 500), 20e-6, 1e-12);
  EXPECT_NEAR(CopySeconds(Probe(), false, 3000), 60e-6, 1e-12);  // one size alone: in proportion
  EXPECT_EQ(CopySeconds(DeviceProbe(), true, 1000), 0);
}

}  // namespace
}  // namespace motley
