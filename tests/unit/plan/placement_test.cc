#include "core/plan/placement.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// Layers of 100 MiB (attention 40, ffn 60, KV 10) between an embedding of 50 that the head shares, on devices that
// run everything.
PlacementProblem Problem(int layers, std::vector<PlanDevice> devices, std::vector<PlanPool> pools) {
  PlacementProblem problem;
  problem.devices = std::move(devices);
  problem.pools = std::move(pools);
  const size_t n = problem.devices.size();
  auto part = [&](Part what, std::vector<uint32_t> weights) {
    PlanPart p{what, std::move(weights), {}, std::vector<std::string>(n), -1};
    if (what.kind == PartKind::kKv) p.kv_bytes.assign(n, 10 * kMiB);
    problem.model.parts.push_back(std::move(p));
  };
  auto weight = [&](uint64_t mib) {
    problem.model.weights.push_back({0, std::vector<uint64_t>(n, mib * kMiB)});
    return static_cast<uint32_t>(problem.model.weights.size() - 1);
  };
  const uint32_t embedding = weight(50);
  part({PartKind::kEmbed}, {embedding});
  for (int layer = 0; layer < layers; ++layer) {
    part({PartKind::kAttention, layer}, {weight(40)});
    part({PartKind::kKv, layer}, {});
    part({PartKind::kFfn, layer}, {weight(60)});
  }
  part({PartKind::kHead}, {embedding});
  return problem;
}

uint32_t DeviceOf(const PlacementProblem& problem, const Placement& placement, Part part) {
  for (size_t i = 0; i < problem.model.parts.size(); ++i) {
    if (problem.model.parts[i].part == part) return placement.device[i];
  }
  ADD_FAILURE() << "no such part";
  return ~0u;
}

TEST(Place, FillsThePreferredDeviceAndCountsASharedWeightOnce) {
  const auto problem = Problem(2, {{"gpu:0", "vram", 5 * kMiB}, {"cpu:0", "ram", 5 * kMiB}},
                               {{"vram", 1000 * kMiB}, {"ram", 1000 * kMiB}});
  const auto placement = Place(problem);
  ASSERT_TRUE(placement.ok()) << placement.status().ToString();
  EXPECT_EQ(placement->use[0].weight_bytes, 250 * kMiB);
  EXPECT_EQ(placement->use[0].kv_bytes, 20 * kMiB);
  EXPECT_EQ(placement->use[0].workspace_bytes, 5 * kMiB);
  EXPECT_EQ(placement->use[1].total(), 0u);
}

TEST(Place, SpillsToTheNextDeviceAndNeverComesBack) {
  auto problem = Problem(4, {{"gpu:0", "vram", 0}, {"cpu:0", "ram", 0}}, {{"vram", 300 * kMiB}, {"ram", 1000 * kMiB}});
  const auto placement = Place(problem);
  ASSERT_TRUE(placement.ok()) << placement.status().ToString();
  EXPECT_EQ(DeviceOf(problem, *placement, {PartKind::kAttention, 1}), 0u);
  EXPECT_EQ(DeviceOf(problem, *placement, {PartKind::kFfn, 2}), 1u);
  EXPECT_EQ(DeviceOf(problem, *placement, {PartKind::kKv, 3}), 1u);
  EXPECT_LE(placement->use[0].total(), 300 * kMiB);
}

TEST(Place, KeepsTheMarginOfEachPoolFree) {
  auto problem = Problem(2, {{"gpu:0", "vram", 0}, {"cpu:0", "ram", 0}}, {{"vram", 280 * kMiB}, {"ram", 900 * kMiB}});
  problem.margin_bytes = 50 * kMiB;
  const auto placement = Place(problem);
  ASSERT_TRUE(placement.ok());
  EXPECT_LE(placement->use[0].total(), 230 * kMiB);
}

TEST(Place, CountsAPoolThatTwoDevicesShareOnce) {
  // P05: 270 MiB do not fit twice into one pool of 300.
  auto problem = Problem(2, {{"gpu:0", "ram", 0}, {"cpu:0", "ram", 0}}, {{"ram", 200 * kMiB}});
  const auto placement = Place(problem);
  ASSERT_FALSE(placement.ok());
  EXPECT_EQ(placement.status().code(), Code::kResourceExhausted);
}

TEST(FieldFailure, P02_PinsAreConstraintsAndTheRestIsSolved) {
  auto problem = Problem(4, {{"gpu:0", "vram", 0}, {"cpu:0", "ram", 0}}, {{"vram", 300 * kMiB}, {"ram", 1000 * kMiB}});
  problem.pins = {{"layers.0.ffn", "cpu:0", "--pin"}};
  problem.model.parts[3].pin = 0;
  const auto placement = Place(problem);
  ASSERT_TRUE(placement.ok()) << placement.status().ToString();
  EXPECT_EQ(DeviceOf(problem, *placement, {PartKind::kFfn, 0}), 1u);
  EXPECT_EQ(DeviceOf(problem, *placement, {PartKind::kFfn, 1}), 0u);  // the room goes to what is free
}

TEST(FieldFailure, P02_SaysHowManyBytesAreShortAndWhere) {
  const auto problem = Problem(4, {{"gpu:0", "vram", 0}}, {{"vram", 300 * kMiB}});
  const auto placement = Place(problem);
  ASSERT_FALSE(placement.ok());
  // 50 + 4 x 110 = 490 MiB into 300.
  EXPECT_NE(placement.status().message().find("short 190 MiB in pool vram"), std::string::npos)
      << placement.status().message();
}

