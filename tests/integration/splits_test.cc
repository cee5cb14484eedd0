// One model however it is run: in pieces, in pages of any size, beside other sequences, cut over devices. Within a
// plugin the logits are bit-same, between plugins near-tie-same.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/integration/model_run.h"
#include "tests/support/golden_case.h"
#include "tests/support/temp_dir.h"

namespace motley::test {
namespace {

// Two models: one with every weight in F32, one quantised.
class Splits : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    // These two run on any machine: without them a test would pass with nothing run.
    ASSERT_TRUE(HasDevice("ref:0") && HasDevice("async_device:0"));
    StatusOr<GoldenCase> golden = LoadGoldenCase(GetParam());
    ASSERT_TRUE(golden.ok()) << golden.status().ToString();
    golden_ = *std::move(golden);
    path_ = (dir_.path() / "tiny.gguf").string();
    ASSERT_TRUE(WriteTinyModel(*golden_.spec, path_).ok());
  }

  // Every position's logits under `config`; empty and a failure where something went wrong.
  std::vector<float> Run(const Config& config, int64_t max_outputs = 64) {
    const StatusOr<OpenedEngine> opened = OpenEngine(config, max_outputs);
    if (!opened.ok()) {
      ADD_FAILURE() << opened.status().ToString();
      return {};
    }
    const StatusOr<std::vector<float>> logits = Logits(*opened->engine, golden_.tokens);
    if (!logits.ok()) {
      ADD_FAILURE() << logits.status().ToString();
      return {};
    }
    return *logits;
  }

  Config Base(const std::string& device) { return TestConfig(path_, {device}); }

  static void ExpectSameBits(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
    ASSERT_EQ(a.size(), b.size()) << what;
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << what;
  }

  void ExpectNearTie(const std::vector<float>& got, const std::string& what) {
    const bool quantised = FindFormat(golden_.spec->format)->block_elems > 1;
    const NearTieReport report = CompareLogits(golden_.logits, got, golden_.n_positions(), golden_.n_vocab,
                                               NearTieTolerance(quantised ? "int8" : "f32"));
    EXPECT_TRUE(report.ok) << what << ": " << report.text;
  }

  TempDir dir_;
  GoldenCase golden_;
  std::string path_;
};

const char* const kDevices[] = {"ref:0", "cpu_avx512:0", "async_device:0"};

TEST_P(Splits, PromptInOneGoInPiecesAndTokenByTokenIsBitSame) {
  for (const std::string device : kDevices) {
    if (!HasDevice(device)) continue;
    const std::vector<float> whole = Run(Base(device));
    for (uint32_t piece : {1u, 7u, 16u}) {
      Config config = Base(device);
      config.schedule.step_tokens = piece;
      ExpectSameBits(Run(config), whole, device + " in pieces of " + std::to_string(piece));
    }
  }
}

TEST_P(Splits, PageSizesAreBitSame) {
  for (const std::string device : kDevices) {
    if (!HasDevice(device)) continue;
    const std::vector<float> usual = Run(Base(device));
    for (uint32_t page_tokens : {1u, 16u, 17u, 256u}) {
      Config config = Base(device);
      config.kv.page_tokens = page_tokens;
      ExpectSameBits(Run(config), usual, device + " pages of " + std::to_string(page_tokens));
    }
  }
}

TEST_P(Splits, LayersOverTwoDevicesOfOnePluginAreBitSame) {
  struct Pair {
    const char *first, *second, *option;
  };
  for (const Pair& pair : {Pair{"ref:0", "ref:1", "ref"}, Pair{"cpu_avx512:0", "cpu_avx512:1", "cpu_avx512"},
                           Pair{"async_device:0", "async_device:1", ""}}) {
    if (!HasDevice(pair.first)) continue;
    const std::vector<float> one = Run(Base(pair.first));
    Config config = TestConfig(path_, {pair.first, pair.second});
    if (*pair.option != '\0') config.plugin[pair.option].options.push_back({"devices", int64_t{2}, "test"});
    AddPin(&config, "layers.0", pair.first);
    AddPin(&config, "layers.1", pair.second);
    AddPin(&config, "embed", pair.second);
    AddPin(&config, "head", pair.second);
    ExpectSameBits(Run(config), one, std::string(pair.first) + " with " + pair.second);
  }
}

