// Files in odd formats: factors beside weights, and caches that a device does not keep. What the values are is
// golden_logits_test.cc's.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "core/engine/planning.h"
#include "tests/integration/model_run.h"
#include "tests/support/golden_case.h"
#include "tests/support/temp_dir.h"

namespace motley::test {
namespace {

using Break = std::function<void(GgufWriter&)>;

std::string Text(float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

class FormatFiles : public ::testing::Test {
 protected:
  std::string Write(const TinyModelSpec& spec, const Break& change = {}) {
    StatusOr<GgufWriter> gguf = MakeTinyModel(spec);
    EXPECT_TRUE(gguf.ok()) << gguf.status().ToString();
    if (change) change(*gguf);
    const std::string path = (dir_.path() / "tiny.gguf").string();
    gguf->Write(path);
    return path;
  }
  // Plans it, and loads nothing.
  StatusOr<PlanReport> Plan(const Config& config) {
    Logger logger(LogLevel::kError);
    Host host(logger);
    Config with_paths = config;
    with_paths.plugins.path = {MOTLEY_PLUGIN_FOLDER, MOTLEY_TEST_PLUGIN_FOLDER};
    MOTLEY_ASSIGN_OR_RETURN(const auto backends, OpenBackends(with_paths, host, logger, "", TestVerdictFolder()));
    MOTLEY_ASSIGN_OR_RETURN(const ModelFiles files, OpenModel(config.model.path, logger));
    unused_ = "";
    MOTLEY_ASSIGN_OR_RETURN(const auto planned, MakePlan(config, *files.model, *files.file, *backends, {}));
    for (const std::string& name : files.model->UnusedTensors(planned->graph->graph)) unused_ += name + " ";
    return planned->report;
  }
  StatusOr<std::vector<float>> Run(const Config& config, const std::vector<int32_t>& tokens) {
    MOTLEY_ASSIGN_OR_RETURN(const OpenedEngine opened, OpenEngine(config));
    return Logits(*opened.engine, tokens);
  }

  TempDir dir_;
  std::string unused_;  // of the last Plan
};

TEST_F(FormatFiles, FactorsOfNvfp4AreUsedAndNotReportedAsUnused) {
  const std::string path = Write(*FindTinyModel("llama-nvfp4"));
  const StatusOr<PlanReport> report = Plan(TestConfig(path, {"ref:0"}));
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(unused_, "");
}

// Some files write NAME.weight.scale.
TEST_F(FormatFiles, TheOtherNameOfAFactorIsKnownToo) {
  const StatusOr<GoldenCase> golden = LoadGoldenCase("llama-q8_0");
  ASSERT_TRUE(golden.ok());
  const std::vector<int32_t> tokens(golden->tokens.begin(), golden->tokens.begin() + 8);
  std::vector<std::vector<float>> logits;
  for (const char* name : {"", "blk.0.ffn_up.scale", "blk.0.ffn_up.weight.scale"}) {
    const std::string path = Write(*golden->spec, [&](GgufWriter& gguf) {
      if (*name) gguf.AddTensor(name, Format::kF32, {1}, Text(0.5f));
    });
    const StatusOr<std::vector<float>> got = Run(TestConfig(path, {"ref:0"}), tokens);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    logits.push_back(*got);
  }
  EXPECT_NE(logits[1], logits[0]);
  EXPECT_EQ(logits[2], logits[1]);
}

TEST_F(FormatFiles, AFactorThatIsNoneIsNamed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const struct {
    const char* tensor;
    Format format;
    std::string bytes;
    std::vector<const char*> expected;
  } cases[] = {
      {"blk.0.ffn_up.scale", Format::kF16, std::string(2, 'a'), {"blk.0.ffn_up.scale", "1 values in F16", "one in F32"}},
      {"blk.1.attn_q.scale", Format::kF32, Text(1) + Text(2), {"blk.1.attn_q.scale", "2 values in F32", "one in F32"}},
      {"output.scale", Format::kF32, Text(nan), {"output.scale", "nan", "must be finite"}},
      {"blk.0.attn_norm.scale", Format::kF32, Text(2), {"blk.0.attn_norm.scale", "attn_norm.weight", "no matrix"}},
  };
  for (const auto& test : cases) {
    const std::string path = Write(*FindTinyModel("llama-q8_0"), [&](GgufWriter& gguf) {
      gguf.AddTensor(test.tensor, test.format, {test.bytes.size() / FindFormat(test.format)->block_bytes}, test.bytes);
    });
    const StatusOr<PlanReport> report = Plan(TestConfig(path, {"ref:0"}));
    ASSERT_FALSE(report.ok()) << test.tensor;
    for (const char* word : test.expected) {
      EXPECT_NE(report.status().message().find(word), std::string::npos) << word << ": " << report.status().ToString();
    }
  }
  const std::string tied = Write(*FindTinyModel("qwen3-q8_0"), [&](GgufWriter& gguf) {
    gguf.AddTensor("output.scale", Format::kF32, {1}, Text(2));
  });
  const StatusOr<PlanReport> report = Plan(TestConfig(tied, {"ref:0"}));
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().message().find("output.scale"), std::string::npos) << report.status().ToString();
}

// M13: before anything is loaded, and with the setting, its value and what would do.
TEST_F(FormatFiles, ACacheThatNoDeviceKeepsIsRefusedByTheSetting) {
  Config config = TestConfig(Write(*FindTinyModel("llama-tied-f32")), {"ref:0"});  // heads of 16
  ASSERT_TRUE(ApplySetting(config, "kv.dtype=q8").ok());
  const StatusOr<PlanReport> report = Plan(config);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kUnimplemented);
  for (const char* word : {"kv.dtype = q8", "ref:0", "Q8_0", "multiples of 32, not 16", "--kv", "f32, f16, q8, q4"}) {
    EXPECT_NE(report.status().message().find(word), std::string::npos) << word << ": " << report.status().ToString();
  }
}

// Each type of cache against F32, through the engine: head dim 64, pages of 16, in pieces.
TEST_F(FormatFiles, EveryCacheIsNearF32) {
  const StatusOr<GoldenCase> golden = LoadGoldenCase("qwen3-f16");
  ASSERT_TRUE(golden.ok());
  const std::string path = Write(*golden->spec);
  const struct {
    Format format;
    double nmse, gap;
  } cases[] = {{Format::kF16, 1e-5, 0.02}, {Format::kQ8_0, 2e-3, 0.3}, {Format::kQ4_0, 0.3, 4}};
  for (const auto& test : cases) {
    Config config = TestConfig(path, {"ref:0"});
    config.kv.dtype = test.format;
    config.kv.page_tokens = 16;
    config.schedule.step_tokens = 7;
    const StatusOr<std::vector<float>> got = Run(config, golden->tokens);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    const NearTieReport report = CompareLogits(golden->logits, *got, golden->n_positions(), golden->n_vocab,
                                               {test.nmse, test.gap});
    EXPECT_TRUE(report.ok) << FormatName(test.format) << ": " << report.text;
    EXPECT_GT(report.worst_nmse, test.nmse / 1000) << FormatName(test.format) << ": as if it were not used";
  }
}

TEST_F(FormatFiles, WorkspaceOfA32kPromptIsSmall) {
  const std::string path = Write(*FindTinyModel("llama-untied-f32"), [](GgufWriter& gguf) {
    gguf.SetU32("llama.context_length", 32768);
  });
  for (const char* device : {"ref:0", "cpu_avx512:0"}) {
    if (!HasDevice(device)) continue;
    Config config = TestConfig(path, {device});
    config.model.context = 32768;
    const StatusOr<PlanReport> report = Plan(config);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->context, 32768);
    EXPECT_GT(report->devices[0].workspace_bytes, 0u);
    EXPECT_LE(report->devices[0].workspace_bytes, 64ull << 20) << device;
  }
}

}  // namespace
}  // namespace motley::test