TEST(Place, RefusesAPinOnADeviceThatCannotRunThePart) {
  auto problem = Problem(1, {{"gpu:0", "vram", 0}, {"cpu:0", "ram", 0}}, {{"vram", 900 * kMiB}, {"ram", 900 * kMiB}});
  problem.pins = {{"layers.0.ffn", "gpu:0", "x.toml:3:8"}};
  problem.model.parts[3].pin = 0;
  problem.model.parts[3].refusals[0] = "no Q9_X";
  const auto placement = Place(problem);
  ASSERT_FALSE(placement.ok());
  EXPECT_NE(placement.status().message().find("x.toml:3:8"), std::string::npos);
  EXPECT_NE(placement.status().message().find("no Q9_X"), std::string::npos);
}

TEST(Place, GoesAroundADeviceThatCannotRunOnePart) {
  auto problem = Problem(2, {{"gpu:0", "vram", 0}, {"cpu:0", "ram", 0}}, {{"vram", 900 * kMiB}, {"ram", 900 * kMiB}});
  problem.model.parts[3].refusals[0] = "no Q9_X";
  const auto placement = Place(problem);
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(DeviceOf(problem, *placement, {PartKind::kFfn, 0}), 1u);
  EXPECT_EQ(DeviceOf(problem, *placement, {PartKind::kAttention, 1}), 0u);
}

TEST(Place, ACacheIsWhereItsAttentionIs) {
  auto problem = Problem(1, {{"gpu:0", "vram", 0}, {"cpu:0", "ram", 0}}, {{"vram", 900 * kMiB}, {"ram", 900 * kMiB}});
  problem.pins = {{"layers.0.attention", "gpu:0", "a"}, {"layers.0.kv", "cpu:0", "b"}};
  problem.model.parts[1].pin = 0;
  problem.model.parts[2].pin = 1;
  const auto placement = Place(problem);
  ASSERT_FALSE(placement.ok());
  EXPECT_EQ(placement.status().code(), Code::kInvalidArgument);
}

TEST(Place, NamesEveryDevicesReasonWhereNoneRunsAPart) {
  auto problem = Problem(1, {{"gpu:0", "vram", 0}, {"cpu:0", "ram", 0}}, {{"vram", 900 * kMiB}, {"ram", 900 * kMiB}});
  problem.model.parts[1].refusals = {"too old", "too small"};
  const auto placement = Place(problem);
  ASSERT_FALSE(placement.ok());
  EXPECT_NE(placement.status().message().find("gpu:0: too old; cpu:0: too small"), std::string::npos)
      << placement.status().message();
}

TEST(Place, AnotherDeviceTakesWhatIsTooLargeForOneBuffer) {
  auto problem = Problem(2, {{"gpu:0", "vram", 0, 50 * kMiB}, {"cpu:0", "ram", 0}},
                         {{"vram", 900 * kMiB}, {"ram", 900 * kMiB}});
  for (PlanPart& part : problem.model.parts) part.largest = {10 * kMiB, 10 * kMiB};
  problem.model.parts[3].largest[0] = 60 * kMiB;  // layers.0.ffn
  const auto placement = Place(problem);
  ASSERT_TRUE(placement.ok()) << placement.status().ToString();
  EXPECT_EQ(DeviceOf(problem, *placement, {PartKind::kAttention, 0}), 0u);
  EXPECT_EQ(DeviceOf(problem, *placement, {PartKind::kFfn, 0}), 1u);
}

TEST(Place, SaysWhichBufferIsTooLargeAndByHowMuch) {
  auto problem = Problem(1, {{"gpu:0", "vram", 0, 50 * kMiB}}, {{"vram", 900 * kMiB}});
  problem.model.parts[2].largest = {80 * kMiB};  // layers.0.kv
  const auto placement = Place(problem);
  ASSERT_FALSE(placement.ok());
  EXPECT_EQ(placement.status().code(), Code::kResourceExhausted);  // so that a smaller context is tried
  EXPECT_NE(placement.status().message().find("layers.0.kv needs one buffer of 80 MiB, and gpu:0 gives at most 50 MiB"),
            std::string::npos)
      << placement.status().message();
}

TEST(Place, CountsTheHostsOwnMemoryInItsPool) {
  // 160 MiB of the model's parts and 30 of the host's.
  auto problem = Problem(1, {{"cpu:0", "ram", 0}}, {{"ram", 189 * kMiB}});
  ASSERT_TRUE(Place(problem).ok());
  problem.host_pool = "ram";
  problem.host_bytes = 30 * kMiB;
  const auto placement = Place(problem);
  ASSERT_FALSE(placement.ok());
  EXPECT_NE(placement.status().message().find("short 1 MiB in pool ram"), std::string::npos)
      << placement.status().message();
  // Where the devices' memory is another's, the host's must still be there.
  auto elsewhere = Problem(1, {{"gpu:0", "vram", 0}}, {{"vram", 900 * kMiB}, {"ram", 20 * kMiB}});
  elsewhere.host_pool = "ram";
  elsewhere.host_bytes = 30 * kMiB;
  EXPECT_NE(Place(elsewhere).status().message().find("short 10 MiB in pool ram"), std::string::npos);
}

}  // namespace
}  // namespace motley
