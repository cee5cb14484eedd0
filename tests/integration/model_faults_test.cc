// Models whose header is sound and whose hyper-parameters or tensors are not: refused while planning, before anything
// large is allocated or read, with the file and the key or tensor named.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/engine/engine.h"
#include "core/engine/planning.h"
#include "tests/integration/model_run.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

using Break = std::function<void(GgufWriter&)>;

// Devices stay open from test to test.
class ModelFaults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    logger_ = new Logger(LogLevel::kError);
    host_ = new Host(*logger_);
    Config config;
    config.plugins.path = {MOTLEY_PLUGIN_FOLDER};
    StatusOr<std::unique_ptr<Backends>> backends = OpenBackends(config, *host_, *logger_, "", TestVerdictFolder());
    ASSERT_TRUE(backends.ok()) << backends.status().ToString();
    backends_ = backends->release();
  }
  static void TearDownTestSuite() {
    delete backends_;
    delete host_;
    delete logger_;
  }

  // Plans the model `spec` after `change`.
  StatusOr<std::unique_ptr<PlannedModel>> Plan(const TinyModelSpec& spec, const Break& change,
                                               const std::function<void(Config&)>& configure = {}) {
    MOTLEY_ASSIGN_OR_RETURN(GgufWriter gguf, MakeTinyModel(spec));
    change(gguf);
    const std::string path = (dir_.path() / "broken.gguf").string();
    gguf.Write(path);
    Config config = TestConfig(path, {"ref:0"});
    if (configure) configure(config);
    MOTLEY_ASSIGN_OR_RETURN(files_, OpenModel(path, *logger_));
    return MakePlan(config, *files_.model, *files_.file, *backends_, {});
  }
  static const TinyModelSpec& Llama() { return *FindTinyModel("llama-untied-f32"); }

  static Logger* logger_;
  static Host* host_;
  static Backends* backends_;
  TempDir dir_;
  ModelFiles files_;
};

Logger* ModelFaults::logger_ = nullptr;
Host* ModelFaults::host_ = nullptr;
Backends* ModelFaults::backends_ = nullptr;

void NoChange(GgufWriter&) {}

uint64_t PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

std::string Zeros(uint64_t floats) { return std::string(floats * sizeof(float), '\0'); }

// Hidden 64, ffn 192, 4 heads of 16, 1 KV head, 4 layers.
TEST_F(ModelFaults, ContradictionsNameTheTensorItsShapeAndTheKey) {
  const struct {
    const char* what;
    Break change;
    std::vector<std::string> says;
  } rows[] = {
      {"more FFN than there is", [](GgufWriter& w) { w.SetU32("llama.feed_forward_length", 256); },
       {"blk.0.ffn_gate.weight is [192, 64]: must be [256, 64]", "llama.feed_forward_length = 256"}},
      {"more heads", [](GgufWriter& w) { w.SetU32("llama.attention.head_count", 8); },
       {"blk.0.attn_q.weight is [64, 64]: must be [128, 64]", "llama.attention.head_count = 8"}},
      {"more KV heads", [](GgufWriter& w) { w.SetU32("llama.attention.head_count_kv", 2); },
       {"blk.0.attn_k.weight is [16, 64]: must be [32, 64]", "llama.attention.head_count_kv = 2"}},
      {"larger heads", [](GgufWriter& w) { w.SetU32("llama.attention.key_length", 0x7fffffff); },
       {"blk.0.attn_q.weight is [64, 64]: must be [8589934588, 64]", "llama.attention.key_length = 2147483647"}},
      {"larger values", [](GgufWriter& w) { w.SetU32("llama.attention.value_length", 32); },
       {"blk.0.attn_v.weight is [16, 64]: must be [32, 64]", "llama.attention.value_length = 32"}},
      {"narrower rows", [](GgufWriter& w) { w.SetU32("llama.embedding_length", 32); },
       {"token_embd.weight", "llama.embedding_length"}},
      {"more layers", [](GgufWriter& w) { w.SetU32("llama.block_count", 5); }, {"blk.4.attn_norm.weight is missing"}},
      {"absurd depth", [](GgufWriter& w) { w.SetU32("llama.block_count", 65536); },
       {"llama.block_count = 65536: must be at most 2000"}},
      {"a bias of another length",
       [](GgufWriter& w) { w.AddTensor("blk.1.attn_q.bias", Format::kF32, {63}, Zeros(63)); },
       {"blk.1.attn_q.bias is [63]: must be [64]"}},
      {"q norms of another length",
       [](GgufWriter& w) { w.AddTensor("blk.2.attn_q_norm.weight", Format::kF32, {8}, Zeros(8)); },
       {"blk.2.attn_q_norm.weight is [8]: must be [16]"}},
  };
  for (const auto& row : rows) {
    const Status status = Plan(Llama(), row.change).status();
    EXPECT_EQ(status.code(), row.what == std::string("more layers") ? Code::kNotFound : Code::kInvalidArgument)
        << row.what << ": " << status.ToString();
    EXPECT_EQ(status.message().rfind("broken.gguf: ", 0), 0u) << row.what << ": " << status.message();
    for (const std::string& part : row.says) {
      EXPECT_NE(status.message().find(part), std::string::npos) << row.what << ": " << status.message();
    }
  }
}

