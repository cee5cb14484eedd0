// ChatSession on a tiny model whose answers are written by the test: on_logits sees a row before it is
// sampled.
#include "core/engine/chat.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/text/detokenizer.h"
#include "tests/integration/cached_file.h"
#include "tests/integration/model_run.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley::test {
namespace {

constexpr char kTemplate[] =
    "{% if tools %}<tool_call>{{ tools | length }}{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls %}<tool_call>{{ c.function.arguments | tojson }}</tool_call>{% endfor "
    "%}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}{% endif %}";
constexpr char kTools[] =
    R"([{"type":"function","function":{"name":"f","parameters":{"properties":{"a":{"type":"string"}}}}}])";

// The tiny model with the control tokens that chats use, and this template.
std::string ChatModelBytes(std::string_view chat_template) {
  TempDir dir;
  const std::string plain = (dir.path() / "plain.gguf").string();
  EXPECT_TRUE(WriteTinyModel(*FindTinyModel("llama-tied-f32"), plain).ok());
  Logger logger(LogLevel::kError);
  const StatusOr<ModelFiles> files = OpenModel(plain, logger);
  StatusOr<GgufWriter> writer = MakeTinyModel(*FindTinyModel("llama-tied-f32"));
  EXPECT_TRUE(files.ok() && writer.ok());
  const Metadata& metadata = files->file->metadata();
  const auto tokens = *metadata.GetStrings("tokenizer.ggml.tokens");
  const auto types = *metadata.GetInts("tokenizer.ggml.token_type");
  const auto merges = *metadata.GetStrings("tokenizer.ggml.merges");
  std::vector<std::string> names(tokens.begin(), tokens.end()), pairs(merges.begin(), merges.end());
  std::vector<int32_t> kinds(types.begin(), types.end());
  const std::vector<std::string> marks = {"<think>", "</think>", "<tool_call>", "</tool_call>"};
  for (size_t i = 0; i < marks.size(); ++i) names.pop_back(), kinds.pop_back(), pairs.pop_back();
  for (const std::string& mark : marks) names.push_back(mark), kinds.push_back(3);
  writer->SetStrings("tokenizer.ggml.tokens", names).SetI32s("tokenizer.ggml.token_type", kinds);
  writer->SetStrings("tokenizer.ggml.merges", pairs);
  writer->SetString("tokenizer.chat_template", std::string(chat_template));
  return writer->Build();
}

class ChatTest : public ::testing::Test {
 protected:
  void Open(const ChatSettings& settings = {}, int64_t context = 512,
            std::string_view chat_template = kTemplate) {
    session_.reset();
    opened_.engine.reset();  // what stands on the others goes first
    opened_.backends.reset();
    opened_.host.reset();
    const std::string path = dir_.Write("chat.gguf", ChatModelBytes(chat_template));
    Config config = TestConfig(path, {"ref:0"});
    config.model.context = static_cast<uint64_t>(context);
    config.kv.page_tokens = 16;
    StatusOr<OpenedEngine> opened = OpenEngine(config, 1);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    opened_ = *std::move(opened);
    Logger logger(LogLevel::kError);
    StatusOr<ModelFiles> files = OpenVocabulary(path, logger);
    ASSERT_TRUE(files.ok());
    files_ = *std::move(files);
    warnings_.clear();
    StatusOr<ChatPrompter> prompter = ChatPrompter::Create(files_, settings, &warnings_);
    ASSERT_TRUE(prompter.ok()) << prompter.status().ToString();
    session_ = std::make_unique<ChatSession>(*opened_.engine, *std::move(prompter));
  }
  ChatSession& chat() { return *session_; }

  // The model writes this, names of control tokens as these tokens, then the end of the turn.
  Request Writing(const std::string& text) {
    EncodeOptions special;
    special.parse_special = true;
    script_ = *files_.tokenizer->Encode(text, special);
    script_.push_back(*files_.tokenizer->FindSpecial("<|im_end|>"));
    written_ = 0;
    Request request;
    request.on_logits = [this](int64_t, std::span<const float> row) {
      const_cast<float*>(row.data())[script_[std::min(written_++, script_.size() - 1)]] = 1e9f;
    };
    return request;
  }
  StatusOr<ChatAnswer> Ask(std::string_view text, const std::string& answer) {
    return chat().Ask(text, Writing(answer), {});
  }
  std::string PromptText() {
    const StatusOr<ChatPrompter::Prompt> prompt = chat().prompter().Encode(chat().MessagesJson());
    return prompt.ok() ? Decode(*files_.tokenizer, prompt->tokens, true) : prompt.status().ToString();
  }

