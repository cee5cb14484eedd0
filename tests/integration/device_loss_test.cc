// A device is lost, at every point at which it can be: the engine plans again on what is left, and the
// requests go on as if nothing had been. Where the rest is too small, they end with what is short.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>

#include "tests/integration/model_run.h"
#include "tests/support/child_process.h"
#include "tests/support/near_tie.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

using Clock = std::chrono::steady_clock;
using Losses = std::vector<std::pair<std::string, int64_t>>;  // options of async_device

constexpr auto kLongestStep =
    std::chrono::seconds(10);  // a second for the loss, the rest for a machine full of tests

// What one request was told, and in which order.
struct Stream {
  std::vector<int32_t> tokens;
  std::vector<int64_t> positions;  // of the rows of logits
  std::vector<float> logits;
  std::optional<FinishReason> finish;
  Status error;
  RequestStats stats;
};

class DeviceLoss : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (dir_.path() / "tiny.gguf").string();
    ASSERT_TRUE(WriteTinyModel(*FindTinyModel("llama-tied-f32"), path_).ok());
  }

  // Two segments, one on each async device; `spare`: what else the model may go to.
  Config OnTwo(const Losses& losses, std::vector<std::string> spare = {}) const {
    std::vector<std::string> devices = {"async_device:0", "async_device:1"};
    devices.insert(devices.end(), spare.begin(), spare.end());
    Config config = TestConfig(path_, devices);
    config.model.sequences = 2;
    config.model.context = 128;
    config.kv.page_tokens = 16;
    config.schedule.step_tokens = 16;  // prompts and recomputed sequences go in pieces
    AddPin(&config, "embed", "async_device:0");
    AddPin(&config, "layers.0", "async_device:0");
    AddPin(&config, "layers.1-2", "async_device:1");
    AddPin(&config, "head", "async_device:1");
    for (const auto& [option, value] : losses) Set(&config, option, value);
    Set(&config, "delay_us", 0);
    // Opened hundreds of times: what is not needed is left out. A probe's calls would be counted, too.
    config.plugin["cpu_avx512"].enabled = false;
    for (const char* plugin : {"async_device", "ref"}) config.plugin[plugin].probe_in_child = false;
    return config;
  }
  static void Set(Config* config, const std::string& option, int64_t value) {
    config->plugin["async_device"].options.push_back({option, value, "test"});
  }

  // Opens devices and engine; notices are collected. An error may be what the test is about.
  Status Open(Config config) {
    Close();
    notices_.clear();
    opened_.logger = std::make_unique<Logger>(LogLevel::kError);
    opened_.host = std::make_unique<Host>(*opened_.logger, HostOptions{.threads = 2});
    config.plugins.path = {MOTLEY_PLUGIN_FOLDER, MOTLEY_TEST_PLUGIN_FOLDER};
    MOTLEY_ASSIGN_OR_RETURN(opened_.backends,
                            OpenBackends(config, *opened_.host, *opened_.logger, "", TestVerdictFolder()));
    EngineOptions options;
    options.max_outputs = 8;
    options.on_notice = [this](const std::string& notice) { notices_.push_back(notice); };
    MOTLEY_ASSIGN_OR_RETURN(opened_.engine,
                            Engine::Open(config, *opened_.backends, *opened_.logger, options));
    return OkStatus();
  }
  // Everything is given back: async_device complains at its close of what is not, and the sanitizer of what
  // leaks.
  void Close() {
    opened_.engine.reset();
    opened_.backends.reset();
    opened_.host.reset();
  }
  Engine& engine() { return *opened_.engine; }

  static Request Ask(std::vector<int32_t> prompt, uint64_t max_tokens, Stream* stream) {
    Request request;
    request.prompt = std::move(prompt);
    request.max_tokens = max_tokens;
    request.ignore_end = true;
    request.on_logits = [stream](int64_t position, std::span<const float> row) {
      stream->positions.push_back(position);
      stream->logits.insert(stream->logits.end(), row.begin(), row.end());
    };
    return request;
  }

  // Runs requests to their ends; a step that takes long is a wait that did not end.
  std::vector<Stream> Run(std::vector<std::function<Request(Stream*)>> requests) {
    std::vector<Stream> streams(requests.size());
    std::map<uint64_t, Stream*> owners;
    for (size_t r = 0; r < requests.size(); ++r) {
      const StatusOr<uint64_t> id = engine().Submit(requests[r](&streams[r]));
      if (id.ok()) {
        owners[*id] = &streams[r];
      } else {
        streams[r].error = id.status();
      }
    }
    std::vector<Event> events;
    while (engine().busy()) {
      const Clock::time_point start = Clock::now();
      const Status status = engine().Step(&events);
      EXPECT_TRUE(status.ok()) << status.ToString();
      EXPECT_LT(Clock::now() - start, kLongestStep);
      for (const Event& event : events) {
        Stream& stream = *owners.at(event.request);
        EXPECT_FALSE(stream.finish) << "an event behind the last";
        if (event.token >= 0) stream.tokens.push_back(event.token);
        if (!event.finish) continue;
        stream.finish = event.finish;
        stream.error = event.error;
        stream.stats = event.stats;
      }
    }
    return streams;
  }

  // 64 tokens each: one of the likeliest, with every row of the prompt's logits; one drawn.
  std::vector<Stream> RunTwo(uint64_t max_tokens = 64) {
    return Run({[=](Stream* stream) {
                  Request request = Ask(Prompt(1, 23), max_tokens, stream);
                  request.all_logits = true;
                  return request;
                },
                [=](Stream* stream) {
                  Request request = Ask(Prompt(2, 9), max_tokens, stream);
                  request.sampling.temperature = 1;
                  request.sampling.seed = 5;
                  return request;
                }});
  }
  // Two turns of a chat, the second of which goes on from the first one's pages.
  std::vector<Stream> RunTurns() {
    std::vector<Stream> turns;
    std::vector<int32_t> said = Prompt(3, 12);
    for (uint32_t turn = 0; turn < 2; ++turn) {
      turns.push_back(std::move(Run({[&](Stream* stream) {
        Request request = Ask(said, 3, stream);
        request.reuse = true;
        return request;
      }})[0]));
      said.insert(said.end(), turns.back().tokens.begin(), turns.back().tokens.end());
      const std::vector<int32_t> next = Prompt(7 + turn, 5);
      said.insert(said.end(), next.begin(), next.end());
    }
    return turns;
  }
  static std::vector<int32_t> Prompt(uint32_t seed, uint32_t count) {
    std::vector<int32_t> tokens;
    for (uint32_t i = 0; i < count; ++i)
      tokens.push_back(static_cast<int32_t>(3 + (seed * 7919 + i * 104729) % 300));
    return tokens;
  }

  // Near-tie-same, fed the same tokens, and nothing told twice or left out.
  static void ExpectSame(const std::vector<Stream>& got, const std::vector<Stream>& want,
                         const std::string& what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (size_t s = 0; s < got.size(); ++s) {
      const std::string which = what + ", stream " + std::to_string(s);
      EXPECT_TRUE(got[s].error.ok()) << which << ": " << got[s].error.ToString();
      EXPECT_EQ(got[s].finish, want[s].finish) << which;
      EXPECT_EQ(got[s].tokens, want[s].tokens) << which;
      EXPECT_EQ(got[s].stats.completion_tokens, want[s].tokens.size()) << which;
      ASSERT_EQ(got[s].positions, want[s].positions) << which;
      const std::vector<double> reference(want[s].logits.begin(), want[s].logits.end());
      const auto rows = static_cast<int64_t>(want[s].positions.size());
      const NearTieReport report =
          CompareLogits(reference, got[s].logits, rows, kTinyVocab, NearTieTolerance("f32"));
      EXPECT_TRUE(report.ok) << which << ": " << report.text;
    }
  }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  TempDir dir_;
  std::string path_;
  OpenedEngine opened_;
  std::vector<std::string> notices_;
};

