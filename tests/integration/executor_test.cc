// The executor on real plugins with a graph made by hand: overlap, counts, failures.
#include "core/sched/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/graph/builder.h"
#include "core/model/gguf.h"
#include "tests/integration/model_run.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

constexpr int64_t kRows = 4, kWidth = 8;

// Two branches that share nothing but the step's token: y[i] = w[token] + w[token] on device i.
struct TwoBranches {
  TempDir dir;
  GraphLimits limits;
  std::unique_ptr<WeightsFile> file;  // one weight, w[r][c] = 10 r + c
  ModelFiles tiny_files;              // for its rope table alone
  ModelGraph model;
  TensorId y[2] = {kNoTensor, kNoTensor};

  TwoBranches() {
    std::vector<float> weight;
    for (int64_t i = 0; i < kRows * kWidth; ++i) weight.push_back(static_cast<float>(10 * (i / kWidth) + i % kWidth));
    GgufWriter writer;
    writer.SetString("general.architecture", "none");
    writer.AddTensor("w", Format::kF32, {kWidth, kRows},
                     {reinterpret_cast<const char*>(weight.data()), weight.size() * sizeof(float)});
    writer.Write(dir.path() / "w.gguf");
    file = *GgufFile::Open((dir.path() / "w.gguf").string());

    const std::string tiny_path = (dir.path() / "tiny.gguf").string();
    EXPECT_TRUE(WriteTinyModel(*FindTinyModel("llama-tied-f32"), tiny_path).ok());
    Logger logger(LogLevel::kError);
    tiny_files = *OpenModel(tiny_path, logger);

    limits.max_tokens = 4;
    GraphBuilder builder(limits.Max());
    model.step.token = builder.Step("token", Format::kI32, {DimOf(Symbol::kTokens)});
    for (int32_t i = 0; i < 2; ++i) {
      builder.SetPart({PartKind::kAttention, i}, "branch." + std::to_string(i));
      const TensorId w = builder.Weight("w", Format::kF32, {kRows, kWidth});
      const TensorId x = builder.Add(Op::kEMBED, "x", {model.step.token, w});
      y[i] = builder.Add(Op::kADD, "y", {x, x});
      builder.MarkOutput(y[i]);
    }
    model.graph = *std::move(builder).Finish();
  }
};

// Two async devices with these options, the branches compiled and loaded.
struct Running {
  Logger logger{LogLevel::kError};
  Host host{logger, HostOptions{.threads = 2}};
  std::unique_ptr<Backends> backends;
  std::vector<DeviceProfile> profiles;
  std::unique_ptr<CompiledGraph> compiled;
  std::vector<std::unique_ptr<ResidentTensors>> residents;
  std::unique_ptr<StepData> step;
  std::unique_ptr<Executor> executor;

  Status Open(const TwoBranches& branches, std::vector<OptionSetting> options) {
    Config config;
    config.plugins.path = {MOTLEY_TEST_PLUGIN_FOLDER};
    config.plugin["async_device"].options = std::move(options);
    MOTLEY_ASSIGN_OR_RETURN(backends, OpenBackends(config, host, logger, "", TestVerdictFolder()));
    LoadRequest load{&branches.model, branches.file.get(), &branches.limits, {}, {0, 0, 1, 1}};
    PlacedGraph placed{&branches.model.graph, {}, {}, load.node_device};
    for (const char* name : {"async_device:0", "async_device:1"}) {
      Device* device = backends->Find(name);
      if (device == nullptr) return NotFoundError(name);
      MOTLEY_ASSIGN_OR_RETURN(DeviceProfile profile,
                              ProfileDevice(*device, branches.model, *branches.file, branches.limits));
      profiles.push_back(std::move(profile));
    }
    for (const DeviceProfile& profile : profiles) {
      load.devices.push_back(&profile);
      placed.devices.push_back(profile.device);
      placed.details.push_back(profile.details);
    }
    MOTLEY_ASSIGN_OR_RETURN(CompiledGraph graph, CompiledGraph::Compile(placed));
    compiled = std::make_unique<CompiledGraph>(std::move(graph));
    MOTLEY_ASSIGN_OR_RETURN(residents, LoadTensors(load, nullptr));
    step = std::make_unique<StepData>(branches.limits, branches.model.step, branches.tiny_files.model->rope());
    MOTLEY_ASSIGN_OR_RETURN(executor, Executor::Create(*compiled, residents, *step));
    return OkStatus();
  }