  TempDir dir_;
  ModelFiles files_;
  OpenedEngine opened_;
  std::unique_ptr<ChatSession> session_;
  std::vector<std::string> warnings_;
  std::vector<int32_t> script_;
  size_t written_ = 0;
};

TEST_F(ChatTest, AnAnswerIsTakenApartAndAppended) {
  Open();
  chat().SetSystem("S");
  std::string reasoning, content;
  size_t tokens = 0;
  const StatusOr<ChatAnswer> answer =
      chat().Ask("Hi", Writing("<think>\nr s</think>\n\nA \u00E9"), [&](const ChatPiece& piece) {
        tokens += piece.token >= 0;
        for (const AnswerPart& part : piece.parts)
          (part.kind == AnswerPart::Kind::kReasoning ? reasoning : content) += part.text;
      });
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->reason, FinishReason::kStop);
  EXPECT_EQ(answer->reasoning, "r s");
  EXPECT_EQ(answer->content, "A \u00E9");
  EXPECT_EQ(reasoning, "r s");
  EXPECT_EQ(content, "A \u00E9");
  EXPECT_EQ(tokens, answer->stats.completion_tokens);
  EXPECT_EQ(chat().MessagesJson(),
            "[\n{\"role\":\"system\",\"content\":\"S\"},\n{\"role\":\"user\",\"content\":\"Hi\"},\n"
            "{\"role\":\"assistant\",\"content\":\"A \u00E9\",\"reasoning_content\":\"r s\"}\n]\n");
  EXPECT_EQ(PromptText(),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\n<think>r s</think>A \u00E9<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(ChatTest, ACallIsJsonInTheMessageAndInTheNextPrompt) {
  ChatSettings settings;
  settings.tools = kTools;
  Open(settings);
  EXPECT_TRUE(warnings_.empty());
  const StatusOr<ChatAnswer> answer =
      Ask("Hi", "I look.\n<tool_call>f<arg_key>a</arg_key><arg_value>1 \"x\"\n</arg_value></tool_call>");
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  ASSERT_EQ(answer->calls.size(), 1u);
  EXPECT_EQ(answer->calls[0].id, "call_0");
  EXPECT_EQ(answer->calls[0].arguments, R"({"a": "1 \"x\"\n"})");
  EXPECT_EQ(answer->content, "I look.");
  EXPECT_EQ(
      MessageJson(*answer),
      R"({"role":"assistant","content":"I look.","tool_calls":[{"id":"call_0","type":"function","function":)"
      R"({"name":"f","arguments":"{\"a\": \"1 \\\"x\\\"\\n\"}"}}]})");
  chat().AddToolResult("call_0", "<|im_end|>");
  const StatusOr<ChatAnswer> next = chat().Answer(Writing("<tool_call>f</tool_call>"), {});
  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_EQ(next->calls[0].id, "call_1");
  // Ids go on behind those of messages that are loaded.
  const std::string saved = chat().MessagesJson();
  Open(settings);
  ASSERT_TRUE(chat().SetMessages(saved).ok());
  EXPECT_EQ(Ask("Hi", "<tool_call>f</tool_call>")->calls[0].id, "call_2");
}

TEST_F(ChatTest, FieldFailure_M10_ACallCutByLengthIsContent) {
  ChatSettings settings;
  settings.tools = kTools;
  Open(settings);
  Request request = Writing("<tool_call>f<arg_key>a</arg_key><arg_value>long</arg_value></tool_call>");
  request.max_tokens = 8;
  const StatusOr<ChatAnswer> answer = chat().Ask("Hi", request, {});
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->reason, FinishReason::kLength);
  EXPECT_TRUE(answer->calls.empty());
  EXPECT_EQ(answer->content.find("<tool_call>f<arg"), 0u) << answer->content;
}

TEST_F(ChatTest, FieldFailure_M10_HistoryWithNullContentIsTaken) {
  Open();
  ASSERT_TRUE(
      chat()
          .SetMessages(
              R"([{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[)"
              R"({"id":"call_4","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},)"
              R"({"role":"tool","tool_call_id":"call_4","content":"3"}])")
          .ok());
  const StatusOr<ChatAnswer> answer = chat().Answer(Writing("A"), {});
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->content, "A");
}

TEST_F(ChatTest, TheNextTurnGoesOnFromTheLastAndSaysTheSame) {
  Open();
  Request free;
  free.max_tokens = 12;
  const StatusOr<ChatAnswer> first = chat().Ask("Tell me of rivers.", free, {});
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  const StatusOr<ChatAnswer> second = chat().Ask("And of lakes?", free, {});
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  // The model writes noise, which comes back as other tokens; the prompt before it is the same, but perhaps its last
  // line break.
  EXPECT_GE(second->stats.reused_tokens + 1, first->stats.prompt_tokens);
  // The same conversation in an engine that has seen nothing.
  std::string saved = chat().MessagesJson();
  Open();
  ASSERT_TRUE(chat().SetMessages(saved).ok());
  chat().RemoveLast();
  const StatusOr<ChatAnswer> fresh = chat().Answer(free, {});
  ASSERT_TRUE(fresh.ok()) << fresh.status().ToString();
  EXPECT_EQ(fresh->stats.reused_tokens, 0u);
  EXPECT_EQ(MessageJson(*fresh), MessageJson(*second));
  EXPECT_EQ(chat().MessagesJson(), saved);
}

