// Tokenizer::Create over SentencePiece vocabularies with one fault each, and with one thing left out.
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/text/tokenizer.h"
#include "tests/unit/text/spm_vocab.h"

namespace motley {
namespace {

using test::SpmVocab;
using Ids = std::vector<int32_t>;

SpmVocab Sound() {
  SpmVocab v;
  v.Piece(" ", -3);
  v.Piece("a", -2);
  v.Piece(" a", -1);  // 261
  return v;
}

std::string Refusal(const std::function<void(SpmVocab*)>& spoil) {
  SpmVocab v = Sound();
  spoil(&v);
  const auto tokenizer = Tokenizer::Create(v.source);
  EXPECT_FALSE(tokenizer.ok());
  if (tokenizer.ok()) return "";
  EXPECT_EQ(tokenizer.status().code(), Code::kInvalidArgument);
  return tokenizer.status().message();
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(FieldFailure, G08_ScoresThatAreNotAre) {
  EXPECT_SAYS(Refusal([](SpmVocab* v) { v->source.scores.clear(); }), "tokenizer.ggml.scores is missing");
  EXPECT_SAYS(Refusal([](SpmVocab* v) { v->source.scores.pop_back(); }), "tokenizer.ggml.scores has 261");
  EXPECT_SAYS(Refusal([](SpmVocab* v) { v->source.scores.push_back(0); }), "tokenizer.ggml.scores has 263");
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    EXPECT_SAYS(Refusal([&](SpmVocab* v) { v->source.scores[260] = bad; }), "tokenizer.ggml.scores[260] = ");
  }
}

TEST(FieldFailure, G08_TokensOfSentencePiece) {
  const std::string same = Refusal([](SpmVocab* v) { v->Add("a", -9); });
  EXPECT_SAYS(same, "tokenizer.ggml.tokens[262] = \"a\"");
  EXPECT_SAYS(same, "tokenizer.ggml.tokens[260]");
  EXPECT_SAYS(Refusal([](SpmVocab* v) { v->Add("<0x-1>", 0, TokenType::kByte); }),
              "tokenizer.ggml.tokens[262]");
  EXPECT_SAYS(Refusal([](SpmVocab* v) { v->Add("x", 0, TokenType::kByte); }), "tokenizer.ggml.tokens[262]");
  EXPECT_SAYS(Refusal([](SpmVocab* v) { v->Add("\xFF", 0); }), "tokenizer.ggml.tokens[262]");
  EXPECT_SAYS(Refusal([](SpmVocab* v) { v->source.token_types.pop_back(); }),
              "tokenizer.ggml.token_type has 261");
  EXPECT_SAYS(Refusal([](SpmVocab* v) { v->source.token_types[4] = 7; }), "tokenizer.ggml.token_type[4] = 7");
  EXPECT_SAYS(Refusal([](SpmVocab* v) { v->source.unk_id = 262; }), "tokenizer.ggml.unknown_token_id = 262");
  EXPECT_SAYS(Refusal([](SpmVocab* v) { v->source.tokens.clear(); }), "tokenizer.ggml.tokens is missing");
}

Tokenizer Make(const SpmVocab& v) {
  auto made = Tokenizer::Create(v.source);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return *std::move(made);
}

TEST(SpmCreate, AnEmptyTokenStandsForNothing) {
  SpmVocab v = Sound();
  const int32_t first = v.Add("", 5), second = v.Add("", 5);
  const Tokenizer t = Make(v);
  EXPECT_EQ(*t.Encode("a"), (Ids{SpmVocab::kBos, 261}));
  EXPECT_EQ(t.TokenBytes(first), "");
  EXPECT_EQ(t.TokenBytes(second), "");
}

TEST(SpmCreate, IdsThatAreLeftOutAreTheUsualOnes) {
  SpmVocab v = Sound();
  v.source.bos_id.reset();
  v.source.eos_id.reset();
  v.source.unk_id.reset();
  const Tokenizer t = Make(v);
  EXPECT_EQ(t.unk_id(), 0);
  EXPECT_EQ(t.bos_id(), 1);
  EXPECT_EQ(t.eos_id(), 2);
  EXPECT_TRUE(t.add_bos());
  EXPECT_TRUE(t.IsEndOfTurn(2));
  // Only where such tokens are there.
  v.source.token_types[0] = v.source.token_types[1] = v.source.token_types[2] = 1;
  const Tokenizer none = Make(v);
  EXPECT_FALSE(none.bos_id().has_value() || none.eos_id().has_value() || none.unk_id().has_value());
  EXPECT_FALSE(none.add_bos());
  v.source.add_bos = true;
  EXPECT_FALSE(Tokenizer::Create(v.source).ok());
}

TEST(SpmCreate, TypesThatAreLeftOutAreGuessed) {
  SpmVocab v = Sound();
  v.source.token_types.clear();
  for (const bool keys : {true, false}) {
    if (!keys) v.source.bos_id = v.source.eos_id = v.source.unk_id = std::nullopt;
    const Tokenizer t = Make(v);
    EXPECT_EQ(t.type(0), TokenType::kUnknown);
    EXPECT_EQ(t.type(1), TokenType::kControl);
    EXPECT_EQ(t.type(2), TokenType::kControl);
    EXPECT_EQ(t.type(SpmVocab::kBytes + 'x'), TokenType::kByte);
    EXPECT_EQ(t.type(260), TokenType::kNormal);
    EXPECT_EQ(*t.Encode("ax"), (Ids{SpmVocab::kBos, 261, SpmVocab::kBytes + 'x'}));
  }
}

TEST(SpmCreate, BytesThatAreCalledNormalAreBytes) {
  SpmVocab v = Sound();
  for (int32_t& type : v.source.token_types) {
    if (type == static_cast<int32_t>(TokenType::kByte)) type = 1;
  }
  const Tokenizer t = Make(v);
  EXPECT_EQ(*t.Encode("x"), (Ids{SpmVocab::kBos, 259, SpmVocab::kBytes + 'x'}));
  EXPECT_EQ(t.TokenBytes(SpmVocab::kBytes + 'x'), "x");
}

// Its own rules split nothing, whatever the file says of it.
TEST(SpmCreate, TheSplitRuleIsNotAskedFor) {
  for (const char* pre : {"", "default", "nonsense"}) {
    SpmVocab v = Sound();
    v.source.pre = pre;
    EXPECT_TRUE(Make(v).warnings().empty());
  }
}

}  // namespace
}  // namespace motley
