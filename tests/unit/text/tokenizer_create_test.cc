// Tokenizer::Create over vocabularies with one fault each: refused, by the key's name.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/text/tokenizer.h"
#include "tests/unit/text/tiny_vocab.h"

namespace motley {
namespace {

using test::TinyVocab;

std::string Refusal(const std::function<void(TinyVocab*)>& spoil, Code code = Code::kInvalidArgument) {
  TinyVocab v;
  v.Merge("a", "b");
  spoil(&v);
  const auto tokenizer = Tokenizer::Create(v.source);
  EXPECT_FALSE(tokenizer.ok());
  if (tokenizer.ok()) return "";
  EXPECT_EQ(tokenizer.status().code(), code);
  return tokenizer.status().message();
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(FieldFailure, G08_ABadByteTokenIsRefused) {
  for (const TokenType type : {TokenType::kByte, TokenType::kNormal}) {
    const std::string m = Refusal([&](TinyVocab* v) { v->AddToken("<0x-1>", type); });
    EXPECT_SAYS(m, "tokenizer.ggml.tokens[257]");
    EXPECT_SAYS(m, "<0x-1>");
  }
  for (const char* text : {"<0x1>", "<0x>", "<0x123>", "<0xGG>", "A", ""}) {
    EXPECT_SAYS(Refusal([&](TinyVocab* v) { v->AddToken(text, TokenType::kByte); }),
                "tokenizer.ggml.tokens[257]");
  }
}

TEST(FieldFailure, G08_ABadMergeIsRefused) {
  for (const char* merge : {"ab", "", " ", " a", "a ", "a  b", "a b c"}) {
    const std::string m = Refusal([&](TinyVocab* v) { v->AddMerge(merge); });
    EXPECT_SAYS(m, "tokenizer.ggml.merges[1]");
    EXPECT_SAYS(m, "one space");
  }
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->AddMerge("a zzz"); }), "\"zzz\" is not in tokenizer.ggml.tokens");
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->AddMerge("zzz a"); }), "\"zzz\" is not in tokenizer.ggml.tokens");
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->AddMerge("b a"); }), "\"ba\" is not in tokenizer.ggml.tokens");
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->AddMerge("a b"); }),
              "tokenizer.ggml.merges[1] = \"a b\": is there twice");
}

TEST(FieldFailure, G08_ASpecialIdOutsideTheVocabularyIsRefused) {
  const std::pair<const char*, std::optional<int64_t> VocabSource::*> ids[] = {
      {"tokenizer.ggml.bos_token_id", &VocabSource::bos_id},
      {"tokenizer.ggml.eos_token_id", &VocabSource::eos_id},
      {"tokenizer.ggml.eot_token_id", &VocabSource::eot_id},
      {"tokenizer.ggml.eom_token_id", &VocabSource::eom_id},
      {"tokenizer.ggml.unknown_token_id", &VocabSource::unk_id},
      {"tokenizer.ggml.seperator_token_id", &VocabSource::sep_id},
      {"tokenizer.ggml.padding_token_id", &VocabSource::pad_id},
  };
  for (const auto& [key, member] : ids) {
    for (const int64_t id : {int64_t{257}, int64_t{-1}, int64_t{1} << 32, INT64_MAX}) {
      const std::string m = Refusal([&, member = member](TinyVocab* v) { v->source.*member = id; });
      EXPECT_SAYS(m, key);
      EXPECT_SAYS(m, std::to_string(id));
      EXPECT_SAYS(m, "0..256");
    }
  }
  EXPECT_SAYS(Refusal([](TinyVocab* v) {
                v->source.end_ids = {3, 257};
              }),
              "tokenizer.ggml.eos_token_ids[1] = 257: must be 0..256");
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->source.add_bos = true; }), "tokenizer.ggml.add_bos_token");
}

TEST(FieldFailure, G08_CountsAndTypesThatDoNotFitAreRefused) {
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->source.token_types.pop_back(); }),
              "tokenizer.ggml.token_type has 256");
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->source.scores = {1.0f}; }), "tokenizer.ggml.scores has 1");
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->source.token_types[9] = 7; }),
              "tokenizer.ggml.token_type[9] = 7");
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->source.token_types[9] = -1; }),
              "tokenizer.ggml.token_type[9] = -1");
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->source.tokens.clear(); }), "tokenizer.ggml.tokens is missing");
}