TEST_F(DeviceLoss, AtEveryExecuteBothStreamsEndAsWithoutIt) {
  ASSERT_TRUE(Open(OnTwo({})).ok());
  const std::vector<Stream> want = RunTwo();
  for (const Stream& stream : want) ASSERT_EQ(stream.tokens.size(), 64u) << stream.error.ToString();
  std::map<std::string, int> lost;  // how often which device
  int64_t n = 1;
  for (;; ++n) {
    const std::string what = "lose_at = " + std::to_string(n);
    ASSERT_TRUE(Open(OnTwo({{"lose_at", n}})).ok()) << what;
    const std::vector<Stream> got = RunTwo();
    ExpectSame(got, want, what);
    if (HasFailure() || notices_.empty()) break;
    ASSERT_EQ(notices_.size(), 1u) << what;
    ASSERT_TRUE(Has(notices_[0], what)) << notices_[0];
    const bool first = Has(notices_[0], "device async_device:0 was lost");
    ++lost[first ? "0" : "1"];
    EXPECT_TRUE(
        Has(notices_[0], first ? "planned again on async_device:1" : "planned again on async_device:0"))
        << notices_[0];
    for (const PlacementLine& line : engine().plan().placement)
      EXPECT_EQ(line.device, first ? "async_device:1" : "async_device:0") << what;
    EXPECT_TRUE(Has(engine().plan().notices[0], "falls away")) << what;
  }
  EXPECT_GT(n, 128) << "64 steps of two segments";
  // About half each: which of a step's two executes is counted first is up to the lanes' threads.
  EXPECT_GT(lost["0"], 30);
  EXPECT_GT(lost["1"], 30);
}

