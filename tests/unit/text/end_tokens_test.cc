#include "core/text/end_tokens.h"

#include <string>

#include <gtest/gtest.h>

#include "core/text/tokenizer.h"
#include "tests/unit/text/tiny_vocab.h"

namespace motley {
namespace {

using test::TinyVocab;

Tokenizer Make(const TinyVocab& v) {
  auto tokenizer = Tokenizer::Create(v.source);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  return *std::move(tokenizer);
}

class EndTokenRow : public ::testing::TestWithParam<const char*> {};

// In a file whose keys name another token, or none.
TEST_P(EndTokenRow, FieldFailure_M08_EndsAnAnswer) {
  for (const TokenType type : {TokenType::kControl, TokenType::kUserDefined}) {
    TinyVocab v;
    const int32_t id = v.AddToken(GetParam(), type);
    EXPECT_TRUE(Make(v).IsEndOfTurn(id));
    v.source.eos_id = v.AddToken("<other>", TokenType::kControl);
    EXPECT_TRUE(Make(v).IsEndOfTurn(id));
    EXPECT_TRUE(Make(v).IsEndOfTurn(id + 1));
  }
  // A word of the text that is spelled like it does not.
  TinyVocab v;
  const int32_t id = v.AddToken(GetParam());
  EXPECT_FALSE(Make(v).IsEndOfTurn(id));
}

INSTANTIATE_TEST_SUITE_P(Names, EndTokenRow,
                         ::testing::Values("<|endoftext|>", "<|user|>", "<|observation|>", "<|im_end|>",
                                           "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>",
                                           "<|eom|>", "</s>", "<eos>", "<end_of_turn>", "<turn|>", "<|end|>",
                                           "<|return|>", "<|call|>", "<|END_OF_TURN_TOKEN|>",
                                           "<\uFF5Cend\u2581of\u2581sentence\uFF5C>", "<|role_end|>",
                                           "<end_of_utterance>"));

TEST(EndTokens, OthersDoNotEndAnAnswer) {
  for (const char* name : {"<|im_start|>", "<|assistant|>", "<|system|>", "<think>", "</think>",
                           "<tool_call>", "<s>", "<|eot_id|> "}) {
    TinyVocab v;
    const int32_t id = v.AddToken(name, TokenType::kControl);
    EXPECT_FALSE(Make(v).IsEndOfTurn(id)) << name;
  }
}

TEST(EndTokens, EveryIdThatTheFileNamesEndsAnAnswer) {
  TinyVocab v;
  v.source.eos_id = 3;
  v.source.eot_id = 7;
  v.source.eom_id = 5;
  v.source.end_ids = {9, 3, 1};
  const Tokenizer t = Make(v);
  for (int32_t id = 0; id < 256; ++id) {
    EXPECT_EQ(t.IsEndOfTurn(id), id == 1 || id == 3 || id == 5 || id == 7 || id == 9) << id;
  }
}

TEST(EndTokens, GptOssGoesOnBehindTheEndOfAMessage) {
  TinyVocab v;
  const int32_t end = v.AddToken("<|end|>", TokenType::kControl);
  const int32_t give_back = v.AddToken("<|return|>", TokenType::kControl);
  EXPECT_FALSE(Make(v).IsEndOfTurn(end));
  EXPECT_TRUE(Make(v).IsEndOfTurn(give_back));
}

}  // namespace
}  // namespace motley