TEST_F(ChatTest, FieldFailure_S05_AConversationThatOutgrowsTheContextSaysSoAndGoesOn) {
  Open({}, 96);
  ASSERT_TRUE(Ask("Hi", "A").ok());
  const std::string before = chat().MessagesJson();
  const StatusOr<ChatAnswer> over = Ask(std::string(200, '~'), "B");
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.status().code(), Code::kInvalidArgument);
  EXPECT_NE(over.status().message().find("do not fit in the context of 96"), std::string::npos)
      << over.status().message();
  EXPECT_EQ(chat().MessagesJson(), before);
  EXPECT_EQ(Ask("More", "C")->content, "C");
  chat().Reset();
  EXPECT_EQ(chat().size(), 0u);
  EXPECT_EQ(Ask("Hi", "A")->content, "A");
}

TEST_F(ChatTest, ACancelledAnswerStaysAsFarAsItCame) {
  Open();
  size_t seen = 0;
  const StatusOr<ChatAnswer> cut = chat().Ask(
      "Hi", Writing("<think>r</think>ABCDEFGH"), [&](const ChatPiece&) { ++seen; },
      [&] { return seen == 5; });
  ASSERT_TRUE(cut.ok()) << cut.status().ToString();
  EXPECT_EQ(cut->reason, FinishReason::kCancelled);
  EXPECT_EQ(cut->reasoning, "r");
  EXPECT_EQ(cut->content, "AB");
  EXPECT_EQ(chat().size(), 2u);
  // The next turn goes on from it.
  const StatusOr<ChatAnswer> next = Ask("Go on", "C");
  ASSERT_TRUE(next.ok());
  EXPECT_GT(next->stats.reused_tokens, 20u);
}

TEST_F(ChatTest, CancelledBeforeItsFirstTokenItWasNeverAsked) {
  Open();
  chat().SetSystem("S");
  const StatusOr<ChatAnswer> none = chat().Ask("Hi", Writing("A"), {}, [] { return true; });
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  EXPECT_EQ(none->reason, FinishReason::kCancelled);
  EXPECT_TRUE(none->empty());
  EXPECT_EQ(chat().size(), 1u);
  EXPECT_EQ(Ask("Hi", "A")->content, "A");
}

TEST_F(ChatTest, FieldFailure_M13_AnAnswerThatFailsIsNotInTheHistory) {
  Open();
  ASSERT_TRUE(Ask("Hi", "A").ok());
  const std::string before = chat().MessagesJson();
  Request request = Writing("BC");
  const auto writes = request.on_logits;
  request.on_logits = [&, writes](int64_t position, std::span<const float> row) {
    writes(position, row);
    if (written_ == 2) const_cast<float*>(row.data())[7] = std::numeric_limits<float>::quiet_NaN();
  };
  const StatusOr<ChatAnswer> failed = chat().Ask("Go on", request, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kDataLoss);
  EXPECT_EQ(chat().MessagesJson(), before);
  EXPECT_EQ(Ask("Go on", "D")->content, "D");
}

TEST_F(ChatTest, ThinkingIsSwitchedWhereTheTemplateKnowsIt) {
  ChatSettings settings;
  settings.thinking = false;
  Open(settings);
  EXPECT_TRUE(warnings_.empty());
  EXPECT_TRUE(chat().prompter().can_switch_thinking());
  EXPECT_NE(PromptText().find("<think></think>"), std::string::npos);
  EXPECT_EQ(Ask("Hi", "\n\nA")->content, "A");  // white space behind the prompt's tag
  ASSERT_TRUE(chat().prompter().SetThinking(true).ok());
  EXPECT_EQ(PromptText().find("<think></think>"), std::string::npos);
  settings.variables = R"({"enable_thinking": true})";
  Open(settings);
  EXPECT_EQ(PromptText().find("<think></think>"), std::string::npos);

  settings.variables = "";
  Open(settings, 512,
       "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}");
  EXPECT_FALSE(chat().prompter().can_switch_thinking());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("thinking off"), std::string::npos) << warnings_[0];
}

