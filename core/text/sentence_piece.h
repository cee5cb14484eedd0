// SentencePieceEncoder: SentencePiece's BPE, tokenizer.ggml.model = llama.
//
// Characters merge, the pair with the highest score first and the leftmost of equals, until no two neighbours
// are a piece together. A character that is no piece becomes its bytes, <0x00> .. <0xFF>; where these are
// missing, the unknown token, one for a run of such characters. (The algorithm: T. Kudo and J. Richardson,
// SentencePiece, 2018, and its bpe_model.cc; bytes that are not UTF-8, which it replaces, are kept here.)
//
// Pieces and texts are compared with spaces for U+2581, which SentencePiece writes for a space: they are the
// same to it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/flat_map.h"
#include "core/text/plain_encoder.h"

namespace motley {

// U+2581.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";
// `text` with a space for each U+2581.
void AppendWithSpaces(std::string_view text, std::string* out);

class SentencePieceEncoder final : public PlainEncoder {
 public:
  struct Options {
    bool add_space_prefix = true;           // a space in front of every text
    bool remove_extra_whitespaces = false;  // runs of spaces become one, none at the beginning and the end
  };

  SentencePieceEncoder(const Options& options, size_t pieces);

  // `text`, with spaces, is not copied and not empty. Equal scores are fine; NaN is not. An `unused` piece
  // helps to merge, and is taken apart again where it stays. False: the text is a piece already.
  bool AddPiece(std::string_view text, int32_t id, float score, bool unused);
  void SetByte(uint8_t byte, int32_t id) { byte_id_[byte] = id; }
  void SetUnknown(int32_t id) { unknown_id_ = id; }
  bool HasAllBytes() const;
  // Where no piece begins with a space, one in front would serve nobody.
  bool AddsSpacePrefix() const { return options_.add_space_prefix && space_begins_; }

  // Time O(n log n), whatever the text.
  Status Encode(std::string_view text, std::vector<int32_t>* ids) const override;

 private:
  static constexpr int32_t kNone = -1;
  struct Symbol;
  struct Candidate;
  struct Work;

  std::string Normalise(std::string_view text) const;
  Status EncodeWord(std::string_view word, Work* work, std::vector<int32_t>* ids) const;
  void Propose(std::string_view word, uint32_t left, Work* work) const;
  Status TakeApart(std::string_view piece, Work* work, std::vector<int32_t>* ids) const;
  Status AppendBytes(std::string_view character, Work* work, std::vector<int32_t>* ids) const;

  Options options_;
  StringMap pieces_;
  std::vector<float> score_;   // [ids]
  std::vector<bool> unused_;   // [ids]
  size_t longest_bytes_ = 0;   // of all pieces
  bool space_begins_ = false;  // a piece has a space in front
  bool space_inside_ = false;  // a piece has a space behind another character: words merge with words
  bool any_unused_ = false;
  std::array<int32_t, 256> byte_id_;  // or kNone
  int32_t unknown_id_ = kNone;
};

}  // namespace motley
