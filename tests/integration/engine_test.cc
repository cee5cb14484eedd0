// What the engine promises about requests, on a tiny model.
#include "core/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "tests/integration/model_run.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

constexpr char kDevice[] = "ref:0";

struct Answer {
  std::vector<int32_t> tokens;
  std::string text;
  FinishReason finish = FinishReason::kError;
  Status error;
  RequestStats stats;
};

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (dir_.path() / "tiny.gguf").string();
    ASSERT_TRUE(WriteTinyModel(*FindTinyModel("llama-tied-f32"), path_).ok());
  }

  void Open(Config config) {
    // What stands on the others goes first.
    opened_.engine.reset();
    opened_.backends.reset();
    opened_.host.reset();
    StatusOr<OpenedEngine> opened = OpenEngine(config, 8);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    opened_ = *std::move(opened);
  }
  Config Base() { return TestConfig(path_, {kDevice}); }
  Engine& engine() { return *opened_.engine; }

  Answer Ask(Request request) {
    Answer answer;
    const StatusOr<uint64_t> id = engine().Submit(std::move(request));
    if (!id.ok()) {
      answer.error = id.status();
      return answer;
    }
    std::vector<Event> events;
    while (engine().busy()) {
      if (Status status = engine().Step(&events); !status.ok()) {
        answer.error = status;
        return answer;
      }
      for (const Event& event : events) {
        if (event.request != *id) continue;
        if (event.token >= 0) answer.tokens.push_back(event.token);
        answer.text += event.text;
        if (!event.finish) continue;
        answer.finish = *event.finish;
        answer.error = event.error;
        answer.stats = event.stats;
      }
    }
    return answer;
  }

  static Request Prompt(std::vector<int32_t> tokens, std::optional<uint64_t> max_tokens) {
    Request request;
    request.prompt = std::move(tokens);
    request.max_tokens = max_tokens;
    request.ignore_end = true;
    return request;
  }

  TempDir dir_;
  std::string path_;
  OpenedEngine opened_;
};

TEST_F(EngineTest, MakesAsManyTokensAsAsked) {
  Open(Base());
  const Answer answer = Ask(Prompt({5, 6, 7}, 4));
  EXPECT_TRUE(answer.error.ok()) << answer.error.ToString();
  EXPECT_EQ(answer.tokens.size(), 4u);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(answer.stats.prompt_tokens, 3u);
  EXPECT_EQ(answer.stats.completion_tokens, 4u);
  EXPECT_GT(answer.stats.decode_read_bytes, 0u);
}

TEST_F(EngineTest, FieldFailure_S03_MaxTokensZeroIsNeverUnlimited) {
  Open(Base());
  const Answer answer = Ask(Prompt({5, 6, 7}, 0));
  EXPECT_EQ(answer.tokens.size(), 0u);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
}

