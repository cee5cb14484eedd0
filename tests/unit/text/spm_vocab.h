// A SentencePiece vocabulary for tests: <unk>, <s>, </s>, the 256 bytes as tokens 3..258, then what a test
// adds.
#pragma once

#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/vocab.h"

namespace motley::test {

class SpmVocab {
 public:
  static constexpr int32_t kUnk = 0, kBos = 1, kEos = 2, kBytes = 3;

  explicit SpmVocab(bool bytes = true) {
    source.model = "llama";
    Add("<unk>", 0, TokenType::kUnknown);
    Add("<s>", 0, TokenType::kControl);
    Add("</s>", 0, TokenType::kControl);
    source.bos_id = kBos;
    source.eos_id = kEos;
    source.unk_id = kUnk;
    for (int byte = 0; bytes && byte < 256; ++byte) Add(ByteName(byte), 0, TokenType::kByte);
  }

  static std::string ByteName(int byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
    return name;
  }

  // As the file would write it, U+2581 for a space. Returns the id.
  int32_t Add(std::string text, float score, TokenType type = TokenType::kNormal) {
    source.tokens.push_back(texts_.emplace_back(std::move(text)));
    source.scores.push_back(score);
    source.token_types.push_back(static_cast<int32_t>(type));
    return static_cast<int32_t>(source.tokens.size() - 1);
  }
  // The same, with spaces in `text`.
  int32_t Piece(std::string_view text, float score, TokenType type = TokenType::kNormal) {
    std::string marked;
    for (const char c : text) marked += c == ' ' ? "\u2581" : std::string(1, c);
    return Add(std::move(marked), score, type);
  }

  VocabSource source;

 private:
  std::deque<std::string> texts_;
};

}  // namespace motley::test