  Status Run(std::vector<int32_t> tokens) {
    step->Clear();
    MOTLEY_RETURN_IF_ERROR(step->AddSequence(0, 0, tokens, StepData::Outputs::kNone));
    return executor->Run();
  }
};

TEST(Executor, BranchesOnTwoDevicesGiveTheirRows) {
  TwoBranches branches;
  Running running;
  ASSERT_TRUE(running.Open(branches, {}).ok());
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(running.Run({3, 1}).ok());
    for (TensorId y : branches.y) {
      const std::span<const float> got = running.executor->output(y);
      ASSERT_EQ(got.size(), 2u * kWidth);
      EXPECT_EQ(got[0], 60);
      EXPECT_EQ(got[kWidth + 7], 34);
    }
  }
}

TEST(Executor, IndependentSegmentsAreInFlightTogether) {
  TwoBranches branches;
  Running running;
  ASSERT_TRUE(running.Open(branches, {{"execute_ms", int64_t{40}, "test"}, {"delay_us", int64_t{0}, "test"}}).ok());
  double best_ms = 1e9;  // of a few, as others use this machine too
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(running.Run({1}).ok());
    const auto spent = std::chrono::steady_clock::now() - start;
    best_ms = std::min(best_ms, std::chrono::duration<double, std::milli>(spent).count());
  }
  EXPECT_GE(best_ms, 40.0);  // the sleeps were there
  EXPECT_LT(best_ms, 80.0);  // which is what they take one after the other
}

TEST(Executor, OneExecuteASegmentAStep) {
  TwoBranches branches;
  Running running;
  ASSERT_TRUE(running.Open(branches, {}).ok());
  for (int round = 0; round < 5; ++round) ASSERT_TRUE(running.Run({0, 1, 2}).ok());
  EXPECT_EQ(running.executor->stats().steps, 5u);
  EXPECT_EQ(running.executor->stats().executes, 10u);
}

TEST(Executor, AFailedExecuteEndsTheStepAndTheNextOneWorks) {
  TwoBranches branches;
  Running running;
  ASSERT_TRUE(running.Open(branches, {{"fail_at", int64_t{3}, "test"}}).ok());
  ASSERT_TRUE(running.Run({1}).ok());  // executes 1 and 2
  const Status failed = running.Run({1});
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find("async_device"), std::string::npos) << failed.ToString();
  ASSERT_TRUE(running.Run({2}).ok());
  EXPECT_EQ(running.executor->output(branches.y[0])[0], 40);
}

TEST(FieldFailure, R03_ATokenOutOfRangeFailsTheStepAlone) {
  TwoBranches branches;
  Running running;
  ASSERT_TRUE(running.Open(branches, {}).ok());
  for (int32_t bad : {int32_t{kRows}, -1, INT32_MAX}) {
    const Status failed = running.Run({bad});
    ASSERT_FALSE(failed.ok()) << bad;
    ASSERT_TRUE(running.Run({2}).ok());
    EXPECT_EQ(running.executor->output(branches.y[1])[0], 40);
  }
}

TEST(Batching, EightSequencesMakeOneExecuteASegment) {
  ASSERT_TRUE(HasDevice("ref:0") && HasDevice("async_device:0"));
  const TempDir dir;
  const std::string path = (dir.path() / "tiny.gguf").string();
  ASSERT_TRUE(WriteTinyModel(*FindTinyModel("llama-tied-f32"), path).ok());
  for (const std::string device : {"ref:0", "cpu_avx512:0", "async_device:0"}) {
    if (!HasDevice(device)) continue;
    Config config = TestConfig(path, {device});
    config.model.sequences = 8;
    const StatusOr<OpenedEngine> opened = OpenEngine(config, 8);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    for (int32_t r = 0; r < 8; ++r) {
      Request request;
      request.prompt = {10 + r, 20 + r};
      request.max_tokens = 5;
      request.ignore_end = true;
      ASSERT_TRUE(opened->engine->Submit(std::move(request)).ok());
    }
    std::vector<Event> events;
    size_t tokens = 0;
    while (opened->engine->busy()) {
      ASSERT_TRUE(opened->engine->Step(&events).ok());
      for (const Event& event : events) tokens += event.token >= 0 ? 1 : 0;
    }
    EXPECT_EQ(tokens, 40u);
    const ExecutorStats stats = opened->engine->executor_stats();
    EXPECT_EQ(stats.steps, 5u) << device;
    EXPECT_EQ(stats.executes, stats.steps) << device;
  }
}

}  // namespace
}  // namespace motley::test
