// What plans say, on real devices: bytes are those that are taken, times are a profile's.
#include <gtest/gtest.h>

#include "core/engine/planning.h"
#include "core/sched/step_data.h"
#include "tests/integration/model_run.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

class PlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    StatusOr<OpenedEngine> opened = OpenDevices();
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    opened_ = *std::move(opened);
    path_ = (dir_.path() / "tiny.gguf").string();
    ASSERT_TRUE(WriteTinyModel(*FindTinyModel("llama-q8_0"), path_).ok());
  }

  StatusOr<std::unique_ptr<PlannedModel>> Plan(const Config& config, const ProbeProfile* profile = nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(files_, OpenModel(config.model.path, *opened_.logger));
    return MakePlan(config, *files_.model, *files_.file, *opened_.backends, {0, profile});
  }

  // Layer 1 on another plugin than the rest.
  Config Split() {
    Config config = TestConfig(path_, {"ref:0", "async_device:0"});
    AddPin(&config, "layers.1", "async_device:0");
    return config;
  }

  TempDir dir_;
  std::string path_;
  OpenedEngine opened_;  // without an engine
  ModelFiles files_;
};

TEST_F(PlanTest, FieldFailure_P01_TheCachesFiguresMatch) {
  // Layers, KV heads and head size of large models; the rest is as small as it may be, for bytes of the cache alone count.
  const struct {
    int64_t layers;
    int64_t context;
    Format kv;
    uint64_t mib;
  } rows[] = {{92, 65536, Format::kF16, 23552},
              {92, 65536, Format::kQ8_0, 12512},
              {92, 65536, Format::kQ4_0, 6624},
              {46, 32768, Format::kF16, 5888}};
  for (const auto& row : rows) {
    TinyModelSpec spec = *FindTinyModel("llama-untied-f32");
    spec.layers = row.layers;
    spec.heads = spec.kv_heads = 8;
    spec.head_dim = 128;
    spec.hidden = spec.ffn = 32;
    const std::string path = (dir_.path() / "kv.gguf").string();
    ASSERT_TRUE(WriteTinyModel(spec, path).ok());
    const auto files = OpenModel(path, *opened_.logger);
    ASSERT_TRUE(files.ok()) << files.status().ToString();
    for (const int64_t sequences : {1, 3}) {
      GraphLimits limits;
      limits.kv_format = row.kv;
      limits.max_seqs = sequences;
      limits.max_pages = row.context / limits.page_tokens;
      limits.kv_pages = limits.max_pages * sequences;
      const auto graph = files->model->BuildGraph(limits);
      ASSERT_TRUE(graph.ok()) << graph.status().ToString();
      const auto profile = ProfileDevice(*opened_.backends->Find("ref:0"), *graph, *files->file, limits);
      ASSERT_TRUE(profile.ok()) << profile.status().ToString();
      if (!profile->kv_refusal.empty()) {  // a pair that is not supported is said before anything is loaded
        EXPECT_NE(profile->kv_refusal.find(FormatName(row.kv)), std::string::npos) << profile->kv_refusal;
        continue;
      }
      uint64_t bytes = 0;
      for (uint64_t page : profile->kv_page_bytes) bytes += page * static_cast<uint64_t>(limits.kv_pages);
      EXPECT_EQ(bytes, row.mib * static_cast<uint64_t>(sequences) << 20) << FormatName(row.kv);
    }
  }
}

TEST_F(PlanTest, TheHostsBytesAreThoseThatItTakes) {
  if (!HasDevice("async_device:0")) GTEST_SKIP() << "the test device is not built";
  for (const bool split : {false, true}) {
    Config config = split ? Split() : TestConfig(path_, {"ref:0"});
    config.model.sequences = 3;
    const StatusOr<OpenedEngine> opened = OpenEngine(config, 5);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    const Engine& engine = *opened->engine;
    const PlanReport& plan = engine.plan();
    const uint64_t step = StepData::Bytes(engine.planned().limits, engine.model().rope().rotary_dim());
    EXPECT_EQ(plan.host.bytes, engine.executor_stats().host_bytes + step);
    EXPECT_GE(plan.host.bytes, 5u * kTinyVocab * sizeof(float) + step);
    EXPECT_EQ(engine.planned().compiled->transfers().size() > 0, split);
    EXPECT_EQ(plan.host.pool, "ram");
  }
}