TEST_P(Splits, PartsOverDifferentPluginsAreNearTieSame) {
  std::vector<std::string> devices;
  for (const std::string device : {"ref:0", "cpu_avx512:0", "cpu_avx512:1", "async_device:0", "async_device:1"}) {
    if (device == "cpu_avx512:1" ? HasDevice("cpu_avx512:0") : HasDevice(device)) devices.push_back(device);
  }
  std::vector<std::string> selectors = {"embed", "head"};
  for (int64_t layer = 0; layer < golden_.spec->layers; ++layer) {
    selectors.push_back("layers." + std::to_string(layer) + ".attention");
    selectors.push_back("layers." + std::to_string(layer) + ".ffn");
  }
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    std::mt19937 random(seed);
    Config config = TestConfig(path_, devices);
    if (HasDevice("cpu_avx512:0")) config.plugin["cpu_avx512"].options.push_back({"devices", int64_t{2}, "test"});
    std::string what = "seed " + std::to_string(seed);
    for (const std::string& selector : selectors) {
      const std::string& device = devices[random() % devices.size()];
      AddPin(&config, selector, device);
      what += " " + selector + "=" + device;
    }
    config.kv.page_tokens = std::vector<uint32_t>{1, 16, 17, 256}[random() % 4];
    config.schedule.step_tokens = std::vector<uint32_t>{1, 5, 512}[random() % 3];
    ExpectNearTie(Run(config), what);
  }
}

// Requests of different lengths that join and leave while others decode give what each gives alone.
TEST_P(Splits, SequencesThatJoinAndLeaveAreBitSame) {
  for (const std::string device : kDevices) {
    if (!HasDevice(device)) continue;
    Config config = Base(device);
    config.model.sequences = 3;
    config.schedule.step_tokens = 24;
    config.kv.page_tokens = 16;
    const StatusOr<OpenedEngine> opened = OpenEngine(config, 3);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    Engine& engine = *opened->engine;

    struct Result {
      std::vector<float> logits;
      std::vector<int32_t> tokens;
    };
    constexpr size_t kRequests = 6;
    auto submit = [&](size_t r, Result* result) {
      Request request;
      request.prompt.assign(golden_.tokens.begin() + static_cast<ptrdiff_t>(r),
                            golden_.tokens.begin() + static_cast<ptrdiff_t>(r + 5 + 6 * r));
      request.max_tokens = 4 + 3 * (kRequests - r);
      request.ignore_end = true;
      request.on_logits = [result](int64_t, std::span<const float> row) {
        result->logits.insert(result->logits.end(), row.begin(), row.end());
      };
      return *engine.Submit(std::move(request));
    };
    auto drain = [&](std::map<uint64_t, Result*> owners) {
      std::vector<Event> events;
      while (engine.busy()) {
        ASSERT_TRUE(engine.Step(&events).ok());
        for (const Event& event : events) {
          ASSERT_TRUE(event.error.ok()) << event.error.ToString();
          if (event.token >= 0) owners[event.request]->tokens.push_back(event.token);
        }
      }
    };
    std::vector<Result> alone(kRequests), together(kRequests);
    for (size_t r = 0; r < kRequests; ++r) drain({{submit(r, &alone[r]), &alone[r]}});
    std::map<uint64_t, Result*> owners;
    for (size_t r = 0; r < kRequests; ++r) owners[submit(r, &together[r])] = &together[r];
    drain(owners);
    for (size_t r = 0; r < kRequests; ++r) {
      EXPECT_EQ(alone[r].tokens, together[r].tokens) << device << " request " << r;
      ExpectSameBits(alone[r].logits, together[r].logits, device + " request " + std::to_string(r));
    }
  }
}

TEST_P(Splits, FieldFailure_M06_LayersOnTwoDevicesEqualOne) {
  if (!HasDevice("cpu_avx512:0")) GTEST_SKIP() << "skipped: no cpu_avx512 on this CPU";
  Config config = TestConfig(path_, {"ref:0", "cpu_avx512:0"});
  AddPin(&config, "layers.0", "ref:0");
  AddPin(&config, "layers.1", "cpu_avx512:0");
  ExpectNearTie(Run(config), "layer 0 on ref, layer 1 on cpu_avx512");
}

INSTANTIATE_TEST_SUITE_P(Models, Splits, ::testing::Values("llama-tied-f32", "qwen3-f32", "llama-q4_1"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace motley::test