// An index from outside is held against its range before it reaches step data.
TEST_F(EngineTest, FieldFailure_R03_APromptsTokenOutOfRangeIsRefusedAndOthersGoOn) {
  Open(Base());
  for (const int32_t bad : {-1, int32_t{kTinyVocab}, INT32_MAX, INT32_MIN}) {
    const auto id = opened_.engine->Submit(Prompt({5, bad, 7}, 2));
    ASSERT_FALSE(id.ok()) << bad;
    EXPECT_EQ(id.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(id.status().message(), "prompt: token 1 = " + std::to_string(bad) + ": must be 0..319");
  }
  EXPECT_EQ(Ask(Prompt({5, 6, 7}, 2)).tokens.size(), 2u);
}

TEST_F(EngineTest, FieldFailure_S05_APromptOfTheWholeContextFitsAndOneMoreDoesNot) {
  Config config = Base();
  config.model.context = 20;
  config.kv.page_tokens = 16;
  Open(config);
  const Answer whole = Ask(Prompt(std::vector<int32_t>(20, 7), std::nullopt));
  EXPECT_TRUE(whole.error.ok()) << whole.error.ToString();
  EXPECT_EQ(whole.tokens.size(), 1u);  // its answer's first token needs no place in the cache
  EXPECT_EQ(whole.finish, FinishReason::kLength);
  const Answer over = Ask(Prompt(std::vector<int32_t>(21, 7), 1));
  EXPECT_EQ(over.error.code(), Code::kInvalidArgument);
  EXPECT_NE(over.error.message().find("21 tokens do not fit in the context of 20"), std::string::npos)
      << over.error.message();
  const Answer rest = Ask(Prompt(std::vector<int32_t>(18, 7), std::nullopt));
  EXPECT_EQ(rest.tokens.size(), 3u);
}

TEST_F(EngineTest, RefusesAPromptWithNoTokensOrWithIdsThatAreNone) {
  Open(Base());
  EXPECT_EQ(Ask(Prompt({}, 1)).error.code(), Code::kInvalidArgument);
  EXPECT_NE(Ask(Prompt({1, 320}, 1)).error.message().find("token 1 = 320"), std::string::npos);
  EXPECT_NE(Ask(Prompt({-1}, 1)).error.message().find("-1"), std::string::npos);
}

TEST_F(EngineTest, StopStringsEndTheAnswerWithoutTheirText) {
  Open(Base());
  const Answer free_run = Ask(Prompt({5, 6, 7}, 24));
  ASSERT_GT(free_run.text.size(), 4u);
  // Two plain letters of the answer.
  const auto plain = [](unsigned char c) { return c < 0x80; };
  size_t at = 1;
  while (at + 1 < free_run.text.size() && !(plain(free_run.text[at]) && plain(free_run.text[at + 1]))) ++at;
  ASSERT_LT(at + 1, free_run.text.size()) << free_run.text;
  const std::string stop = free_run.text.substr(at, 2);
  Request request = Prompt({5, 6, 7}, 24);
  request.stop = {stop};
  const Answer stopped = Ask(std::move(request));
  EXPECT_EQ(stopped.finish, FinishReason::kStop);
  EXPECT_EQ(stopped.text, free_run.text.substr(0, free_run.text.find(stop)));
}

TEST_F(EngineTest, CancelEndsARequestAndLeavesTheOthers) {
  Config config = Base();
  config.model.sequences = 2;
  Open(config);
  const uint64_t first = *engine().Submit(Prompt({5, 6}, 50));
  const uint64_t second = *engine().Submit(Prompt({8, 9}, 5));
  std::vector<Event> events;
  ASSERT_TRUE(engine().Step(&events).ok());
  engine().Cancel(first);
  bool first_cancelled = false, second_done = false;
  size_t steps = 0;
  while (engine().busy() && ++steps < 100) {
    ASSERT_TRUE(engine().Step(&events).ok());
    for (const Event& event : events) {
      if (event.request == first && event.finish) first_cancelled = *event.finish == FinishReason::kCancelled;
      if (event.request == second && event.finish) second_done = *event.finish == FinishReason::kLength;
    }
  }
  EXPECT_TRUE(first_cancelled);
  EXPECT_TRUE(second_done);
  EXPECT_LT(steps, 10u);
  engine().Cancel(first);  // it has ended: nothing happens
  EXPECT_EQ(Ask(Prompt({5}, 2)).tokens.size(), 2u);
}

TEST_F(EngineTest, MoreRequestsThanSequencesWaitAndAllEnd) {
  Config config = Base();
  config.model.sequences = 2;
  config.model.context = 64;
  Open(config);
  for (int32_t i = 0; i < 9; ++i) ASSERT_TRUE(engine().Submit(Prompt({5 + i, 6}, 3 + static_cast<uint64_t>(i))).ok());
  size_t ended = 0;
  std::vector<Event> events;
  while (engine().busy()) {
    ASSERT_TRUE(engine().Step(&events).ok());
    for (const Event& event : events) ended += event.finish ? 1 : 0;
  }
  EXPECT_EQ(ended, 9u);
}

TEST_F(EngineTest, ASampledAnswerIsAFunctionOfItsSeed) {
  Open(Base());
  auto answer = [&](uint64_t seed) {
    Request request = Prompt({5, 6, 7}, 16);
    request.sampling.temperature = 1.5;
    request.sampling.seed = seed;
    return Ask(std::move(request)).tokens;
  };
  // The sequence's number takes part in the draw, so the same request later is another sequence.
  Open(Base());
  const std::vector<int32_t> first = answer(1);
  Open(Base());
  EXPECT_EQ(answer(1), first);
  Open(Base());
  EXPECT_NE(answer(2), first);
}

// Untied, with NaN in the embedding's row of token 9.
std::string ModelWithNaN() {
  TinyModelSpec spec = *FindTinyModel("llama-tied-f32");
  const StatusOr<std::vector<TinyTensor>> tensors = MakeTinyTensors(spec);
  StatusOr<GgufWriter> writer = MakeTinyModel(spec);
  EXPECT_TRUE(tensors.ok() && writer.ok());
  const auto embedding = std::find_if(tensors->begin(), tensors->end(),
                                      [](const TinyTensor& tensor) { return tensor.name == "token_embd.weight"; });
  const std::string rows(embedding->bytes.begin(), embedding->bytes.end());
  const auto width = static_cast<size_t>(embedding->dims[1]);
  writer->AddTensor("output.weight", Format::kF32, {width, static_cast<uint64_t>(embedding->dims[0])}, rows);
  std::string bytes = writer->Build();
  const size_t at = bytes.find(rows);
  EXPECT_NE(at, std::string::npos);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (size_t i = 0; i < width; ++i) std::memcpy(bytes.data() + at + (9 * width + i) * sizeof(float), &nan, sizeof(nan));
  return bytes;
}

TEST_F(EngineTest, FieldFailure_M13_NaNFailsItsRequestAlone) {
  path_ = dir_.Write("nan.gguf", ModelWithNaN());
  Config config = Base();
  config.model.sequences = 2;
  Open(config);
  const uint64_t bad = *engine().Submit(Prompt({5, 9}, 4));
  const uint64_t good = *engine().Submit(Prompt({5, 6}, 4));
  Answer bad_answer, good_answer;
  std::vector<Event> events;
  while (engine().busy()) {
    ASSERT_TRUE(engine().Step(&events).ok());
    for (const Event& event : events) {
      Answer& answer = event.request == bad ? bad_answer : good_answer;
      EXPECT_TRUE(event.request == bad || event.request == good);
      if (event.token >= 0) answer.tokens.push_back(event.token);
      if (event.finish) answer.finish = *event.finish, answer.error = event.error;
    }
  }
  EXPECT_EQ(bad_answer.finish, FinishReason::kError);
  EXPECT_EQ(bad_answer.error.code(), Code::kDataLoss);
  EXPECT_EQ(good_answer.finish, FinishReason::kLength);
  EXPECT_EQ(good_answer.tokens, Ask(Prompt({5, 6}, 4)).tokens);
}

// Whoever gets the pages of a request that failed reads nothing of it, also behind its own tokens.
TEST_F(EngineTest, FieldFailure_M13_APageThatHeldNaNIsAsGoodAsNew) {
  path_ = dir_.Write("nan.gguf", ModelWithNaN());
  for (const char* device : {"ref:0", "async_device:0", "cpu_avx512:0"}) {
    if (!HasDevice(device)) continue;
    Config config = TestConfig(path_, {device});
    config.model.context = 64;  // one page, which everybody gets
    config.kv.page_tokens = 64;
    for (const Format kv : {Format::kF32, Format::kF16}) {
      config.kv.dtype = kv;
      Open(config);
      const Answer before = Ask(Prompt({5, 6, 7}, 6));
      ASSERT_TRUE(before.error.ok()) << before.error.ToString();
      EXPECT_EQ(Ask(Prompt(std::vector<int32_t>(40, 9), 4)).error.code(), Code::kDataLoss);
      const Answer after = Ask(Prompt({5, 6, 7}, 6));
      EXPECT_TRUE(after.error.ok()) << device << " KV " << FormatName(kv) << ": " << after.error.ToString();
      EXPECT_EQ(after.tokens, before.tokens) << device << " KV " << FormatName(kv);
    }
  }
}

// The tiny model with `count` tokens for its 320 rows.
GgufWriter ModelWithTokens(const std::string& path, size_t count) {
  StatusOr<GgufWriter> writer = MakeTinyModel(*FindTinyModel("llama-tied-f32"));
  Logger logger(LogLevel::kError);
  const StatusOr<ModelFiles> files = OpenModel(path, logger);
  EXPECT_TRUE(files.ok() && writer.ok());
  const Metadata& metadata = files->file->metadata();
  const auto tokens = *metadata.GetStrings("tokenizer.ggml.tokens");
  const auto types = *metadata.GetInts("tokenizer.ggml.token_type");
  const auto merges = *metadata.GetStrings("tokenizer.ggml.merges");
  std::vector<std::string> names(tokens.begin(), tokens.end());
  std::vector<int32_t> kinds(types.begin(), types.end());
  std::vector<std::string> pairs(merges.begin(), merges.end());
  while (names.size() > count) names.pop_back(), kinds.pop_back(), pairs.pop_back();  // the last merge made it
  while (names.size() < count) names.push_back("<extra>"), kinds.push_back(1);
  writer->SetStrings("tokenizer.ggml.tokens", names).SetI32s("tokenizer.ggml.token_type", kinds);
  writer->SetStrings("tokenizer.ggml.merges", pairs);
  return *std::move(writer);
}

TEST_F(EngineTest, FieldFailure_T04_FewerRowsThanTokensAreAnError) {
  ModelWithTokens(path_, 321).Write(dir_.path() / "few_rows.gguf");
  Logger logger(LogLevel::kError);
  const StatusOr<ModelFiles> few = OpenModel((dir_.path() / "few_rows.gguf").string(), logger);
  ASSERT_FALSE(few.ok());
  EXPECT_NE(few.status().message().find("320 rows for 321 tokens"), std::string::npos) << few.status().ToString();
}

TEST_F(EngineTest, FieldFailure_T04_APaddedRowIsNeverChosen) {
  // Token 319 is what the whole model answers somewhere; without that token the row is padding.
  Open(Base());
  Request request = Prompt({5, 6, 7}, 1);
  std::vector<float> row;
  request.on_logits = [&](int64_t, std::span<const float> logits) { row.assign(logits.begin(), logits.end()); };
  const Answer whole = Ask(std::move(request));
  ASSERT_EQ(row.size(), 320u);
  // The likeliest row moves to the end: rows are swapped in the file, so that the padded id has the highest logit.
  const StatusOr<std::vector<TinyTensor>> tensors = MakeTinyTensors(*FindTinyModel("llama-tied-f32"));
  const auto embedding = std::find_if(tensors->begin(), tensors->end(),
                                      [](const TinyTensor& tensor) { return tensor.name == "token_embd.weight"; });
  const std::string rows(embedding->bytes.begin(), embedding->bytes.end());
  const size_t row_bytes = static_cast<size_t>(embedding->dims[1]) * sizeof(float);
  const auto best = static_cast<size_t>(whole.tokens[0]);
  ASSERT_TRUE(best != 319 && best != 5 && best != 6 && best != 7);
  std::string swapped = rows;
  swapped.replace(319 * row_bytes, row_bytes, rows, best * row_bytes, row_bytes);
  std::string bytes = ModelWithTokens(path_, 319).Build();
  bytes.replace(bytes.find(rows), rows.size(), swapped);
  path_ = dir_.Write("padded.gguf", bytes);

  Open(Base());
  Request padded = Prompt({5, 6, 7}, 1);
  padded.sampling.logit_bias = {{static_cast<int32_t>(best), -1.0f}};  // the padded row is alone at the top
  const Answer answer = Ask(std::move(padded));
  ASSERT_TRUE(answer.error.ok()) << answer.error.ToString();
  ASSERT_EQ(answer.tokens.size(), 1u);
  EXPECT_LT(answer.tokens[0], 319);
}

// Each of the tokens at which an answer ends, made by the model: the answer is over, and its text is not in it.
TEST_F(EngineTest, FieldFailure_M08_EachEndTokenEndsTheAnswer) {
  const std::vector<std::string> names = {"<|user|>",    "<|observation|>", "<|eot_id|>", "<|eom_id|>", "</s>",
                                          "<end_of_turn>", "<|end|>",         "<|call|>"};
  GgufWriter writer = ModelWithTokens(path_, 310);
  Logger logger(LogLevel::kError);
  const StatusOr<ModelFiles> files = OpenModel(path_, logger);
  ASSERT_TRUE(files.ok());
  const auto tokens = *files->file->metadata().GetStrings("tokenizer.ggml.tokens");
  const auto types = *files->file->metadata().GetInts("tokenizer.ggml.token_type");
  std::vector<std::string> texts(tokens.begin(), tokens.begin() + 310);
  std::vector<int32_t> kinds(types.begin(), types.begin() + 310);
  for (const std::string& name : names) texts.push_back(name), kinds.push_back(3);
  writer.SetStrings("tokenizer.ggml.tokens", texts).SetI32s("tokenizer.ggml.token_type", kinds);
  path_ = dir_.Write("ends.gguf", writer.Build());
  Open(Base());
  const Tokenizer& tokenizer = engine().tokenizer();
  std::vector<int32_t> ends = {*tokenizer.FindSpecial("<|endoftext|>"), *tokenizer.FindSpecial("<|im_end|>")};
  for (const std::string& name : names) ends.push_back(*tokenizer.FindSpecial(name));
  for (const int32_t end : ends) {
    Request request;
    request.prompt = {5, 6, 7};
    request.max_tokens = 5;
    request.sampling.logit_bias = {{end, 1000.0f}};
    const Answer answer = Ask(request);
    EXPECT_EQ(answer.tokens, std::vector<int32_t>{end});
    EXPECT_EQ(answer.finish, FinishReason::kStop) << tokenizer.TokenPiece(end);
    EXPECT_EQ(answer.text, "") << tokenizer.TokenPiece(end);
    // Even where control tokens are shown.
    request.shown = {end};
    EXPECT_EQ(Ask(request).text, "");
  }
  // Another control token goes on, and is shown where that is asked for.
  Request request;
  request.prompt = {5, 6, 7};
  request.max_tokens = 2;
  request.sampling.logit_bias = {{*tokenizer.FindSpecial("<|im_start|>"), 1000.0f}};
  EXPECT_EQ(Ask(request).text, "");
  request.shown = {*tokenizer.FindSpecial("<|im_start|>")};
  const Answer shown = Ask(request);
  EXPECT_EQ(shown.text, "<|im_start|><|im_start|>");
  EXPECT_EQ(shown.finish, FinishReason::kLength);
}

TEST_F(EngineTest, ContextIsLoweredToWhatFitsUnlessItWasAskedFor) {
  Config config = TestConfig(path_, {"async_device:0"});
  config.kv.page_tokens = 16;
  config.placement.margin_bytes = 0;
  config.schedule.step_tokens = 8;
  config.model.sequences = 8;
  config.plugin["async_device"].options.push_back({"memory_mib", int64_t{2}, "test"});
  StatusOr<OpenedEngine> lowered = OpenEngine(config, 8);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  EXPECT_LT(lowered->engine->context(), kTinyContext);
  EXPECT_GT(lowered->engine->context(), 0);
  EXPECT_EQ(lowered->engine->plan().notices.size(), 1u);

  config.model.context = kTinyContext;
  const StatusOr<OpenedEngine> asked = OpenEngine(config, 8);
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.status().code(), Code::kResourceExhausted);
  EXPECT_NE(asked.status().message().find("short"), std::string::npos) << asked.status().ToString();
}

