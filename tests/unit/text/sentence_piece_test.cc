// SentencePiece's BPE through the Tokenizer. Against SentencePiece itself:
// tests/integration/tokenizer_golden_test.cc.
#include "core/text/sentence_piece.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/text/detokenizer.h"
#include "core/text/tokenizer.h"
#include "tests/unit/text/spm_vocab.h"

namespace motley {
namespace {

using test::SpmVocab;
using Ids = std::vector<int32_t>;

Tokenizer Make(const SpmVocab& vocab) {
  auto tokenizer = Tokenizer::Create(vocab.source);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  return *std::move(tokenizer);
}

Ids Encode(const Tokenizer& tokenizer, std::string_view text, bool parse_special = false) {
  EncodeOptions options;
  options.add_bos = false;
  options.parse_special = parse_special;
  auto ids = tokenizer.Encode(text, options);
  EXPECT_TRUE(ids.ok()) << ids.status().ToString();
  return ids.ok() ? *ids : Ids{};
}

int32_t Byte(int byte) {
  return SpmVocab::kBytes + byte;
}

// Without the space in front, that tests of merges can do without.
SpmVocab Plain() {
  SpmVocab v;
  v.source.add_space_prefix = false;
  return v;
}

TEST(SentencePiece, TheHighestScoreMergesFirstAndThenTheLeftmost) {
  SpmVocab v = Plain();
  const int32_t a = v.Piece("a", -10), b = v.Piece("b", -11), c = v.Piece("c", -12);
  const int32_t bc = v.Piece("bc", -1), ab = v.Piece("ab", -2), aa = v.Piece("aa", -3),
                cc = v.Piece("cc", -3);
  const int32_t abc = v.Piece("abc", -9), aabb = v.Piece("aabb", 5);
  const Tokenizer t = Make(v);
  EXPECT_EQ(Encode(t, "abc"), (Ids{abc}));
  EXPECT_EQ(Encode(t, "ab"), (Ids{ab}));
  EXPECT_EQ(Encode(t, "aaa"), (Ids{aa, a}));  // of equals the left one
  EXPECT_EQ(Encode(t, "aaccc"), (Ids{aa, cc, c}));
  EXPECT_EQ(Encode(t, "aab"), (Ids{a, ab}));  // a better one further right
  EXPECT_EQ(Encode(t, "bbc"), (Ids{b, bc}));
  EXPECT_EQ(Encode(t, "aabb"), (Ids{a, ab, b}));  // a piece that no merge reaches
  EXPECT_EQ(t.TokenBytes(aabb), "aabb");
}

TEST(SentencePiece, ACharacterNeedNotBeAPieceToBecomePartOfOne) {
  SpmVocab v = Plain();
  const int32_t xy = v.Piece("xy", -1);
  const Tokenizer t = Make(v);
  EXPECT_EQ(Encode(t, "xyx"), (Ids{xy, Byte('x')}));
}

TEST(SentencePiece, WhatIsNoPieceBecomesItsBytes) {
  const Tokenizer t = Make(Plain());
  EXPECT_EQ(Encode(t, "é"), (Ids{Byte(0xC3), Byte(0xA9)}));
  EXPECT_EQ(Encode(t, "\xFF\x80"), (Ids{Byte(0xFF), Byte(0x80)}));
  EXPECT_EQ(Encode(t, "\xF0\x9F"), (Ids{Byte(0xF0), Byte(0x9F)}));
  EXPECT_EQ(Encode(t, std::string("\0\n", 2)), (Ids{Byte(0), Byte('\n')}));
  EXPECT_EQ(Encode(t, " "), (Ids{Byte(' ')}));
}

TEST(SentencePiece, WithoutBytesARunOfUnknownCharactersIsOneUnknownToken) {
  SpmVocab v(/*bytes=*/false);
  const int32_t a = v.Piece("a", -1), space = v.Piece(" ", -2);
  const Tokenizer t = Make(v);
  EXPECT_EQ(Encode(t, "é☃a☃ ☃"), (Ids{space, SpmVocab::kUnk, a, SpmVocab::kUnk, space, SpmVocab::kUnk}));
  // One missing byte is missing of every character that has it.
  const int32_t c3 = v.Add("<0xC3>", 0, TokenType::kByte), a9 = v.Add("<0xA9>", 0, TokenType::kByte);
  EXPECT_EQ(Encode(Make(v), "aéè"), (Ids{space, a, c3, a9, SpmVocab::kUnk}));
}

TEST(SentencePiece, WithoutBytesAndUnknownTokenTheTextIsRefusedByTheFilesName) {
  SpmVocab v(/*bytes=*/false);
  v.Piece("a", -1);
  v.source.origin = "model.gguf";
  for (const TokenType type : {TokenType::kNormal, TokenType::kControl}) {
    v.source.token_types[0] = static_cast<int32_t>(type);
    if (type == TokenType::kNormal) v.source.unk_id.reset();
    if (type == TokenType::kControl) v.source.unk_id = 0;  // for the template alone
    const Tokenizer t = Make(v);
    EXPECT_TRUE(t.Encode("a").ok());
    const auto refused = t.Encode("aX");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().message().find("model.gguf: "), 0u) << refused.status().ToString();
    EXPECT_NE(refused.status().message().find("0x58"), std::string::npos) << refused.status().ToString();
  }
}

TEST(SentencePiece, ASpaceStandsBeforeTheTextAndBehindEverySpecialToken) {
  SpmVocab v;
  const int32_t space = v.Piece(" ", -9), a = v.Piece("a", -8), space_a = v.Piece(" a", -1),
                two = v.Piece("  ", -2);
  const int32_t tool = v.Add("<tool>", -1000, TokenType::kUserDefined);
  const Tokenizer t = Make(v);
  EXPECT_EQ(Encode(t, ""), Ids{});
  EXPECT_EQ(Encode(t, "a"), (Ids{space_a}));
  EXPECT_EQ(Encode(t, " a"), (Ids{space, space_a}));
  EXPECT_EQ(Encode(t, "aa a"), (Ids{space_a, a, space_a}));
  EXPECT_EQ(Encode(t, " "), (Ids{two}));
  EXPECT_EQ(Encode(t, "a<tool>a<tool><tool>"), (Ids{space_a, tool, space_a, tool, tool}));
  EXPECT_EQ(Encode(t, "<s>a</s>", true), (Ids{SpmVocab::kBos, space_a, SpmVocab::kEos}));
  EXPECT_EQ(*t.Encode("a"), (Ids{SpmVocab::kBos, space_a}));  // BOS is added where the file does not say
  EXPECT_EQ(*t.EncodeSegments({{"<s>", true}, {"a", false}, {"a", true}}), (Ids{SpmVocab::kBos, space_a, a}));
  v.source.add_space_prefix = false;
  v.source.add_bos = false;
  EXPECT_EQ(*Make(v).Encode("a a<tool>a"), (Ids{a, space_a, tool, a}));
}

TEST(SentencePiece, ExtraSpacesGoWhereTheFileSaysSo) {
  SpmVocab v;
  const int32_t space_a = v.Piece(" a", -1), a = v.Piece("a", -8);
  v.Piece("  ", -2);
  v.source.remove_extra_whitespaces = true;
  const Tokenizer t = Make(v);
  EXPECT_EQ(Encode(t, "  a   aa  "), (Ids{space_a, space_a, a}));
  EXPECT_EQ(Encode(t, "   "), Ids{});
  EXPECT_EQ(Encode(t, "a\n \na"), (Ids{space_a, Byte('\n'), Byte(' '), Byte('\n'), a}));
}

TEST(SentencePiece, TheMarkOfASpaceIsASpace) {
  SpmVocab v;
  const int32_t space_a = v.Piece(" a", -1);
  v.Piece("a", -8);
  const Tokenizer t = Make(v);
  EXPECT_EQ(Encode(t, "a\u2581a"), Encode(t, "a a"));
  EXPECT_EQ(t.TokenBytes(space_a), " a");
  EXPECT_EQ(t.TokenPiece(space_a), " a");
}

TEST(SentencePiece, AnUnusedPieceHelpsToMergeAndIsTakenApart) {
  SpmVocab v = Plain();
  const int32_t a = v.Piece("a", -8), b = v.Piece("b", -8);
  v.Piece("ab", -1, TokenType::kUnused);
  const int32_t abc = v.Piece("abc", -2);
  v.Piece("abcd", -3, TokenType::kUnused);
  v.Piece("☃", -4, TokenType::kUnused);
  const Tokenizer t = Make(v);
  EXPECT_EQ(Encode(t, "abab"), (Ids{a, b, a, b}));
  EXPECT_EQ(Encode(t, "abc"), (Ids{abc}));
  EXPECT_EQ(Encode(t, "abcd"), (Ids{abc, Byte('d')}));
}

TEST(FieldFailure, T06_OfSentencePieceToo) {
  SpmVocab v;
  for (const char* piece : {"<s", "/s", "<", ">", "s", "</", "</s", "<0", "x4", "1>", "<0x4", "<0x41"})
    v.Piece(piece, -1);
  const int32_t tool = v.Add("<tool>", 0, TokenType::kUserDefined);
  const Tokenizer t = Make(v);
  const std::string text = "a<s> </s>b<unk><0x41>c<tool>d";
  const Ids plain = Encode(t, text);
  for (const int32_t id : plain) EXPECT_FALSE(t.IsControl(id)) << id;
  EXPECT_EQ(std::count(plain.begin(), plain.end(), Byte('A')), 0);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), tool), 1);
  EXPECT_EQ(Decode(t, plain), text);
  const auto ids = t.EncodeSegments({{"<s>", true}, {"<s></s>", false}, {"</s>", true}});
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(std::count_if(ids->begin(), ids->end(), [&](int32_t id) { return t.IsControl(id); }), 2);
  EXPECT_EQ(ids->front(), SpmVocab::kBos);
  EXPECT_EQ(ids->back(), SpmVocab::kEos);
}