TEST_F(ChatTest, SystemCanBeChangedAndTakenAway) {
  Open();
  chat().AddUser("Hi");
  chat().SetSystem("S");
  chat().SetSystem("T");
  EXPECT_EQ(chat().MessagesJson(),
            "[\n{\"role\":\"system\",\"content\":\"T\"},\n{\"role\":\"user\",\"content\":\"Hi\"}\n]\n");
  chat().Reset();
  EXPECT_EQ(chat().size(), 1u);
  chat().SetSystem("");
  EXPECT_EQ(chat().size(), 0u);
}

TEST_F(ChatTest, MessagesThatAreNoneAreRefusedAndNothingChanges) {
  Open();
  chat().AddUser("Hi");
  const std::string before = chat().MessagesJson();
  for (const char* bad :
       {"", "{}", "[3]", "[{\"content\":\"x\"}]", "[{\"role\":\"user\",\"content\":\"x\"}"}) {
    EXPECT_EQ(chat().SetMessages(bad, "saved.json").code(), Code::kInvalidArgument) << bad;
    EXPECT_EQ(chat().MessagesJson(), before);
  }
  ASSERT_TRUE(chat().SetMessages(before).ok());
  EXPECT_EQ(chat().MessagesJson(), before);
}

TEST(ThinkingVariables, WhatEachConventionTakes) {
  const struct {
    const char* source;
    const char *on, *off;
  } rows[] = {
      {"{% if enable_thinking is defined and not enable_thinking %}/nothink{% endif %}",
       R"({"enable_thinking": true})", R"({"enable_thinking": false})"},
      {"{% if not thinking is defined %}{% if enable_thinking is defined %}{% set thinking = enable_thinking "
       "%}{% endif %}{% endif %}{{ thinking }}",
       R"({"enable_thinking": true, "thinking": true})", R"({"enable_thinking": false, "thinking": false})"},
      {"{{ 'Reasoning: ' + reasoning_effort | default('medium') }}", R"({"reasoning_effort": "medium"})",
       R"({"reasoning_effort": "low"})"},
      {"{% if reasoning_effort not in ['high', 'low', 'no_think'] %}{% endif %}",
       R"({"reasoning_effort": "high"})", R"({"reasoning_effort": "no_think"})"},
      {"{% if thinking_budget == 0 %}{% endif %}", "{}", R"({"thinking_budget": 0})"},
      {"{{ message.thinking }}", "{}", "{}"},
  };
  for (const auto& row : rows) {
    const auto parsed = ChatTemplate::Parse(row.source, "t");
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(ThinkingVariables(*parsed, row.source, true), row.on) << row.source;
    EXPECT_EQ(ThinkingVariables(*parsed, row.source, false), row.off) << row.source;
  }
}

// A real model and its own template: two turns with reuse are two turns without.
TEST(SmolLM2Chat, TwoTurnsWithReuseEqualNone) {
  const std::string path = TestModel().string();
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "skipped: no SmolLM2 in the cache; tools/check fetches it";
  const std::string device = HasDevice("cpu_avx512:0") ? "cpu_avx512:0" : "ref:0";
  Config config = TestConfig(path, {device});
  config.model.context = 512;
  const StatusOr<OpenedEngine> opened = OpenEngine(config, 1);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  Logger logger(LogLevel::kError);
  const StatusOr<ModelFiles> files = OpenVocabulary(path, logger);
  ASSERT_TRUE(files.ok());
  std::vector<std::string> warnings;
  StatusOr<ChatPrompter> prompter = ChatPrompter::Create(*files, {}, &warnings);
  ASSERT_TRUE(prompter.ok()) << prompter.status().ToString();
  ChatSession chat(*opened->engine, *std::move(prompter));
  Request request;
  request.max_tokens = device == "ref:0" ? 4 : 24;
  const StatusOr<ChatAnswer> first = chat.Ask("Name a river in France.", request, {});
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  const StatusOr<ChatAnswer> second = chat.Ask("And one in Egypt?", request, {});
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_GT(second->stats.reused_tokens, first->stats.prompt_tokens);
  // What was asked, without anything kept: reuse is off for a request that goes straight to the engine.
  chat.RemoveLast();
  StatusOr<ChatPrompter::Prompt> prompt = chat.prompter().Encode(chat.MessagesJson());
  ASSERT_TRUE(prompt.ok());
  request.prompt = std::move(prompt->tokens);
  ASSERT_TRUE(opened->engine->Submit(request).ok());
  std::string text;
  std::vector<Event> events;
  while (opened->engine->busy()) {
    ASSERT_TRUE(opened->engine->Step(&events).ok());
    for (const Event& event : events) {
      text += event.text;
      if (event.finish) { EXPECT_EQ(event.stats.reused_tokens, 0u); }
    }
  }
  EXPECT_EQ(second->content, text);
  EXPECT_FALSE(text.empty());
}

}  // namespace
}  // namespace motley::test
