// Requests that go on from the KV of earlier ones (Request::reuse) give, bit for bit, what a fresh run gives.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "tests/integration/model_run.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

struct Result {
  std::vector<int32_t> tokens;
  std::vector<float> logits;
  std::optional<FinishReason> finish;
  Status error;
  RequestStats stats;
};

class Reuse : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!HasDevice(GetParam())) GTEST_SKIP() << "skipped: no " << GetParam() << " on this CPU";
    path_ = (dir_.path() / "tiny.gguf").string();
    ASSERT_TRUE(WriteTinyModel(*FindTinyModel("llama-q4_1"), path_).ok());
  }

  Config Base(uint32_t sequences = 1) {
    Config config = TestConfig(path_, {GetParam()});
    config.kv.page_tokens = 16;
    config.model.context = 128;
    config.model.sequences = sequences;
    return config;
  }
  OpenedEngine Open(const Config& config) {
    StatusOr<OpenedEngine> opened = OpenEngine(config, 8);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    return *std::move(opened);
  }

  static uint64_t Submit(Engine& engine, const std::vector<int32_t>& prompt, uint64_t max_tokens, bool reuse,
                         Result* result) {
    Request request;
    request.prompt = prompt;
    request.max_tokens = max_tokens;
    request.ignore_end = true;
    request.reuse = reuse;
    request.on_logits = [result](int64_t, std::span<const float> row) {
      result->logits.insert(result->logits.end(), row.begin(), row.end());
    };
    const StatusOr<uint64_t> id = engine.Submit(std::move(request));
    EXPECT_TRUE(id.ok()) << id.status().ToString();
    return *id;
  }
  static void Drain(Engine& engine, const std::map<uint64_t, Result*>& owners) {
    std::vector<Event> events;
    while (engine.busy()) {
      ASSERT_TRUE(engine.Step(&events).ok());
      for (const Event& event : events) {
        Result& result = *owners.at(event.request);
        if (event.token >= 0) result.tokens.push_back(event.token);
        if (!event.finish) continue;
        result.finish = event.finish;
        result.error = event.error;
        result.stats = event.stats;
      }
    }
  }
  static Result Run(Engine& engine, const std::vector<int32_t>& prompt, uint64_t max_tokens,
                    bool reuse = true) {
    Result result;
    const uint64_t id = Submit(engine, prompt, max_tokens, reuse, &result);
    Drain(engine, {{id, &result}});
    return result;
  }
  // The same in an engine of its own.
  Result Fresh(const std::vector<int32_t>& prompt, uint64_t max_tokens) {
    OpenedEngine opened = Open(Base());
    return Run(*opened.engine, prompt, max_tokens, false);
  }
  static void ExpectSame(const Result& got, const Result& fresh, const std::string& what) {
    EXPECT_TRUE(got.error.ok()) << what << ": " << got.error.ToString();
    EXPECT_EQ(got.tokens, fresh.tokens) << what;
    ASSERT_EQ(got.logits.size(), fresh.logits.size()) << what;
    EXPECT_EQ(std::memcmp(got.logits.data(), fresh.logits.data(), got.logits.size() * sizeof(float)), 0)
        << what;
  }

  static std::vector<int32_t> Prompt(uint32_t seed, size_t count) {
    std::mt19937 random(seed);
    std::vector<int32_t> tokens(count);
    for (int32_t& token : tokens) token = 3 + static_cast<int32_t>(random() % 300);
    return tokens;
  }
  static std::vector<int32_t> Joined(std::vector<int32_t> a, const std::vector<int32_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  TempDir dir_;
  std::string path_;
};

TEST_P(Reuse, ATurnThatGoesOnComputesOnlyWhatIsNew) {
  const OpenedEngine opened = Open(Base());
  std::vector<int32_t> said = Prompt(1, 37);
  const Result first = Run(*opened.engine, said, 9);
  EXPECT_EQ(first.stats.reused_tokens, 0u);
  said = Joined(said, first.tokens);
  for (uint32_t turn = 2; turn < 5; ++turn) {
    const auto had =
        static_cast<uint64_t>(said.size()) - 1;  // the last token that was made was never an input
    said = Joined(said, Prompt(turn, 11));
    const Result next = Run(*opened.engine, said, 9);
    EXPECT_EQ(next.stats.reused_tokens, had);
    EXPECT_EQ(next.stats.prompt_tokens, said.size());
    ExpectSame(next, Fresh(said, 9), "turn " + std::to_string(turn));
    said = Joined(said, next.tokens);
  }
}

TEST_P(Reuse, ThePromptOfAnEarlierTurnIsReusedWhereTheRestDiffers) {
  const OpenedEngine opened = Open(Base());
  const std::vector<int32_t> prompt = Prompt(1, 37);
  Run(*opened.engine, prompt, 9);
  const std::vector<int32_t> other = Joined(prompt, Prompt(7, 20));
  const Result got = Run(*opened.engine, other, 5);
  EXPECT_EQ(got.stats.reused_tokens, 37u);
  ExpectSame(got, Fresh(other, 5), "another answer");
  // The same prompt again: one token is left to run, for its logits.
  const Result again = Run(*opened.engine, prompt, 9);
  EXPECT_EQ(again.stats.reused_tokens, 36u);
  ExpectSame(again, Fresh(prompt, 9), "the same prompt");
}

