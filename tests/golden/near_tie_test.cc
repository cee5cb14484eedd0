// near-tie-same: what passes, and, as important, what must not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/near_tie.h"

namespace motley::test {
namespace {

constexpr Tolerance kTolerance = {1e-4, 0.05};

struct Rows {
  std::vector<double> reference = {1, 2, 3, 10,    // gap 7
                                   5, 4.96, 0, 1,  // gap 0.04
                                   0, 1, 4, 2};    // gap 2
  std::vector<float> got = {reference.begin(), reference.end()};
  NearTieReport Compare() const { return CompareLogits(reference, got, 3, 4, kTolerance); }
};

TEST(NearTie, EqualIsSame) {
  const NearTieReport report = Rows().Compare();
  EXPECT_TRUE(report.ok) << report.text;
  EXPECT_LT(report.worst_nmse, 1e-14);
  EXPECT_EQ(report.argmax_changes, 0);
}

TEST(NearTie, AConstantAddedToARowIsCentredAway) {
  Rows rows;
  for (size_t i = 4; i < 8; ++i) rows.got[i] += 100;
  EXPECT_TRUE(rows.Compare().ok) << rows.Compare().text;
}

TEST(NearTie, NmseIsOfTheCentredRow) {
  Rows rows;
  rows.got[8] += 0.4f;  // error 0.4, centred: 0.3, -0.1, -0.1, -0.1: 0.12; power of 0 1 4 2 centred: 8.75
  const NearTieReport report = rows.Compare();
  EXPECT_FALSE(report.ok);
  EXPECT_NEAR(report.worst_nmse, 0.12 / 8.75, 1e-7);
  EXPECT_EQ(report.worst_position, 2);
  EXPECT_NE(report.text.find("position 2"), std::string::npos) << report.text;
}

TEST(NearTie, OneBadPositionAmongManyGoodOnesFails) {
  std::vector<double> reference(1000 * 4);
  for (size_t i = 0; i < reference.size(); ++i) reference[i] = std::sin(static_cast<double>(i));
  std::vector<float> got(reference.begin(), reference.end());
  EXPECT_TRUE(CompareLogits(reference, got, 1000, 4, kTolerance).ok);
  got[4 * 777 + 1] += 0.1f;
  const NearTieReport report = CompareLogits(reference, got, 1000, 4, kTolerance);
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.worst_position, 777);
}

TEST(NearTie, ArgmaxMayChangeAtANearTie) {
  Rows rows;
  rows.got[4] = 4.965f;
  rows.got[5] = 4.97f;
  const NearTieReport report = rows.Compare();
  EXPECT_TRUE(report.ok) << report.text;
  EXPECT_EQ(report.argmax_changes, 1);
  EXPECT_EQ(report.widest_changed_position, 1);
  EXPECT_NEAR(report.widest_changed_gap, 0.04, 1e-12);
}

TEST(NearTie, ArgmaxMayNotChangeAcrossAWiderGap) {
  // A wide row, so that the one logit that is off stays within the NMSE.
  std::vector<double> reference(4096);
  for (size_t i = 0; i < reference.size(); ++i) reference[i] = std::sin(static_cast<double>(i));
  reference[17] = 2;
  reference[99] = 1.9;
  std::vector<float> got(reference.begin(), reference.end());
  got[99] = 2.05f;
  const NearTieReport report = CompareLogits(reference, got, 1, 4096, kTolerance);
  EXPECT_LE(report.worst_nmse, kTolerance.nmse);
  EXPECT_FALSE(report.ok) << report.text;
  EXPECT_NE(report.text.find("TOO WIDE"), std::string::npos) << report.text;
}

TEST(NearTie, WhatIsNotFiniteFails) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (size_t at : {size_t{0}, size_t{5}, size_t{11}}) {
      Rows rows;
      rows.got[at] = bad;
      EXPECT_FALSE(rows.Compare().ok) << bad << " at " << at << ": " << rows.Compare().text;
      Rows reference;
      reference.reference[at] = bad;
      EXPECT_FALSE(reference.Compare().ok) << bad << " in the reference at " << at;
    }
  }
}

TEST(NearTie, ASizeThatDoesNotFitFails) {
  const Rows rows;
  EXPECT_FALSE(CompareLogits(rows.reference, rows.got, 4, 4, kTolerance).ok);
  EXPECT_FALSE(CompareLogits(rows.reference, rows.got, 0, 4, kTolerance).ok);
  EXPECT_FALSE(CompareLogits(rows.reference, std::span(rows.got).first(8), 3, 4, kTolerance).ok);
  EXPECT_FALSE(CompareLogits({}, {}, 0, 0, kTolerance).ok);
}

TEST(NearTie, AConstantReferenceMustBeMetExactly) {
  const std::vector<double> reference(4, 2.0);
  const std::vector<float> same(4, 3.0f), other = {3, 3, 3, 3.1f};
  EXPECT_TRUE(CompareLogits(reference, same, 1, 4, kTolerance).ok);
  EXPECT_FALSE(CompareLogits(reference, other, 1, 4, kTolerance).ok);
}

TEST(NearTie, TolerancesAreThoseOfTheDesign) {
  EXPECT_EQ(NearTieTolerance("f32").nmse, 1e-8);
  EXPECT_EQ(NearTieTolerance("f32").gap, 1e-3);
  EXPECT_EQ(NearTieTolerance("f16").nmse, 1e-5);
  EXPECT_EQ(NearTieTolerance("bf16").gap, 0.1);
  EXPECT_EQ(NearTieTolerance("int8").nmse, 1e-2);
  EXPECT_EQ(NearTieTolerance("fp4").gap, 2.0);
  EXPECT_EQ(NearTieTolerance("F32 perhaps").nmse, 0);
}

TEST(NearTie, TopTwoOfTies) {
  EXPECT_EQ(FindTopTwo(std::vector<double>{3, 1, 3}).argmax, 0);
  EXPECT_EQ(FindTopTwo(std::vector<double>{3, 1, 3}).gap, 0);
  EXPECT_EQ(FindTopTwo(std::vector<double>{1, 5, 3}).argmax, 1);
  EXPECT_EQ(FindTopTwo(std::vector<double>{1, 5, 3}).gap, 2);
}

}  // namespace
}  // namespace motley::test