TEST_F(ModelFaults, AbsurdRotationsAreRefused) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const struct {
    const char* key;
    float value;
  } rows[] = {{"freq_base", 0.0f},         {"freq_base", 1e-45f},          {"freq_base", 0.5f},
              {"freq_base", kNan},         {"freq_base", 1e30f},           {"scaling.factor", 1e-45f},
              {"scaling.factor", 1e38f},   {"scaling.attn_factor", 1e38f}, {"scaling.yarn_beta_fast", 1e-45f},
              {"scaling.attn_factor", -1}, {"freq_base", 1.0f}};  // 1: its logarithm is divided by
  for (const auto& row : rows) {
    const std::string key = std::string("llama.rope.") + row.key;
    const Status status = Plan(Llama(), [&](GgufWriter& w) {
                            w.SetString("llama.rope.scaling.type", "yarn").SetF32("llama.rope.scaling.factor", 4);
                            w.SetU32("llama.rope.scaling.original_context_length", 64).SetF32(key, row.value);
                          }).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << key << " " << row.value << " " << status.ToString();
    EXPECT_EQ(status.message().rfind("broken.gguf: " + key, 0), 0u) << status.message();
  }
}

TEST_F(ModelFaults, TextsOfTheFileAreMadeFitForATerminal) {
  for (const char* key : {"general.architecture", "llama.rope.scaling.type"}) {
    const std::string text = "\x1b[31m" + std::string(100000, 'x');
    const Status status = Plan(Llama(), [&](GgufWriter& w) { w.SetString(key, text); }).status();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(key), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find('\x1b'), std::string::npos) << key;
    EXPECT_LT(status.message().size(), 400u) << key;
  }
}

TEST_F(ModelFaults, AFormatThatNoDeviceRunsNamesFileTensorAndFormat) {
  TinyModelSpec spec = Llama();
  spec.layers = 1;
  const Status status = Plan(spec, [](GgufWriter& w) {
                          w.AddTensor("blk.0.attn_q.bias", Format::kI8, {64}, std::string(64, '\0'));
                        }).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
  for (const char* part : {"broken.gguf: ", "layers.0.attention", "blk.0.attn_q.bias, I8"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

// A cache's cells are numbered in 31 bits, and its page tables are no small thing: both are known before they are made.
TEST_F(ModelFaults, S05_AContextBeyondAllMemoryIsRefusedWithoutAllocatingForIt) {
  const uint64_t before = PeakBytes();
  const struct {
    uint64_t context;
    uint32_t sequences, page_tokens;
  } rows[] = {{1u << 30, 1, 1}, {1u << 30, 2, 64}, {1u << 20, 4096, 1}, {1u << 30, 4096, 65536}, {1u << 30, 4096, 1}};
  for (const auto& row : rows) {
    const Status status = Plan(Llama(), NoChange, [&](Config& config) {
                            config.model.context = row.context;
                            config.model.sequences = row.sequences;
                            config.kv.page_tokens = row.page_tokens;
                          }).status();
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  }
  EXPECT_LT(PeakBytes(), before + (64u << 20));
}

TEST_F(ModelFaults, P01_AHugeContextLengthOfTheFileIsLoweredToWhatFits) {
  for (const uint32_t sequences : {1u, 4096u}) {
    const auto planned = Plan(Llama(), [](GgufWriter& w) { w.SetU32("llama.context_length", 0x7fffffff); },
                              [&](Config& config) { config.model.sequences = sequences; });
    ASSERT_TRUE(planned.ok()) << planned.status().ToString();
    EXPECT_LT((*planned)->report.context, 0x7fffffff);
    EXPECT_GE((*planned)->report.context, 64);
    ASSERT_EQ((*planned)->report.notices.size(), 1u);
    EXPECT_NE((*planned)->report.notices[0].find("2147483647"), std::string::npos);
  }
}

TEST_F(ModelFaults, P01_WhereNoContextFitsTheLeastThatIsMissingIsSaid) {
  // Far more than any machine has; the same with a small context asked for.
  const auto margin = [](Config& config) { config.placement.margin_bytes = uint64_t{1} << 60; };
  const Status any = Plan(Llama(), NoChange, margin).status();
  const Status least = Plan(Llama(), NoChange, [&](Config& config) {
                         margin(config);
                         config.model.context = 1;
                       }).status();
  EXPECT_EQ(any.code(), Code::kResourceExhausted);
  EXPECT_EQ(any.message(), least.message());
}

TEST_F(ModelFaults, S05_APromptThatCannotFitIsRefusedBeforeWeightsAreLoaded) {
  const std::string path = (dir_.path() / "tiny.gguf").string();
  ASSERT_TRUE(WriteTinyModel(Llama(), path).ok());
  Config config = TestConfig(path, {"ref:0"});
  config.model.context = 64;
  bool loaded = false;
  EngineOptions options;
  options.prompt_tokens = 65;
  options.progress = [&](uint64_t, uint64_t) { return loaded = true; };
  const Status status = Engine::Open(config, *backends_, *logger_, options).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
  EXPECT_NE(status.message().find("65 tokens do not fit in the context of 64"), std::string::npos) << status.message();
  EXPECT_FALSE(loaded);
  options.prompt_tokens = 64;
  EXPECT_TRUE(Engine::Open(config, *backends_, *logger_, options).ok());
  EXPECT_TRUE(loaded);
}

}  // namespace
}  // namespace motley::test
