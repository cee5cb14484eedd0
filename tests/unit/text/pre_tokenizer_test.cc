#include "core/text/pre_tokenizer.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace motley {
namespace {

using Words = std::vector<std::string>;
using std::string_literals::operator""s;

Words Split(std::string_view name, std::string_view text) {
  auto pre = PreTokenizer::Create(name);
  if (!pre.ok()) return {pre.status().ToString()};
  std::vector<std::string_view> words;
  const Status status = pre->Split(text, &words);
  if (!status.ok()) return {status.ToString()};
  return Words(words.begin(), words.end());
}

// The names whose rules share no stage; all rules are compared with an independent implementation in
// tests/integration/tokenizer_golden_test.cc.
std::vector<std::string_view> DistinctRules() {
  std::vector<std::string_view> names;
  std::set<const SplitStage*> seen;
  for (const SplitRule& rule : SplitRules()) {
    if (seen.insert(rule.stages.data()).second) names.push_back(rule.name);
  }
  return names;
}

TEST(FieldFailure, T01_GlmSplitsNumbersByThreeAndKeepsTheSpaceOut) {
  for (const char* name : {"glm4", "chatglm-bpe"}) {
    EXPECT_EQ(Split(name, "The capital of France is"), (Words{"The", " capital", " of", " France", " is"}));
    EXPECT_EQ(Split(name, " Paris"), (Words{" Paris"}));
    EXPECT_EQ(Split(name, "你好"), (Words{"你好"}));
    EXPECT_EQ(Split(name, "👋！"), (Words{"👋！"}));
    EXPECT_EQ(Split(name, "3"), (Words{"3"}));
    EXPECT_EQ(Split(name, "33"), (Words{"33"}));
    EXPECT_EQ(Split(name, "333"), (Words{"333"}));
    EXPECT_EQ(Split(name, " 3333333"), (Words{" ", "333", "333", "3"}));
    EXPECT_EQ(Split(name, "🚀"), (Words{"🚀"}));
    EXPECT_EQ(Split(name, "We'LL (see)\r\n\n  x  "), (Words{"We", "'LL", " (", "see", ")\r\n\n", " ", " x", "  "}));
  }
}

TEST(PreTokenizer, EachRuleSplitsInItsOwnWay) {
  const std::string text = "it's IT'S a1234  5\n\n x";
  EXPECT_EQ(Split("gpt-2", text),
            (Words{"it", "'s", " IT", "'", "S", " a", "1234", " ", " 5", "\n\n", " x"}));
  EXPECT_EQ(Split("smollm", text),
            (Words{"it", "'s", " IT", "'", "S", " a", "1", "2", "3", "4", "  ", "5", "\n\n", " x"}));
  EXPECT_EQ(Split("llama-bpe", text),
            (Words{"it", "'s", " IT", "'S", " a", "123", "4", " ", " ", "5", "\n\n", " x"}));
  EXPECT_EQ(Split("qwen2", text),
            (Words{"it", "'s", " IT", "'S", " a", "1", "2", "3", "4", " ", " ", "5", "\n\n", " x"}));
}

TEST(PreTokenizer, UnicodeLettersNumbersAndSpacesCount) {
  EXPECT_EQ(Split("gpt-2", "é١٢½ Привет"), (Words{"é", "١٢½", " Привет"}));
  EXPECT_EQ(Split("smollm", "١٢½"), (Words{"١", "٢", "½"}));
  EXPECT_EQ(Split("gpt-2", "a\u00A0\u3000b"), (Words{"a", "\u00A0", "\u3000", "b"}));
  // No space since Unicode 6.3.
  EXPECT_EQ(Split("gpt-2", "a\u180E b"), (Words{"a", "\u180E", " b"}));
}

TEST(PreTokenizer, AnUnknownNameIsAnErrorThatSaysWhichAreKnown) {
  const auto pre = PreTokenizer::Create("mystery-bpe");
  ASSERT_FALSE(pre.ok());
  EXPECT_EQ(pre.status().code(), Code::kUnimplemented);
  EXPECT_NE(pre.status().message().find("mystery-bpe"), std::string::npos);
  for (const char* name : {"tokenizer.ggml.pre", "smollm", "gpt-2", "llama-bpe", "qwen2", "glm4", "chatglm-bpe",
                           "deepseek-llm", "deepseek-coder", "starcoder", "refact", "command-r", "falcon", "qwen35",
                           "gpt-4o", "tekken", "default"}) {
    EXPECT_NE(pre.status().message().find(name), std::string::npos) << name;
  }
}

TEST(PreTokenizer, TheWordsAreTheTextWhateverItsBytes) {
  std::mt19937 random(3);
  const std::vector<std::string> parts = {"a", "Z", "'s", "'", "1", "  ", "\n", "\r\n", "\t", "é", "½", "你", "👋",
                                          "\u00A0", "\0"s, "\xFF", "\xF0\x9F", "\x80", "!", "\xED\xA0\x80"};
  for (const std::string_view name : DistinctRules()) {
    const auto pre = PreTokenizer::Create(name);
    ASSERT_TRUE(pre.ok()) << pre.status().ToString();
    for (int round = 0; round < 500; ++round) {
      std::string text, joined;
      for (size_t n = random() % 16; n > 0; --n) text += parts[random() % parts.size()];
      std::vector<std::string_view> words;
      ASSERT_TRUE(pre->Split(text, &words).ok());
      for (const std::string_view word : words) {
        ASSERT_FALSE(word.empty());
        joined += word;
      }
      ASSERT_EQ(joined, text);
    }
  }
}

TEST(PreTokenizer, AByteThatIsNotUtf8IsASymbol) {
  EXPECT_EQ(Split("gpt-2", "ab \xFF\xFE" "cd"), (Words{"ab", " \xFF\xFE", "cd"}));
  EXPECT_EQ(Split("qwen2", "a\xF0\x9F"), (Words{"a", "\xF0\x9F"}));
}

// A run of half a million of anything is split in linear time and small stacks.
TEST(PreTokenizer, LongRunsAreSplit) {
  for (const std::string_view name : DistinctRules()) {
    for (const char* unit : {"a", " ", "\n", " \n", "!", "'", "7", "Aa", "A", "\xFF", "é", "中", "\u3000"}) {
      std::string text;
      while (text.size() < (1 << 19)) text += unit;
      text += "x";
      std::string joined;
      for (const std::string& word : Split(name, text)) joined += word;
      ASSERT_EQ(joined, text) << name << unit;
    }
  }
}

TEST(PreTokenizer, DigitsAreCutAsTheRuleCountsThem) {
  EXPECT_EQ(Split("superbpe", "1234567"), (Words{"1", "234", "567"}));
  EXPECT_EQ(Split("superbpe", "123456 a12½345"), (Words{"123", "456", " a", "12½", "345"}));
  EXPECT_EQ(Split("falcon", "1234567"), (Words{"123", "456", "7"}));
  EXPECT_EQ(Split("gpt-4o", "1234567"), (Words{"123", "456", "7"}));
  EXPECT_EQ(Split("tekken", "123"), (Words{"1", "2", "3"}));
  EXPECT_EQ(Split("deepseek-llm", "1234567"), (Words{"1234567"}));
  EXPECT_EQ(Split("deepseek-coder", "123"), (Words{"1", "2", "3"}));
}

TEST(PreTokenizer, CapitalsBeginAWordWhereTheRuleSaysSo) {
  EXPECT_EQ(Split("gpt-4o", "camelCase XMLHttp it's"), (Words{"camel", "Case", " XMLHttp", " it's"}));
  EXPECT_EQ(Split("tekken", "camelCase XMLHttp it's"), (Words{"camel", "Case", " XMLHttp", " it", "'s"}));
  EXPECT_EQ(Split("qwen2", "camelCase"), (Words{"camelCase"}));
}

TEST(PreTokenizer, MarksBelongToTheirLettersWhereTheRuleSaysSo) {
  EXPECT_EQ(Split("qwen35", "a\u0301b"), (Words{"a\u0301b"}));
  EXPECT_EQ(Split("qwen2", "a\u0301b"), (Words{"a", "\u0301b"}));
}

TEST(PreTokenizer, HanIsApartWhereTheRuleSaysSo) {
  EXPECT_EQ(Split("kimi-k2", "ab中文cd【"), (Words{"ab", "中文", "cd", "【"}));
  EXPECT_EQ(Split("deepseek-v3", "ab中文cd"), (Words{"ab", "中文", "cd"}));
  EXPECT_EQ(Split("gpt-4o", "ab中文cd"), (Words{"ab中文cd"}));
}

}  // namespace
}  // namespace motley