// Planning, compiling, loading, a prompt, decoding, and the time between two turns, whose next call finds it
// lost.
TEST_F(DeviceLoss, AtEveryCallAChatGoesOn) {
  ASSERT_TRUE(Open(OnTwo({})).ok());
  const std::vector<Stream> want = RunTurns();
  ASSERT_GT(want[1].stats.reused_tokens, 0u);
  int loading = 0, running = 0, between = 0;
  for (int64_t n = 1;; ++n) {
    const std::string what = "lose_at_call = " + std::to_string(n);
    const Status status = Open(OnTwo({{"lose_at_call", n}}));
    // A plugin whose device does not even say its name is not taken.
    if (!status.ok() && opened_.backends != nullptr && opened_.backends->Find("async_device:0") == nullptr) {
      ASSERT_LT(n, 10) << what;
      continue;
    }
    ASSERT_TRUE(status.ok()) << what << ": " << status.ToString();
    loading += notices_.empty() ? 0 : 1;
    const bool before = notices_.empty();
    const std::vector<Stream> got = RunTurns();
    ExpectSame(got, want, what);
    if (HasFailure() || notices_.empty()) break;
    running += before ? 1 : 0;
    between += before && got[1].stats.reused_tokens == 0 ? 1 : 0;  // the pages of the first turn were gone
  }
  EXPECT_GT(loading, 50);
  EXPECT_GT(running, 30);
  EXPECT_GT(between, 0);
}

TEST_F(DeviceLoss, BothDevicesOneAfterTheOtherLeaveTheThird) {
  ASSERT_TRUE(Open(OnTwo({}, {"ref:0"})).ok());
  const std::vector<Stream> want = RunTwo(12);
  int both = 0;
  for (int64_t first = 1; first <= 13; first += 3) {
    for (int64_t next = first + 1; next <= 14; next += 2) {
      const std::string what =
          "lose_at = " + std::to_string(first) + ", lose_next_at = " + std::to_string(next);
      ASSERT_TRUE(Open(OnTwo({{"lose_at", first}, {"lose_next_at", next}}, {"ref:0"})).ok()) << what;
      ExpectSame(RunTwo(12), want, what);
      // An execute that waits for a lost device does not run, and so loses none.
      ASSERT_FALSE(notices_.empty()) << what;
      if (notices_.size() < 2) continue;
      ++both;
      EXPECT_TRUE(Has(notices_[1], "planned again on ref:0")) << what << ": " << notices_[1];
    }
  }
  EXPECT_GT(both, 10);
}

TEST_F(DeviceLoss, WithNoDeviceLeftRequestsEndAndSayWhy) {
  ASSERT_TRUE(Open(OnTwo({{"lose_at", 9}, {"lose_next_at", 20}})).ok());
  for (const Stream& stream : RunTwo()) {
    EXPECT_EQ(stream.finish, FinishReason::kError);
    EXPECT_EQ(stream.error.code(), Code::kUnavailable);
    for (const char* part : {"async_device:0 was lost", "async_device:1 was lost", "no device is left"})
      EXPECT_TRUE(Has(stream.error.message(), part)) << stream.error.ToString();
  }
  for (const Stream& stream : RunTwo())
    EXPECT_EQ(stream.error.code(), Code::kUnavailable) << "refused at once";
}

