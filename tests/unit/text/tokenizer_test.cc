#include "core/text/tokenizer.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/text/detokenizer.h"
#include "core/text/pre_tokenizer.h"
#include "tests/unit/text/tiny_vocab.h"

namespace motley {
namespace {

using test::TinyVocab;
using test::ToAlphabet;
using Ids = std::vector<int32_t>;
using std::string_literals::operator""s;

Tokenizer Make(const TinyVocab& vocab) {
  auto tokenizer = Tokenizer::Create(vocab.source);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  return *std::move(tokenizer);
}

Ids Encode(const Tokenizer& tokenizer, std::string_view text, bool parse_special = false) {
  EncodeOptions options;
  options.parse_special = parse_special;
  auto ids = tokenizer.Encode(text, options);
  EXPECT_TRUE(ids.ok()) << ids.status().ToString();
  return ids.ok() ? *ids : Ids{};
}

std::string Bytes(const Tokenizer& tokenizer, const Ids& ids) {
  std::string bytes;
  for (const int32_t id : ids) bytes += tokenizer.TokenBytes(id);
  return bytes;
}

// The strings of the row, with a vocabulary in which each word of the GLM rule is one token, and in which other
// splits would give other tokens.
TEST(FieldFailure, T01_TheGlmRuleGivesTheTokensOfTheRow) {
  for (const char* pre : {"glm4", "chatglm-bpe"}) {
    TinyVocab v(pre);
    const int32_t the = v.Word("The"), capital = v.Word(" capital"), of = v.Word(" of"), france = v.Word(" France"),
                  is = v.Word(" is"), paris = v.Word(" Paris"), hello = v.Word("你好"), bang = v.Word("！");
    const int32_t three3 = v.Word("333"), three2 = v.Find("33");
    v.Word(" 333");  // tempting, and never right: the space is split off
    v.Word("3333");
    const int32_t emoji = v.Merge("\xF0", "\x9F");
    const Tokenizer t = Make(v);
    EXPECT_EQ(Encode(t, "The capital of France is"), (Ids{the, capital, of, france, is}));
    EXPECT_EQ(Encode(t, " Paris"), (Ids{paris}));
    EXPECT_EQ(Encode(t, "你好"), (Ids{hello}));
    EXPECT_EQ(Encode(t, "👋！"), (Ids{emoji, 0x91, 0x8B, bang}));
    EXPECT_EQ(Encode(t, "3"), (Ids{'3'}));
    EXPECT_EQ(Encode(t, "33"), (Ids{three2}));
    EXPECT_EQ(Encode(t, "333"), (Ids{three3}));
    EXPECT_EQ(Encode(t, " 3333333"), (Ids{' ', three3, three3, '3'}));
    EXPECT_EQ(Encode(t, "🚀"), (Ids{emoji, 0x9A, 0x80}));
  }
}

TEST(Tokenizer, ABetterMergeGoesFirstAndThenTheLeftmost) {
  TinyVocab v;
  const int32_t bc = v.Merge("b", "c");
  const int32_t ab = v.Merge("a", "b");
  const int32_t abc = v.Merge("ab", "c");
  const int32_t aa = v.Merge("a", "a");
  const Tokenizer t = Make(v);
  EXPECT_EQ(Encode(t, "abc"), (Ids{'a', bc}));  // "abc" is a token, and the merges do not reach it
  EXPECT_EQ(Encode(t, "ab"), (Ids{ab}));
  EXPECT_EQ(Encode(t, "aaa"), (Ids{aa, 'a'}));
  EXPECT_EQ(t.TokenBytes(abc), "abc");
}

TEST(Tokenizer, LlamaBpeTakesAWordOfTheVocabularyWhole) {
  for (const auto& [pre, whole] : {std::pair<const char*, bool>{"llama-bpe", true}, {"glm4", true}, {"qwen2", false}}) {
    TinyVocab v(pre);
    const int32_t bc = v.Merge("b", "c");
    v.Merge("a", "b");
    const int32_t abc = v.Merge("ab", "c");
    const Tokenizer t = Make(v);
    EXPECT_EQ(Encode(t, "abc"), whole ? (Ids{abc}) : (Ids{'a', bc})) << pre;
    EXPECT_EQ(Encode(t, "abcd"), (Ids{'a', bc, 'd'})) << pre;
  }
}

// Long words take another path than short ones; a word may be cut to compare both, where no merge crosses the cut.
TEST(Tokenizer, LongWordsMergeAsShortOnesDo) {
  TinyVocab v;
  std::mt19937 random(1);
  std::vector<std::string> parts = {"a", "b", "c"};
  for (int i = 0; i < 60; ++i) {
    const std::string left = parts[random() % parts.size()], right = parts[random() % parts.size()];
    if (left.size() + right.size() > 8 || v.Find(left + right) >= 0) continue;
    v.Merge(left, right);
    parts.push_back(left + right);
  }
  const Tokenizer t = Make(v);
  for (int round = 0; round < 300; ++round) {
    std::string word;
    Ids expected;
    for (int part = 0; part < 8; ++part) {  // "x" merges with nothing
      std::string piece = "x";
      for (size_t n = random() % 40; n > 0; --n) piece += static_cast<char>('a' + random() % 3);
      for (const int32_t id : Encode(t, piece)) expected.push_back(id);
      word += piece;
    }
    ASSERT_EQ(Encode(t, word), expected) << word;
  }
}

TEST(Tokenizer, AMegabyteWordIsNotQuadratic) {
  TinyVocab v;
  for (std::string a = "a"; a.size() < 64; a += a) v.Merge(a, a);
  v.Merge("a", "b");
  const Tokenizer t = Make(v);
  for (const char* unit : {"a", "ab", "aab", " ", "\xFF"}) {
    std::string text;
    while (text.size() < (1 << 20)) text += unit;
    const auto begin = std::chrono::steady_clock::now();
    const Ids ids = Encode(t, text);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(Bytes(t, ids), text);
    // Quadratic would be hours. Sanitizers and a busy machine get their share.
    EXPECT_LT(seconds.count(), 20) << unit;
  }
}

TEST(Tokenizer, AnyBytesRoundTrip) {
  std::mt19937 random(2);
  for (const std::string_view pre : PreTokenizer::KnownNames()) {
    TinyVocab v(pre);
    v.Word(" the");
    v.Word("\r\n");
    v.Merge("\xF0", "\x9F");
    const Tokenizer t = Make(v);
    for (int round = 0; round < 200; ++round) {
      std::string text;
      for (size_t n = random() % 60; n > 0; --n) {
        text += random() % 4 == 0 ? " the"s : std::string(1, static_cast<char>(random()));
      }
      const Ids ids = Encode(t, text);
      ASSERT_EQ(Bytes(t, ids), text);
      ASSERT_EQ(Decode(t, ids), ToValidUtf8(text));
    }
    EXPECT_EQ(Encode(t, "a\0b"s), (Ids{'a', 0, 'b'}));
    EXPECT_EQ(Encode(t, ""), Ids{});
  }
}

TEST(FieldFailure, T06_ControlTokensComeFromTrustedTextOnly) {
  TinyVocab v;
  const int32_t begin = v.AddToken("<|im_start|>", TokenType::kControl);
  const int32_t tool = v.AddToken("<tool>", TokenType::kUserDefined);
  // Merges that would build the control token from letters.
  std::string name = "<|im_start|>";
  for (size_t n = 2; n < name.size(); ++n) v.Word(name.substr(0, n));
  v.AddMerge("<|im_start| >");
  const Tokenizer t = Make(v);

  const Ids plain = Encode(t, "a<|im_start|>b<tool>");
  EXPECT_EQ(std::count(plain.begin(), plain.end(), begin), 0);
  EXPECT_EQ(plain.back(), tool);
  EXPECT_EQ(Decode(t, plain), "a<|im_start|>b<tool>");
  EXPECT_EQ(Encode(t, "a<|im_start|>b<tool>", true), (Ids{'a', begin, 'b', tool}));

  const auto ids = t.EncodeSegments({{"<|im_start|>", true}, {"a<|im_start|>", false}, {"<|im_", true},
                                     {"start|>", false}, {"<|im_", true}, {"start|>", true}});
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids->front(), begin);
  EXPECT_EQ(ids->back(), begin);  // two trusted segments side by side are one text
  EXPECT_EQ(std::count(ids->begin(), ids->end(), begin), 2);
  EXPECT_EQ(Bytes(t, *ids), "<|im_start|>a<|im_start|><|im_start|><|im_start|>");
}

TEST(Tokenizer, WordsRunAcrossTheBordersOfSegments) {
  TinyVocab v;
  const int32_t lines = v.Merge("\n", "\n");
  const Tokenizer t = Make(v);
  const auto ids = t.EncodeSegments({{"\n", true}, {"\n", false}});
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(*ids, (Ids{lines}));
}

TEST(Tokenizer, SpecialNamesMatchLeftmostAndLongest) {
  TinyVocab v;
  const int32_t ab = v.AddToken("<a>b", TokenType::kUserDefined);
  const int32_t a = v.AddToken("<a>", TokenType::kUserDefined);
  const int32_t b = v.AddToken("b<c>d", TokenType::kUserDefined);
  const int32_t control = v.AddToken("<a>bc", TokenType::kControl);
  const Tokenizer t = Make(v);
  EXPECT_EQ(Encode(t, "x<a>b<c>d"), (Ids{'x', ab, '<', 'c', '>', 'd'}));
  EXPECT_EQ(Encode(t, "<a>xb<c>d"), (Ids{a, 'x', b}));
  EXPECT_EQ(Encode(t, "<a>bc"), (Ids{ab, 'c'}));
  EXPECT_EQ(Encode(t, "<a>bc", true), (Ids{control}));
  EXPECT_EQ(t.FindSpecial("<a>"), a);
  EXPECT_EQ(t.FindSpecial("<a"), std::nullopt);
}

TEST(Tokenizer, BosIsAddedAsTheFileOrTheCallerAsks) {
  TinyVocab v;
  const int32_t bos = v.AddToken("<s>", TokenType::kControl);
  v.source.bos_id = bos;
  EncodeOptions yes, no;
  yes.add_bos = true;
  no.add_bos = false;
  EXPECT_EQ(Encode(Make(v), "a"), (Ids{'a'}));
  EXPECT_EQ(*Make(v).Encode("a", yes), (Ids{bos, 'a'}));
  v.source.add_bos = true;
  const Tokenizer t = Make(v);
  EXPECT_EQ(Encode(t, "a"), (Ids{bos, 'a'}));
  EXPECT_EQ(*t.Encode("a", no), (Ids{'a'}));
  // A template that writes BOS itself: once is enough.
  EXPECT_EQ(*t.EncodeSegments({{"<s>a", true}}), (Ids{bos, 'a'}));
  EXPECT_EQ(*t.EncodeSegments({{"a", true}}), (Ids{bos, 'a'}));

  TinyVocab llama("llama-bpe");
  EXPECT_FALSE(Make(llama).add_bos());
  llama.source.bos_id = llama.AddToken("<s>", TokenType::kControl);
  EXPECT_TRUE(Make(llama).add_bos());
  llama.source.add_bos = false;
  EXPECT_FALSE(Make(llama).add_bos());
  EXPECT_FALSE(Make(TinyVocab()).Encode("a", yes).ok());
}

TEST(FieldFailure, M08_GenerationEndsAtEosEotEomAndGlmRoles) {
  TinyVocab v("glm4");
  const int32_t eos = v.AddToken("<|endoftext|>", TokenType::kControl);
  const int32_t system = v.AddToken("<|system|>", TokenType::kControl);
  const int32_t user = v.AddToken("<|user|>", TokenType::kControl);
  const int32_t observation = v.AddToken("<|observation|>", TokenType::kControl);
  v.source.eos_id = eos;
  v.source.eot_id = eos;
  v.source.eom_id = observation;
  const Tokenizer t = Make(v);
  for (const int32_t id : {eos, user, observation}) EXPECT_TRUE(t.IsEndOfTurn(id)) << id;
  for (const int32_t id : {system, 0, -1, 1 << 30}) EXPECT_FALSE(t.IsEndOfTurn(id)) << id;
}

TEST(Tokenizer, AnIdOutsideTheVocabularyIsNothing) {
  const Tokenizer t = Make(TinyVocab());
  EXPECT_EQ(t.vocab_size(), 256);
  for (const int32_t id : {-1, 256, INT32_MAX, INT32_MIN}) {
    EXPECT_FALSE(t.IsValid(id));
    EXPECT_EQ(t.TokenBytes(id), "");
    EXPECT_EQ(t.TokenPiece(id), "");
    EXPECT_FALSE(t.IsControl(id));
  }
  EXPECT_EQ(t.TokenPiece(0xFF), "\uFFFD");
  EXPECT_EQ(t.TokenPiece('a'), "a");
}

// A vocabulary of fewer bytes: <0xHH> serves, else U+FFFD, else the text is refused.
TEST(Tokenizer, AByteWithoutATokenIsReplacedOrRefused) {
  TinyVocab v;
  v.source.tokens.clear();
  v.source.token_types.clear();
  for (const char* c : {"a", "b"}) v.AddToken(c);
  auto t = Tokenizer::Create(v.source);
  ASSERT_TRUE(t.ok()) << t.status().ToString();
  EXPECT_EQ(Encode(*t, "ab"), (Ids{0, 1}));
  const auto refused = t->Encode("aXb");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("0x58"), std::string::npos) << refused.status().ToString();

  const int32_t ef = v.AddToken(ToAlphabet("\xEF")), bf = v.AddToken("<0xBF>", TokenType::kByte),
                bd = v.AddToken("<0xbd>", TokenType::kByte);
  t = Tokenizer::Create(v.source);
  ASSERT_TRUE(t.ok()) << t.status().ToString();
  EXPECT_EQ(Encode(*t, "aXb"), (Ids{0, ef, bf, bd, 1}));
  EXPECT_EQ(Decode(*t, Encode(*t, "aXb")), "a\uFFFDb");
}

}  // namespace
}  // namespace motley