TEST(FieldFailure, G08_TokensThatAreTheSameOrNotTextAreRefused) {
  const std::string m = Refusal([](TinyVocab* v) { v->AddToken("ab"); });
  EXPECT_SAYS(m, "tokenizer.ggml.tokens[257]");
  EXPECT_SAYS(m, "tokenizer.ggml.tokens[256]");
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->AddToken("x\xFF"); }), "tokenizer.ggml.tokens[257]");
}

TEST(TokenizerCreate, AnUnknownKindIsNamed) {
  for (const char* model : {"bert", "t5", "rwkv", "gemma4", "no_vocab", "Llama", "gpt-2"}) {
    const std::string m = Refusal([&](TinyVocab* v) { v->source.model = model; }, Code::kUnimplemented);
    EXPECT_SAYS(m, std::string("tokenizer.ggml.model = \"") + model + "\"");
    EXPECT_SAYS(m, "\"gpt2\"");
    EXPECT_SAYS(m, "\"llama\"");
  }
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->source.model = ""; }), "tokenizer.ggml.model is missing");
  EXPECT_SAYS(Refusal([](TinyVocab* v) { v->source.pre = "nonsense"; }, Code::kUnimplemented),
              "\"nonsense\"");
}

TEST(TokenizerCreate, AFileThatNamesNoSplitRuleWarns) {
  for (const char* pre : {"", "default"}) {
    TinyVocab v(pre);
    const int32_t three = v.Word("123");
    const auto t = Tokenizer::Create(v.source);
    ASSERT_TRUE(t.ok()) << t.status().ToString();
    ASSERT_EQ(t->warnings().size(), 1u);
    EXPECT_SAYS(t->warnings()[0], "tokenizer.ggml.pre");
    EXPECT_EQ(*t->Encode("1231"), (std::vector<int32_t>{three, '1'}));
  }
  EXPECT_TRUE(Tokenizer::Create(TinyVocab("gpt-2").source)->warnings().empty());
}

TEST(TokenizerCreate, WithoutTypesTheTokensThatTheKeysNameAreControlTokens) {
  TinyVocab v;
  v.source.eos_id = v.AddToken("<end>");
  v.source.unk_id = v.AddToken("<unk>");
  v.source.token_types.clear();
  const auto t = Tokenizer::Create(v.source);
  ASSERT_TRUE(t.ok()) << t.status().ToString();
  EXPECT_EQ(t->type(static_cast<int32_t>(*v.source.eos_id)), TokenType::kControl);
  EXPECT_EQ(t->type(static_cast<int32_t>(*v.source.unk_id)), TokenType::kUnknown);
  EXPECT_EQ(t->type(5), TokenType::kNormal);
}

// Else a template's end of turn would be letters, or anybody's letters the end of a turn.
TEST(TokenizerCreate, TokensThatEndATurnAreControlTokensWhateverTheirType) {
  for (const TokenType type : {TokenType::kNormal, TokenType::kUserDefined}) {
    TinyVocab v;
    const int32_t named = v.AddToken("<|im_end|>", TokenType::kUserDefined), word = v.AddToken("<|user|>");
    const int32_t keyed = v.AddToken("[END]", type), line = v.AddToken("ĊĊ", type);
    v.source.eos_id = keyed;
    v.source.end_ids = {line};  // not written like one: text may well become it
    const auto t = Tokenizer::Create(v.source);
    ASSERT_TRUE(t.ok()) << t.status().ToString();
    EXPECT_TRUE(t->IsControl(named) && t->IsControl(keyed));
    EXPECT_EQ(t->type(line), type);
    EXPECT_EQ(t->type(word), TokenType::kNormal);
    for (const int32_t id : {named, keyed, line}) EXPECT_TRUE(t->IsEndOfTurn(id));
    const auto ids = t->Encode("a<|im_end|>[END]");
    ASSERT_TRUE(ids.ok());
    for (const int32_t id : *ids) EXPECT_FALSE(t->IsControl(id));
  }
}

TEST(TokenizerCreate, TheSourceNeedNotOutliveIt) {
  std::optional<Tokenizer> t;
  {
    TinyVocab v("llama-bpe");
    v.Word("hello");
    auto made = Tokenizer::Create(v.source);
    ASSERT_TRUE(made.ok());
    t.emplace(*std::move(made));
  }
  const auto ids = t->Encode("hello");
  ASSERT_TRUE(ids.ok());
  ASSERT_EQ(ids->size(), 1u);
  EXPECT_EQ(t->TokenBytes(ids->front()), "hello");
}

}  // namespace
}  // namespace motley
