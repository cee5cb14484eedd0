// A vocabulary for tests: all 256 bytes as tokens 0..255, then what a test adds by merges and names.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/byte_alphabet.h"
#include "core/text/vocab.h"

namespace motley::test {

// `bytes` in the byte-level alphabet.
inline std::string ToAlphabet(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += AlphabetCharacter(static_cast<uint8_t>(c));
  return out;
}

class TinyVocab {
 public:
  explicit TinyVocab(std::string_view pre = "gpt-2") {
    source.model = "gpt2";
    source.pre = pre;
    for (int byte = 0; byte < 256; ++byte) AddToken(AlphabetCharacter(static_cast<uint8_t>(byte)));
  }

  // As the file would write it. Returns the id.
  int32_t AddToken(std::string text, TokenType type = TokenType::kNormal) {
    source.tokens.push_back(texts_.emplace_back(std::move(text)));
    source.token_types.push_back(static_cast<int32_t>(type));
    return static_cast<int32_t>(source.tokens.size() - 1);
  }
  void AddMerge(std::string text) { source.merges.push_back(texts_.emplace_back(std::move(text))); }

  // The merge of two tokens, given as bytes, and the token it makes. Returns its id.
  int32_t Merge(std::string_view left, std::string_view right) {
    AddMerge(ToAlphabet(left) + " " + ToAlphabet(right));
    return AddToken(ToAlphabet(std::string(left) + std::string(right)));
  }
  // All that is needed to make `word` one token, letter by letter from the left. Returns its id.
  int32_t Word(std::string_view word) {
    int32_t id = -1;
    for (size_t n = 2; n <= word.size(); ++n) {
      const std::string text = ToAlphabet(word.substr(0, n));
      id = Find(text);
      if (id < 0) id = Merge(word.substr(0, n - 1), word.substr(n - 1, 1));
    }
    return id;
  }
  int32_t Find(std::string_view text) const {
    for (size_t i = 0; i < source.tokens.size(); ++i) {
      if (source.tokens[i] == text) return static_cast<int32_t>(i);
    }
    return -1;
  }

  VocabSource source;

 private:
  std::deque<std::string> texts_;
};

}  // namespace motley::test