TEST_F(EngineTest, AFailingDeviceEndsTheRequestsOfItsStepAndLeavesTheEngineUsable) {
  Config config = TestConfig(path_, {"async_device:0"});
  config.plugin["async_device"].options.push_back({"fail_at", int64_t{3}, "test"});
  Open(config);
  const Answer failed = Ask(Prompt({5, 6}, 10));
  EXPECT_EQ(failed.finish, FinishReason::kError);
  EXPECT_FALSE(failed.error.ok());
  const Answer next = Ask(Prompt({5, 6}, 10));
  EXPECT_TRUE(next.error.ok()) << next.error.ToString();
  EXPECT_EQ(next.tokens.size(), 10u);
}

TEST_F(EngineTest, ALostDeviceEndsEveryRequestAndNothingHangs) {
  Config config = TestConfig(path_, {"async_device:0"});
  config.plugin["async_device"].options.push_back({"lose_at", int64_t{3}, "test"});
  Open(config);
  for (int round = 0; round < 2; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const Answer lost = Ask(Prompt({5, 6}, 10));
    EXPECT_FALSE(lost.error.ok());
    EXPECT_EQ(lost.error.code(), Code::kUnavailable) << lost.error.ToString();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  }
}

// A step that fails on one plugin while another still works must not let go of the memory that both use.
TEST_F(EngineTest, AFailureAcrossPluginsWaitsForTheOtherDevice) {
  Config config = TestConfig(path_, {"ref:0", "async_device:0"});
  AddPin(&config, "embed", "async_device:0");
  AddPin(&config, "layers.0", "async_device:0");
  AddPin(&config, "layers.1", "ref:0");
  AddPin(&config, "head", "async_device:0");
  config.plugin["async_device"].options.push_back({"delay_us", int64_t{3000}, "test"});
  config.plugin["async_device"].options.push_back({"fail_at", int64_t{5}, "test"});
  Open(config);
  size_t failures = 0;
  for (int round = 0; round < 4; ++round) {
    const Answer answer = Ask(Prompt({5, 6, 7, 8}, 6));
    failures += answer.error.ok() ? 0 : 1;
    if (answer.error.ok()) { EXPECT_EQ(answer.tokens.size(), 6u); }
  }
  EXPECT_EQ(failures, 1u);
}

}  // namespace
}  // namespace motley::test