// Four MiB each are enough for a part of the layers and their pages, not for all.
TEST_F(DeviceLoss, WhatDoesNotFitOnTheRestEndsWithWhatIsShort) {
  Config config = OnTwo({{"lose_at", 9}, {"memory_mib", 4}});
  config.placement.margin_bytes = 0;
  config.model.sequences = 12;
  config.model.context = 512;
  const Status fits = Open(config);
  ASSERT_TRUE(fits.ok()) << fits.ToString();
  for (const Stream& stream : RunTwo()) {
    EXPECT_EQ(stream.finish, FinishReason::kError);
    EXPECT_EQ(stream.error.code(), Code::kUnavailable);
    for (const char* part : {"async_device:0 was lost", "does not fit", "short ", "MiB", "async:1"})
      EXPECT_TRUE(Has(stream.error.message(), part)) << stream.error.ToString();
  }
  // Without a context that was asked for, the largest that fits is taken: requests that fit in it go on.
  config.model.context.reset();
  ASSERT_TRUE(Open(config).ok());
  const int64_t context = engine().context();
  for (const Stream& stream : RunTwo()) EXPECT_EQ(stream.tokens.size(), 64u) << stream.error.ToString();
  EXPECT_EQ(notices_.size(), 1u);
  EXPECT_LT(engine().context(), context);
}

class LauncherLoss : public DeviceLoss {
 protected:
  ChildResult Motley(std::string command, std::vector<std::string> more) const {
    std::vector<std::string> args = {MOTLEY_LAUNCHER,
                                     std::move(command),
                                     "-m",
                                     path_,
                                     "--kv",
                                     "f32",
                                     "--plugin-path",
                                     MOTLEY_TEST_PLUGIN_FOLDER,
                                     "--device",
                                     "async_device:0",
                                     "--device",
                                     "async_device:1",
                                     "--pin",
                                     "layers.0=async_device:0",
                                     "--pin",
                                     "layers.1-2=async_device:1",
                                     "--set",
                                     "placement.margin=0"};
    args.insert(args.end(), more.begin(), more.end());
    ChildOptions options;
    options.environment = {"MOTLEY_PLUGIN_PATH=", "XDG_STATE_HOME=/nonexistent"};
    return RunChild(args, options);
  }
  static std::vector<std::string> Lose(std::vector<std::string> more) {
    more.insert(more.end(), {"--set", "plugin.async_device.lose_at=9"});
    return more;
  }
};

TEST_F(LauncherLoss, RunSaysItOnStderrAndGoesOn) {
  const std::vector<std::string> flags = {"--raw", "abcdef", "-n", "12"};
  const ChildResult whole = Motley("run", flags), lost = Motley("run", Lose(flags));
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(lost.exit_code, 0) << lost.err;
  EXPECT_EQ(lost.out, whole.out);
  EXPECT_TRUE(Has(lost.err, "was lost (async_device:")) << lost.err;
  EXPECT_TRUE(Has(lost.err, "; planned again on async_device:")) << lost.err;
  EXPECT_TRUE(Has(lost.err, "falls away")) << lost.err;
}

TEST_F(LauncherLoss, JsonGetsANotice) {
  const ChildResult lost = Motley("run", Lose({"--raw", "abcdef", "-n", "12", "--json"}));
  EXPECT_EQ(lost.exit_code, 0) << lost.err;
  EXPECT_TRUE(Has(lost.out, R"({"type":"notice","message":"device async_device:)")) << lost.out;
}

TEST_F(LauncherLoss, WhatDoesNotFitAnyMoreIsExit1AndBenchEndsToo) {
  const std::vector<std::string> tight = {"--context",          "512",   "--set",
                                          "model.sequences=12", "--set", "plugin.async_device.memory_mib=4", "--set", "schedule.step_tokens=16"};
  std::vector<std::string> flags = {"--raw", "abcdef", "-n", "12"};
  flags.insert(flags.end(), tight.begin(), tight.end());
  const ChildResult run = Motley("run", Lose(flags));
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_TRUE(Has(run.err, "short ")) << run.err;
  const ChildResult bench = Motley("bench", Lose({"--prefill", "16"}));
  EXPECT_EQ(bench.exit_code, 1) << bench.err;
  EXPECT_TRUE(Has(bench.err, "is lost: lose_at = 9")) << bench.err;
}

}  // namespace
}  // namespace motley::test
