#include "core/plan/settle.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace motley {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// Four layers of 100 MiB; the gpu has room for `gpu_mib`.
PlacementProblem Problem(uint64_t gpu_mib) {
  PlacementProblem problem;
  problem.devices = {{"gpu:0", "vram", 1}, {"cpu:0", "ram", 1}};
  problem.pools = {{"vram", gpu_mib * kMiB}, {"ram", 1000 * kMiB}};
  for (int32_t layer = 0; layer < 4; ++layer) {
    problem.model.weights.push_back({static_cast<uint32_t>(layer), {100 * kMiB, 100 * kMiB}});
    problem.model.parts.push_back(
        {{PartKind::kFfn, layer}, {static_cast<uint32_t>(layer)}, {}, {"", ""}, -1, {}});
  }
  return problem;
}

uint64_t PartsOn(const Placement& placement, uint32_t device) {
  return static_cast<uint64_t>(std::count(placement.device.begin(), placement.device.end(), device));
}

TEST(Settle, PlacesAgainWithWhatTheProgramsTake) {
  // Guessed at nothing, three layers fit; their programs take 50 MiB, and so only two do.
  auto problem = Problem(310);
  int rounds = 0;
  const auto placement = SettlePlacement(&problem, [&](const Placement& p) -> StatusOr<WorkBytes> {
    ++rounds;
    return WorkBytes{{PartsOn(p, 0) > 0 ? 50 * kMiB : 0, PartsOn(p, 1) > 0 ? 10 * kMiB : 0}, 5 * kMiB};
  });
  ASSERT_TRUE(placement.ok()) << placement.status().ToString();
  EXPECT_EQ(PartsOn(*placement, 0), 2u);
  EXPECT_EQ(placement->use[0].workspace_bytes, 50 * kMiB);
  EXPECT_EQ(placement->use[1].workspace_bytes, 10 * kMiB);
  EXPECT_EQ(placement->host_bytes, 5 * kMiB);
  EXPECT_EQ(rounds, 2);
}

TEST(Settle, AGuessThatIsTooHighIsNoReasonToPlaceAgain) {
  auto problem = Problem(1000);
  problem.devices[0].workspace_bytes = 100 * kMiB;
  problem.host_bytes = 100 * kMiB;
  int rounds = 0;
  const auto placement = SettlePlacement(&problem, [&](const Placement&) -> StatusOr<WorkBytes> {
    ++rounds;
    return WorkBytes{{7 * kMiB, 0}, 3 * kMiB};
  });
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(rounds, 1);
  EXPECT_EQ(placement->use[0].workspace_bytes, 7 * kMiB);
  EXPECT_EQ(placement->host_bytes, 3 * kMiB);
}

TEST(Settle, ProgramsThatAskForMoreEachTimeStillSettle) {
  // Each time one layer more has to go, for a workspace that is larger the fewer there are. Once, after four
  // rounds of this, the plan was given up as an internal error.
  auto problem = Problem(310);
  problem.model.parts.clear();
  problem.model.weights.clear();
  for (int32_t layer = 0; layer < 30; ++layer) {
    problem.model.weights.push_back({static_cast<uint32_t>(layer), {10 * kMiB, 10 * kMiB}});
    problem.model.parts.push_back(
        {{PartKind::kFfn, layer}, {static_cast<uint32_t>(layer)}, {}, {"", ""}, -1, {}});
  }
  uint64_t rounds = 0;
  const auto placement = SettlePlacement(&problem, [&](const Placement& p) -> StatusOr<WorkBytes> {
    ++rounds;
    const uint64_t here = PartsOn(p, 0), there = PartsOn(p, 1);
    return WorkBytes{{here > 0 ? (310 - 10 * here + 1) * kMiB : 0, there > 0 ? kMiB : 0}, 0};
  });
  ASSERT_TRUE(placement.ok()) << placement.status().ToString();
  EXPECT_GT(rounds, 4u);
  EXPECT_LT(rounds, 10u);
  // What is said is what is taken, and it fits.
  EXPECT_LE(placement->use[0].total(), 310 * kMiB);
  EXPECT_EQ(placement->use[1].workspace_bytes, kMiB);
}

TEST(Settle, WithoutEndItIsAMatterOfRoom) {
  auto problem = Problem(310);
  uint64_t ask = 200 * kMiB;
  const auto placement = SettlePlacement(&problem, [&](const Placement&) -> StatusOr<WorkBytes> {
    ask *= 3;
    return WorkBytes{{ask, ask}, 0};
  });
  ASSERT_FALSE(placement.ok());
  EXPECT_EQ(placement.status().code(), Code::kResourceExhausted);
}

TEST(Settle, AFailureToMeasureEndsIt) {
  auto problem = Problem(310);
  const auto placement = SettlePlacement(
      &problem, [](const Placement&) -> StatusOr<WorkBytes> { return InternalError("compile"); });
  ASSERT_FALSE(placement.ok());
  EXPECT_EQ(placement.status().code(), Code::kInternal);
}

}  // namespace
}  // namespace motley
