#include "core/base/figure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace motley {
namespace {

TEST(Figure, IsTheMedianWithQuartilesWhateverTheOrder) {
  // numpy.percentile([5, 1, 9, 3, 7], [25, 50, 75]) = 3, 5, 7
  const std::vector<double> odd{5, 1, 9, 3, 7};
  EXPECT_EQ(MakeFigure(odd), (Figure{5, 3, 7, 5}));
  // numpy.percentile([1, 2, 3, 10], [25, 50, 75]) = 1.75, 2.5, 4.75
  const std::vector<double> even{10, 2, 1, 3};
  EXPECT_EQ(MakeFigure(even), (Figure{2.5, 1.75, 4.75, 4}));
  const std::vector<double> one{4};
  EXPECT_EQ(MakeFigure(one), (Figure{4, 4, 4, 1}));
  EXPECT_EQ(MakeFigure({}), Figure{});
}

TEST(Figure, OneDisturbedRunMovesNeitherMedianNorQuartiles) {
  std::vector<double> values(21, 1.0);
  values[7] = 1000;
  EXPECT_EQ(MakeFigure(values), (Figure{1, 1, 1, 21}));
}

TEST(Figure, ARateFromTimesTurnsTheQuartilesRound) {
  const Figure rate = RateOf(100, {2, 1, 4, 3});
  EXPECT_EQ(rate, (Figure{50, 25, 100, 3}));
  EXPECT_EQ(RateOf(100, {}), Figure{});
  EXPECT_EQ(RateOf(100, {0, 0, 0, 5}), Figure{});
}

TEST(Figure, MoreRunsAndLessSpreadMakeTheMedianBetterKnown) {
  EXPECT_EQ(ErrorOfMedian({1, 1, 1, 2}), 1);
  EXPECT_EQ(ErrorOfMedian({0, 0, 0, 100}), 1);
  EXPECT_EQ(ErrorOfMedian({1, 1, 1, 3}), 0);
  // IQR 0.2 of 2: sigma 0.148, over sqrt(25), times 1.2533, over the median.
  EXPECT_NEAR(ErrorOfMedian({2, 1.9, 2.1, 25}), 0.2 / 1.349 * 1.2533 / 5 / 2, 1e-12);
  EXPECT_LT(ErrorOfMedian({2, 1.9, 2.1, 100}), ErrorOfMedian({2, 1.9, 2.1, 25}));
}

}  // namespace
}  // namespace motley