TEST_P(Reuse, WhoDoesNotAskForItComputesEverything) {
  const OpenedEngine opened = Open(Base());
  const std::vector<int32_t> prompt = Prompt(1, 37);
  Run(*opened.engine, prompt, 9);
  const Result got = Run(*opened.engine, prompt, 9, false);
  EXPECT_EQ(got.stats.reused_tokens, 0u);
  Request request;
  request.prompt = prompt;
  request.max_tokens = 0;
  request.all_logits = request.reuse = true;
  size_t rows = 0;
  request.on_logits = [&](int64_t position, std::span<const float>) {
    EXPECT_EQ(static_cast<size_t>(position), rows++);
  };
  const uint64_t id = *opened.engine->Submit(std::move(request));
  Result all;
  Drain(*opened.engine, {{id, &all}});
  EXPECT_EQ(rows, prompt.size());
}

TEST_P(Reuse, ACancelledAnswerIsGoneOnFrom) {
  const OpenedEngine opened = Open(Base());
  const std::vector<int32_t> prompt = Prompt(1, 37);
  Result cut;
  const uint64_t id = Submit(*opened.engine, prompt, 50, true, &cut);
  std::vector<Event> events;
  for (int step = 0; step < 4; ++step) {
    ASSERT_TRUE(opened.engine->Step(&events).ok());
    for (const Event& event : events) cut.tokens.push_back(event.token);
  }
  opened.engine->Cancel(id);
  Result end;
  Drain(*opened.engine, {{id, &end}});
  EXPECT_EQ(end.finish, FinishReason::kCancelled);
  const std::vector<int32_t> next = Joined(Joined(prompt, cut.tokens), Prompt(2, 5));
  const Result got = Run(*opened.engine, next, 9);
  EXPECT_EQ(got.stats.reused_tokens, 37 + cut.tokens.size() - 1);
  ExpectSame(got, Fresh(next, 9), "behind a cancelled answer");
}

// Many conversations on few pages: they branch, wait for each other and push each other's pages out.
TEST_P(Reuse, ConversationsThatBranchAndCompeteAreBitSame) {
  Config config = Base(3);
  config.model.context = 96;
  config.schedule.step_tokens = 24;
  const OpenedEngine opened = Open(config);
  Config alone = config;
  const OpenedEngine fresh = Open(alone);
  std::mt19937 random(9);
  std::vector<std::vector<int32_t>> said;
  uint64_t reused = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<std::vector<int32_t>> prompts;
    std::vector<Result> together(4);
    std::map<uint64_t, Result*> owners;
    for (size_t r = 0; r < together.size(); ++r) {
      std::vector<int32_t> prompt;
      if (!said.empty() && random() % 4 != 0) {
        prompt = said[random() % said.size()];
        prompt.resize(1 + random() % prompt.size());
      }
      prompt = Joined(prompt, Prompt(static_cast<uint32_t>(random()), 1 + random() % 20));
      if (prompt.size() > 80) prompt.resize(80);
      prompts.push_back(prompt);
      owners[Submit(*opened.engine, prompt, 1 + random() % 12, true, &together[r])] = &together[r];
    }
    Drain(*opened.engine, owners);
    for (size_t r = 0; r < together.size(); ++r) {
      const Result expected = Run(*fresh.engine, prompts[r], together[r].tokens.size(), false);
      ExpectSame(together[r], expected, "round " + std::to_string(round) + " request " + std::to_string(r));
      reused += together[r].stats.reused_tokens;
      said.push_back(Joined(prompts[r], together[r].tokens));
    }
  }
  EXPECT_GT(reused, 200u);
}

INSTANTIATE_TEST_SUITE_P(Devices, Reuse,
                         ::testing::Values("ref:0", "async_device:0", "cpu_avx512:0"),
                         [](const auto& info) { return info.param.substr(0, info.param.find(':')); });

// What a device holds after a failure is not known.
TEST(ReuseAfterFailure, NothingIsGoneOnFrom) {
  TempDir dir;
  const std::string path = (dir.path() / "tiny.gguf").string();
  ASSERT_TRUE(WriteTinyModel(*FindTinyModel("llama-tied-f32"), path).ok());
  Config config = TestConfig(path, {"async_device:0"});
  config.plugin["async_device"].options.push_back({"fail_at", int64_t{6}, "test"});
  const StatusOr<OpenedEngine> opened = OpenEngine(config, 8);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  Engine& engine = *opened->engine;
  std::vector<Event> events;
  bool failed = false;
  uint64_t reused_before = 0, reused_after = ~uint64_t{0};
  for (int round = 0; round < 12 && reused_after == ~uint64_t{0}; ++round) {
    Request request;
    request.prompt = {5, 6, 7, 8};
    request.max_tokens = 2;
    request.reuse = request.ignore_end = true;
    ASSERT_TRUE(engine.Submit(std::move(request)).ok());
    while (engine.busy()) {
      ASSERT_TRUE(engine.Step(&events).ok());
      for (const Event& event : events) {
        if (!event.finish) continue;
        if (*event.finish == FinishReason::kError)
          failed = true;
        else
          (failed ? reused_after : reused_before) = event.stats.reused_tokens;
      }
    }
  }
  EXPECT_TRUE(failed);
  EXPECT_EQ(reused_before, 3u);
  EXPECT_EQ(reused_after, 0u);
}

}  // namespace
}  // namespace motley::test
