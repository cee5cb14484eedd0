#include "core/base/status.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

StatusOr<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgumentError("n = " + std::to_string(n) + ": must be even");
  return n / 2;
}

StatusOr<int> Quarter(int n) {
  MOTLEY_ASSIGN_OR_RETURN(int half, Half(n));
  return Half(half);
}

TEST(Status, CarriesCodeAndMessage) {
  const Status status = NotFoundError("no file x");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.ToString(), "NOT_FOUND: no file x");
  EXPECT_EQ(status.WithPrefix("load").message(), "load: no file x");
  EXPECT_TRUE(OkStatus().WithPrefix("load").ok());
}

TEST(StatusOr, PropagatesTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "n = 3: must be even");
}

}  // namespace
}  // namespace motley
