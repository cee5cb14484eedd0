// What is measured of devices, through the ABI: on the portable plugin and on the harsh test device.
#include <gtest/gtest.h>

#include "core/engine/device_read.h"
#include "core/engine/linear_loop.h"
#include "core/engine/probe.h"
#include "tests/integration/model_run.h"

namespace motley::test {
namespace {

class MeasureDevices : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    StatusOr<OpenedEngine> opened = OpenDevices();
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    opened_ = *std::move(opened);
    device_ = opened_.backends->Find(GetParam());
    if (device_ == nullptr) GTEST_SKIP() << GetParam() << " was not found in this build";
  }

  OpenedEngine opened_;  // without an engine
  Device* device_ = nullptr;
};

TEST_P(MeasureDevices, ALinearLoopRunsAnyNumberOfRowsUpToItsMost) {
  const auto loop = LinearLoop::Create(*device_, {Format::kQ8_0, 96, 64, 4, 1});
  ASSERT_TRUE(loop.ok()) << loop.status().ToString();
  EXPECT_EQ((*loop)->stored_bytes(), 96u * 64 / 32 * 34);
  EXPECT_EQ((*loop)->operations(4), 2.0 * 96 * 64 * 4);
  for (int64_t tokens : {1, 3, 4}) {
    const auto seconds = (*loop)->Measure(tokens, {0.05, 5, 1000, 0.1}, nullptr);
    ASSERT_TRUE(seconds.ok()) << seconds.status().ToString();
    EXPECT_GT(seconds->median, 0);
  }
  for (int64_t tokens : {0, 5}) {
    EXPECT_EQ((*loop)->Measure(tokens, {}, nullptr).status().code(), Code::kInvalidArgument);
  }
  EXPECT_EQ((*loop)->Measure(1, {}, [] { return true; }).status().code(), Code::kCancelled);
}

TEST_P(MeasureDevices, WhatADeviceDoesNotRunIsUnimplementedWithItsReason) {
  const auto loop = LinearLoop::Create(*device_, {Format::kI8, 64, 64, 1, 1});
  ASSERT_FALSE(loop.ok());
  EXPECT_EQ(loop.status().code(), Code::kUnimplemented) << loop.status().ToString();
  EXPECT_NE(loop.status().message().find(GetParam()), std::string::npos) << loop.status().message();
}

TEST_P(MeasureDevices, ReadingIsMeasuredOverTheSetThatWasAskedFor) {
  for (const uint64_t bytes : {uint64_t{1} << 12, uint64_t{1} << 20}) {
    const auto read = MeasureDeviceRead(*device_, bytes, 0.05, nullptr);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_LE(read->bytes, bytes);
    EXPECT_GE(read->bytes, bytes * 3 / 4);
    EXPECT_GT(read->bytes_per_s.median, 0);
  }
}

TEST_P(MeasureDevices, TheProbeMeasuresLaunchReadsCopiesAndFormats) {
  ProbeOptions options;
  options.seconds = 1.5;
  options.quick = true;
  options.formats = {Format::kQ8_0, Format::kI8, Format::kF32};
  std::vector<std::string> told;
  options.progress = [&](std::string_view what, double) { told.emplace_back(what); };
  Device* const devices[] = {device_};
  const auto result = Probe(devices, options);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_GE(result->reads.size(), 1u);  // base pages at least
  ASSERT_EQ(result->devices.size(), 1u);
  const DeviceProbe& probe = result->devices[0];
  EXPECT_EQ(probe.identity.name, GetParam());
  EXPECT_GT(probe.launch_s.median, 0);
  EXPECT_GT(probe.node_s.runs, 0u);
  EXPECT_FALSE(probe.reads.empty());
  EXPECT_EQ(probe.copies.size(), 4u);
  std::vector<std::pair<Format, int64_t>> rows;
  for (const LinearRow& row : probe.linears) {
    rows.emplace_back(row.format, row.tokens);
    EXPECT_GT(row.seconds.median, 0);
    EXPECT_GT(row.weight_bytes, 0u);
  }
  const std::vector<std::pair<Format, int64_t>> expected = {{Format::kQ8_0, 1},   {Format::kQ8_0, 8},
                                                            {Format::kQ8_0, 512}, {Format::kF32, 1},
                                                            {Format::kF32, 8},    {Format::kF32, 512}};
  EXPECT_EQ(rows, expected);
  bool said = false;  // that I8, which was asked for, is not run
  for (const std::string& notice : result->notices) said = said || notice.find("I8") != std::string::npos;
  EXPECT_TRUE(said);
  EXPECT_GE(told.size(), 5u);
}

TEST_P(MeasureDevices, AnInterruptionEndsTheProbe) {
  ProbeOptions options;
  options.seconds = 2;
  int asked = 0;
  options.cancelled = [&] { return ++asked > 25; };  // past the host's memory
  Device* const devices[] = {device_};
  EXPECT_EQ(Probe(devices, options).status().code(), Code::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(All, MeasureDevices, ::testing::Values("ref:0", "async_device:0"),
                         [](const auto& info) { return std::string(info.param).substr(0, 3); });

}  // namespace
}  // namespace motley::test
