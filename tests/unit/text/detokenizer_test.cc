#include "core/text/detokenizer.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/text/tokenizer.h"
#include "tests/unit/text/spm_vocab.h"
#include "tests/unit/text/tiny_vocab.h"

namespace motley {
namespace {

using test::SpmVocab;
using test::TinyVocab;
using Ids = std::vector<int32_t>;

Tokenizer Make(const VocabSource& source) {
  auto tokenizer = Tokenizer::Create(source);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  return *std::move(tokenizer);
}

std::string Stream(Detokenizer& detokenizer, const Ids& ids) {
  std::string text;
  for (const int32_t id : ids) detokenizer.Push(id, &text);
  detokenizer.Flush(&text);
  return text;
}

TEST(Detokenizer, ControlTokensAreHiddenAndCharactersAreWhole) {
  TinyVocab v;
  const int32_t end = v.AddToken("<|im_end|>", TokenType::kControl);
  const int32_t half = v.Word(" \xF0\x9F");
  const Tokenizer t = Make(v.source);
  Detokenizer detokenizer(&t);
  std::string out;
  detokenizer.Push(half, &out);
  EXPECT_EQ(out, " ");
  detokenizer.Push(end, &out);
  detokenizer.Push(0x98, &out);
  detokenizer.Push(999999, &out);
  detokenizer.Push(0xB8, &out);
  EXPECT_EQ(out, " \U0001F638");
  EXPECT_EQ(Decode(t, {'a', end, half}), "a \uFFFD");
  EXPECT_EQ(Decode(t, {'a', end}, /*show_control=*/true), "a<|im_end|>");
}

class SpaceInFront : public testing::Test {
 protected:
  SpaceInFront() {
    space_ = v_.Piece(" ", -9);
    a_ = v_.Piece("a", -8);
    space_a_ = v_.Piece(" a", -1);
    two_ = v_.Piece("  ", -2);
    tool_ = v_.Add("<tool>", 0, TokenType::kUserDefined);
  }
  SpmVocab v_;
  int32_t space_, a_, space_a_, two_, tool_;
};

TEST_F(SpaceInFront, TheTokenizersOwnIsLeftOutAndTheTextsIsKept) {
  const Tokenizer t = Make(v_.source);
  EXPECT_EQ(Decode(t, {space_a_, space_a_}), "a a");
  EXPECT_EQ(Decode(t, {space_, space_a_}), " a");
  EXPECT_EQ(Decode(t, {two_, a_}), " a");
  EXPECT_EQ(Decode(t, {a_, space_a_}), "a a");
  EXPECT_EQ(Decode(t, {SpmVocab::kBos, space_a_}), "a");
  EXPECT_EQ(Decode(t, {space_a_, SpmVocab::kEos, space_a_}), "aa");
  EXPECT_EQ(Decode(t, {space_a_, SpmVocab::kEos, space_a_}, /*show_control=*/true), "a</s>a");
  EXPECT_EQ(Decode(t, {space_a_, tool_, space_a_}), "a<tool>a");
  // Where the space alone is no piece it is a byte.
  SpmVocab v;
  v.Piece(" a", -1);
  const Tokenizer bytes = Make(v.source);
  EXPECT_EQ(*bytes.Encode("b"), (Ids{SpmVocab::kBos, SpmVocab::kBytes + ' ', SpmVocab::kBytes + 'b'}));
  EXPECT_EQ(Decode(bytes, *bytes.Encode("b")), "b");
}

// What llama.cpp prints of an answer piece by piece, but for the space that is not the model's.
TEST_F(SpaceInFront, AnAnswerGoesOnWhereItsPromptEnds) {
  const Tokenizer t = Make(v_.source);
  Detokenizer behind_text(&t), behind_control(&t), behind_nothing(&t), behind_bos(&t), behind_tool(&t);
  behind_text.Continue(a_);
  EXPECT_EQ(Stream(behind_text, {space_a_, space_a_}), " a a");
  behind_control.Continue(SpmVocab::kEos);
  EXPECT_EQ(Stream(behind_control, {space_a_, space_a_}), "a a");
  behind_bos.Continue(SpmVocab::kBos);
  EXPECT_EQ(Stream(behind_bos, {space_a_}), "a");
  behind_tool.Continue(tool_);
  EXPECT_EQ(Stream(behind_tool, {space_a_}), "a");
  EXPECT_EQ(Stream(behind_nothing, {space_a_}), "a");
  behind_text.Reset();
  EXPECT_EQ(Stream(behind_text, {space_a_}), "a");
}

TEST_F(SpaceInFront, IsKeptWhereTheFileAddsNone) {
  v_.source.add_space_prefix = false;
  const Tokenizer t = Make(v_.source);
  EXPECT_EQ(Decode(t, {space_a_, tool_, space_a_}), " a<tool> a");
  TinyVocab bytes;
  bytes.source.add_space_prefix = true;  // says nothing to byte-level BPE
  const int32_t word = bytes.Word(" a");
  EXPECT_EQ(Decode(Make(bytes.source), {word}), " a");
}

// Prompt and answer, cut anywhere, read as the whole; so does any text with names of special tokens in it.
TEST_F(SpaceInFront, EveryCutGivesTheWholeText) {
  const Tokenizer t = Make(v_.source);
  std::mt19937 random(5);
  const std::vector<std::string> parts = {"a", " ",    "  ", "<tool>",          "<s>",
                                          "é", "\xFF", "\n", "\xF0\x9F\xA6\x99"};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (size_t n = random() % 8; n > 0; --n) text += parts[random() % parts.size()];
    EncodeOptions options;
    options.add_bos = false;
    options.parse_special = random() % 2 == 0;
    const auto ids = t.Encode(text, options);
    ASSERT_TRUE(ids.ok());
    ASSERT_EQ(Decode(t, *ids, /*show_control=*/true), ToValidUtf8(text));
    for (size_t cut = 1; cut <= ids->size(); ++cut) {
      Detokenizer prompt(&t, true), answer(&t, true);
      answer.Continue((*ids)[cut - 1]);
      std::string all;
      for (size_t i = 0; i < cut; ++i) prompt.Push((*ids)[i], &all);
      if (prompt.held_back()) continue;  // a character is not cut in two
      for (size_t i = cut; i < ids->size(); ++i) answer.Push((*ids)[i], &all);
      answer.Flush(&all);
      ASSERT_EQ(all, ToValidUtf8(text)) << cut;
    }
  }
}

}  // namespace
}  // namespace motley