// Each device with a launch of 1 ms and copies of 10 ms, so that the sums can be done by hand.
ProbeProfile MadeUp(std::vector<std::string> devices) {
  ProbeProfile profile;
  profile.date = "today";
  const auto exactly = [](double value) { return Figure{value, value, value, 9}; };
  for (const std::string& name : devices) {
    DeviceProbe probe;
    probe.identity.name = name;
    probe.launch_s = exactly(1e-3);
    probe.reads = {{1, exactly(1e30)}};
    probe.copies = {{true, 1u << 30, exactly(10e-3)}, {false, 1u << 30, exactly(10e-3)}};
    probe.linears = {{Format::kQ8_0, 1, 1 << 20, 1 << 20, 1, exactly(1e-12)}};
    profile.devices.push_back(probe);
  }
  return profile;
}

TEST_F(PlanTest, TimesAreSegmentsAndTheCopiesBetweenThem) {
  if (!HasDevice("async_device:0")) GTEST_SKIP() << "the test device is not built";
  const ProbeProfile profile = MadeUp({"ref:0", "async_device:0"});
  const auto planned = Plan(Split(), &profile);
  ASSERT_TRUE(planned.ok()) << planned.status().ToString();
  const PlanTimes& times = (*planned)->report.times;
  EXPECT_EQ(times.basis, "by probe of today");
  ASSERT_TRUE(times.known);
  const size_t segments = (*planned)->compiled->segments().size(), copies = (*planned)->compiled->transfers().size();
  ASSERT_GE(segments, 3u);
  ASSERT_GE(copies, 2u);
  for (const StepTime* time : {&times.decode, &times.prefill}) {
    ASSERT_EQ(time->segment_seconds.size(), segments);
    EXPECT_NEAR(time->copy_seconds, 20e-3 * static_cast<double>(copies), 1e-6);  // out of the one, into the other
    EXPECT_NEAR(time->seconds, 1e-3 * static_cast<double>(segments) + time->copy_seconds, 1e-6);
  }
  EXPECT_TRUE(times.notes.empty());
}

TEST_F(PlanTest, WithoutAProfileOfEveryDeviceThereIsNoTime) {
  const auto bare = Plan(TestConfig(path_, {"ref:0"}));
  ASSERT_TRUE(bare.ok()) << bare.status().ToString();
  EXPECT_EQ((*bare)->report.times.basis, "not probed");
  EXPECT_FALSE((*bare)->report.times.known);
  if (!HasDevice("async_device:0")) GTEST_SKIP() << "the test device is not built";
  const ProbeProfile profile = MadeUp({"ref:0"});
  const auto half = Plan(Split(), &profile);
  ASSERT_TRUE(half.ok()) << half.status().ToString();
  EXPECT_EQ((*half)->report.times.basis, "not probed: async_device:0");
  EXPECT_FALSE((*half)->report.times.known);
}

TEST_F(PlanTest, TheSegmentsReadWhatADecodeStepReads) {
  const StatusOr<OpenedEngine> opened = OpenEngine(TestConfig(path_, {"ref:0"}));
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const Engine& engine = *opened->engine;
  // Every tensor but the embedding, of which a row is read.
  uint64_t bytes = 0;
  for (const Tensor& tensor : engine.planned().graph->graph.tensors) {
    if (tensor.role != Role::kWeight) continue;
    const uint64_t stored = *FormatBytes(tensor.format, ElementCount(tensor, {}));
    bytes += tensor.name == "token_embd.weight" ? stored / static_cast<uint64_t>(tensor.dims[0]) : stored;
  }
  EXPECT_EQ(engine.DecodeReadBytes(0), bytes);
  // F32, K and V, 2 layers of 2 heads of 32.
  EXPECT_EQ(engine.DecodeReadBytes(10) - engine.DecodeReadBytes(0), 10u * 2 * 2 * 2 * 32 * 4);
}

}  // namespace
}  // namespace motley::test