// Gemma's older files write runs of spaces with marks, newer ones with spaces: both mean the text's spaces.
TEST(SentencePiece, UserDefinedRunsOfSpacesAreSpacesHoweverTheyAreWritten) {
  for (const bool marked : {true, false}) {
    SpmVocab v = Plain();
    const int32_t a = v.Piece("a", -8);
    const int32_t two =
        marked ? v.Piece("  ", 0, TokenType::kUserDefined) : v.Add("  ", 0, TokenType::kUserDefined);
    const Tokenizer t = Make(v);
    EXPECT_EQ(Encode(t, "a  a   a"), (Ids{a, two, a, two, Byte(' '), a}));
    EXPECT_EQ(t.TokenBytes(two), "  ");
  }
}

// The algorithm as its authors tell it, with nothing clever: the best pair of all, again and again.
Ids Reference(const std::map<std::string, std::pair<float, int32_t>>& pieces, const std::string& text) {
  std::vector<std::string> parts;
  for (const char c : text) parts.emplace_back(1, c);
  for (;;) {
    size_t best = parts.size();
    float best_score = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto it = pieces.find(parts[i] + parts[i + 1]);
      if (it == pieces.end() || (best != parts.size() && it->second.first <= best_score)) continue;
      best = i;
      best_score = it->second.first;
    }
    if (best == parts.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
  Ids ids;
  for (const std::string& part : parts) {
    const auto it = pieces.find(part);
    ids.push_back(it != pieces.end() ? it->second.second : Byte(static_cast<unsigned char>(part[0])));
  }
  return ids;
}

TEST(SentencePiece, AnyVocabularyMergesAsTheAlgorithmSays) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    SpmVocab v = Plain();
    std::map<std::string, std::pair<float, int32_t>> pieces;
    const char* letters = round % 2 == 0 ? "ab" : "ab ";  // pieces with a space inside, too
    const size_t n = round % 2 == 0 ? 2 : 3;
    for (int i = 0; i < 30; ++i) {
      std::string text;
      for (size_t size = 1 + random() % 5; size > 0; --size) text += letters[random() % n];
      if (pieces.contains(text)) continue;
      const float score = -static_cast<float>(random() % 12);  // many equals
      pieces[text] = {score, v.Piece(text, score)};
    }
    const Tokenizer t = Make(v);
    for (int texts = 0; texts < 10; ++texts) {
      std::string text;
      for (size_t size = random() % 60; size > 0; --size) text += "ab x"[random() % 4];
      ASSERT_EQ(Encode(t, text), Reference(pieces, text)) << '"' << text << '"';
      ASSERT_EQ(Decode(t, Encode(t, text)), text);
    }
  }
}

TEST(SentencePiece, AMegabyteOfAnythingIsNotQuadratic) {
  SpmVocab v;
  float score = 0;
  for (const char* letter : {"a", " ", "\n"}) {
    for (std::string run = letter; run.size() <= 16; run += letter) v.Piece(run, score -= 1);
  }
  v.Piece("ab", -1);
  v.Add("\U0001F999", -50);
  const Tokenizer t = Make(v);
  for (const char* unit : {"a", "ab", "aab", " ", "a ", "\n", "\U0001F999", "\xFF", "x"}) {
    std::string text;
    while (text.size() < (1 << 20)) text += unit;
    const auto begin = std::chrono::steady_clock::now();
    const Ids ids = Encode(t, text);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(Decode(t, ids), ToValidUtf8(text));
    // Quadratic would be hours. Sanitizers and a busy machine get their share.
    EXPECT_LT(seconds.count(), 20) << unit;
  }
}

}  // namespace
}  // namespace motley
