#include "core/engine/measure.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(Measure, TheFirstRunWarmsUpAndIsNotCounted) {
  int runs = 0;
  const auto figure =
      Measure({10, 5, 100, 0}, [&]() -> StatusOr<double> { return runs++ == 0 ? 5.0 : 0.25; });
  ASSERT_TRUE(figure.ok());
  EXPECT_EQ(figure->median, 0.25);
  EXPECT_EQ(figure->high, 0.25);
  EXPECT_EQ(static_cast<int>(figure->runs) + 1, runs);
}

TEST(Measure, StopsWhenTheMedianIsKnown) {
  const auto steady = Measure({1000, 5, 10'000, 0.01}, []() -> StatusOr<double> { return 0.001; });
  ASSERT_TRUE(steady.ok());
  EXPECT_EQ(steady->runs, 5u);
  int runs = 0;
  const auto noisy = Measure({1000, 5, 10'000, 0.01},
                             [&]() -> StatusOr<double> { return ++runs % 2 == 0 ? 0.001 : 0.0012; });
  ASSERT_TRUE(noisy.ok());
  EXPECT_GT(noisy->runs, 50u);  // IQR 0.2 of 1.1: 1.25 * 0.13 / sqrt(n) <= 0.01 wants some 290
  EXPECT_LE(ErrorOfMedian(*noisy), 0.01);
}

TEST(Measure, StopsWhenTheTimeIsUp) {
  int runs = 0;
  const auto figure =
      Measure({1, 5, 10'000, 0}, [&]() -> StatusOr<double> { return ++runs % 2 == 0 ? 0.1 : 0.2; });
  ASSERT_TRUE(figure.ok());
  EXPECT_LE(runs, 8);
  EXPECT_GE(figure->runs, 5u);
}

TEST(Measure, ARunThatTakesAllTheTimeIsNotRepeated) {
  int runs = 0;
  const auto figure = Measure({0.3, 5, 100, 0.01}, [&]() -> StatusOr<double> { return ++runs, 7.0; });
  ASSERT_TRUE(figure.ok());
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(*figure, (Figure{7, 7, 7, 1}));
}

TEST(Measure, AFailureEndsIt) {
  int runs = 0;
  const auto figure = Measure({1, 5, 100, 0}, [&]() -> StatusOr<double> {
    if (++runs == 3) return CancelledError("interrupted");
    return 0.001;
  });
  ASSERT_FALSE(figure.ok());
  EXPECT_EQ(figure.status().code(), Code::kCancelled);
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace motley
