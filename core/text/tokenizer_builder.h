// TokenizerBuilder: checks a VocabSource, value by value, and makes a Tokenizer of it. For Tokenizer::Create
// alone.
//
// tokenizer_create.cc has what both kinds of vocabulary share; byte_level_create.cc and
// sentence_piece_create.cc what is their own.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/text/byte_level.h"
#include "core/text/flat_map.h"
#include "core/text/tokenizer.h"

namespace motley {

class TokenizerBuilder {
 public:
  explicit TokenizerBuilder(const VocabSource& source)
      : source_(source), is_byte_level_(source.model == "gpt2") {}

  Status Build();
  Tokenizer Take() { return std::move(out_); }

 private:
  Status CheckCounts() const;
  Status ReadTypes();
  std::vector<size_t> KeyedControlIds() const;
  void GuessTypes();
  void CorrectTypes();
  Status ReadTokens();
  Status ReadToken(size_t i);
  void AppendSpecial(std::string_view text, int32_t id);
  Status ReadSpecialIds();
  Status ReadEndIds();
  Status ReadSpecialId(const char* key, std::optional<int64_t> value, std::optional<int32_t>* id) const;
  bool IsType(size_t id, TokenType type) const { return id < out_.types_.size() && out_.types_[id] == type; }

  Status StartByteLevel();
  void AppendByteLevel(std::string_view text, int32_t id);
  Status FinishByteLevel();
  void SetWords();
  void SetBytes();
  Status ReadMerge(size_t i, std::string* merged);
  // Whether plain text may become this token.
  bool IsPlain(int32_t id) const { return !out_.IsControl(id) && !IsType(id, TokenType::kByte); }

  void SetUsualIds();
  Status CheckScores() const;
  Status FinishSentencePiece();

  const VocabSource& source_;
  const bool is_byte_level_;
  Tokenizer out_;
  StringMap by_text_;                    // every token, as the file writes it
  std::string bytes_;                    // out_.bytes_ while it grows
  std::array<int32_t, 256> byte_token_;  // <0xHH>, or -1
  bool usual_add_bos_ = true;            // where the file does not say

  // Of byte-level vocabularies.
  std::unique_ptr<ByteLevelEncoder> byte_level_;
  bool ignore_merges_ = false;
  std::vector<bool> is_alphabet_;  // [vocab_size], normal and in the alphabet
};

// For messages. Element: "tokenizer.ggml.tokens[7]". Quote: short and printable, whatever the file holds.
std::string Element(const char* key, size_t i);
std::string Quote(std::string_view text);

}  // namespace motley
