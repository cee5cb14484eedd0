#include "core/text/detokenizer.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/text/tiny_vocab.h"

namespace motley {
namespace {

using test::TinyVocab;

Tokenizer Make(const TinyVocab& v) {
  auto tokenizer = Tokenizer::Create(v.source);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  return *std::move(tokenizer);
}

// The rows of the field failure: each piece is one token.
TEST(FieldFailure, T03_Rows) {
  const struct {
    const char* what;
    std::vector<std::string> pieces, texts;  // the text after each piece, and after the end
  } rows[] = {
      {"20 F0 9F, 98 B8", {" \xF0\x9F", "\x98\xB8"}, {" ", "\U0001F638", ""}},
      {"an end after F0 9F", {"a\xF0\x9F"}, {"a", "\uFFFD"}},
      {"C0 80", {"\xC0\x80", "a"}, {"\uFFFD\uFFFD", "a", ""}},
      {"ED A0 80", {"\xED\xA0\x80", "a"}, {"\uFFFD\uFFFD\uFFFD", "a", ""}},
      {"ED | A0 | 80", {"\xED", "\xA0", "\x80", "a"}, {"", "\uFFFD\uFFFD", "\uFFFD", "a", ""}},
      {"begun, then something else",
       {"\xF0\x9F\x98", "a"},
       {"",
        "\uFFFD"
        "a",
        ""}},
  };
  for (const auto& row : rows) {
    TinyVocab v;
    std::vector<int32_t> ids;
    for (const std::string& piece : row.pieces) {
      const int32_t known = v.Find(test::ToAlphabet(piece));
      ids.push_back(known >= 0 ? known : v.AddToken(test::ToAlphabet(piece)));
    }
    const Tokenizer tokenizer = Make(v);
    Detokenizer detokenizer(&tokenizer);
    std::string streamed;
    for (size_t i = 0; i <= ids.size(); ++i) {
      std::string text;
      if (i < ids.size())
        detokenizer.Push(ids[i], &text);
      else
        detokenizer.Flush(&text);
      EXPECT_EQ(text, row.texts[i]) << row.what << " piece " << i;
      streamed += text;
    }
    EXPECT_EQ(streamed, Decode(tokenizer, ids)) << row.what;
  }
}

TEST(Detokenizer, ControlTokensLeaveNoTextUnlessTheyAreShown) {
  TinyVocab v;
  const int32_t think = v.AddToken("<think>", TokenType::kControl);
  const int32_t end = v.AddToken("<|im_end|>", TokenType::kControl);
  const int32_t user = v.AddToken("<tool_call>", TokenType::kUserDefined);
  const Tokenizer tokenizer = Make(v);
  const std::vector<int32_t> ids = {think, 'a', end, user};
  EXPECT_EQ(Decode(tokenizer, ids), "a<tool_call>");
  EXPECT_EQ(Decode(tokenizer, ids, true), "<think>a<|im_end|><tool_call>");
  Detokenizer some(&tokenizer, false, {think});
  std::string text;
  for (const int32_t id : ids) some.Push(id, &text);
  EXPECT_EQ(text, "<think>a<tool_call>");
}

}  // namespace
}  // namespace motley
