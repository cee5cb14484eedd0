#include "core/text/pre_tokenizer.h"

#include <random>
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
  for (const char* name : {"tokenizer.ggml.pre", "smollm", "gpt-2", "llama-bpe", "qwen2", "glm4", "chatglm-bpe"}) {
    EXPECT_NE(pre.status().message().find(name), std::string::npos) << name;
  }
}

TEST(PreTokenizer, TheWordsAreTheTextWhateverItsBytes) {
  std::mt19937 random(3);
  const std::vector<std::string> parts = {"a", "Z", "'s", "'", "1", "  ", "\n", "\r\n", "\t", "é", "½", "你", "👋",
                                          "\u00A0", "\0"s, "\xFF", "\xF0\x9F", "\x80", "!", "\xED\xA0\x80"};
  for (const std::string_view name : PreTokenizer::KnownNames()) {
    for (int round = 0; round < 500; ++round) {
      std::string text;
      for (size_t n = random() % 16; n > 0; --n) text += parts[random() % parts.size()];
      std::string joined;
      for (const std::string& word : Split(name, text)) {
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

// A run of a million of anything is split in linear time and small stacks.
TEST(PreTokenizer, LongRunsAreSplit) {
  for (const std::string_view name : PreTokenizer::KnownNames()) {
    for (const char* unit : {"a", " ", "\n", "!", "\xFF", "é"}) {
      std::string text;
      while (text.size() < (1 << 20)) text += unit;
      text += "x";
      std::string joined;
      for (const std::string& word : Split(name, text)) joined += word;
      ASSERT_EQ(joined, text) << name << unit;
    }
  }
}

}  // namespace
}  // namespace motley
