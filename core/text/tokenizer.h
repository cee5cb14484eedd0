// Tokenizer: text to token ids and back, by byte-level BPE (tokenizer.ggml.model = gpt2) or SentencePiece's
// BPE (llama).
//
// Text is bytes: it need not be valid UTF-8 and may hold NULs, and the text of its ids is the text again. The
// exceptions:
//   - a byte or character for which the vocabulary has no token at all: of byte-level BPE it becomes U+FFFD
//   (SmolLM2
//     lacks 21 bytes), of SentencePiece the unknown token; without these the text is refused;
//   - SentencePiece takes U+2581 for a space, and loses spaces where remove_extra_whitespaces asks for it.
//
// Control tokens (<|im_start|> ...) come from trusted text only, so that nobody steers the model by writing
// their names. User-defined tokens are matched whole in any text.
//
// Threads: const methods may be called from any thread. Views returned live as long as the tokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/text/plain_encoder.h"
#include "core/text/special_tokens.h"
#include "core/text/vocab.h"

namespace motley {

// A stretch of a prompt. Control tokens are made only inside trusted stretches.
struct TextSegment {
  std::string text;
  bool trusted = false;
};

struct EncodeOptions {
  std::optional<bool> add_bos;  // absent: as the file asks
  bool parse_special = false;   // Encode only: names of control tokens in the text become these tokens
};

class Tokenizer {
 public:
  // Checks every value; an error names the key, e.g. tokenizer.ggml.merges[17]. What a file may leave out:
  //   - tokenizer.ggml.pre: the rule "default" splits, with a warning;
  //   - token types: the tokens that bos, eos, eot and eom name are control tokens, unknown's is unknown,
  //   <0xHH> of
  //     SentencePiece are bytes, all others normal;
  //   - of SentencePiece the ids of unknown, bos and eos: 0, 1 and 2 where these tokens are of such types;
  //   - the text of a token: an empty one is never made of text and stands for none;
  //   - tokens of bytes and the unknown token: see above.
  static StatusOr<Tokenizer> Create(const VocabSource& source);

  // The ids of `text`. An error names the file.
  StatusOr<std::vector<int32_t>> Encode(std::string_view text, const EncodeOptions& options = {}) const;

  // The ids of the segments read as one text: words and merges run across their borders, as in the text
  // the model was trained on, but a control token lies wholly in trusted text. BOS is not added where the
  // segments begin with it. parse_special is not used.
  StatusOr<std::vector<int32_t>> EncodeSegments(const std::vector<TextSegment>& segments,
                                                const EncodeOptions& options = {}) const;

  // The bytes that token `id` stands for: of a control token its name, and none for an id that is not in
  // the vocabulary (a padded row). Often not whole UTF-8; Detokenizer makes text of it.
  std::string_view TokenBytes(int32_t id) const;
  // The same for people: a byte that is not whole UTF-8 is shown as U+FFFD.
  std::string TokenPiece(int32_t id) const;

  // SentencePiece puts a space in front of the text and behind every special token: "Hi" and " Hi" both begin
  // with the piece " Hi" or " ", and only the second has a space of its own. Whether the space that the first
  // token behind `id` begins with, or the first of all (no id), is such a one; Detokenizer leaves it out.
  bool AddsSpaceBehind(std::optional<int32_t> id) const;

  int32_t vocab_size() const { return static_cast<int32_t>(types_.size()); }
  bool IsValid(int32_t id) const { return id >= 0 && id < vocab_size(); }
  bool IsControl(int32_t id) const;
  // Whether generation stops at `id`: any eos, eot or eom of the file, or a token that always hands over the turn.
  bool IsEndOfTurn(int32_t id) const;
  TokenType type(int32_t id) const { return IsValid(id) ? types_[id] : TokenType::kUnused; }

  std::optional<int32_t> bos_id() const { return bos_id_; }
  std::optional<int32_t> eos_id() const { return eos_id_; }
  std::optional<int32_t> eot_id() const { return eot_id_; }
  std::optional<int32_t> eom_id() const { return eom_id_; }
  std::optional<int32_t> unk_id() const { return unk_id_; }
  std::optional<int32_t> pad_id() const { return pad_id_; }
  bool add_bos() const { return add_bos_; }
  // The special token (control or user-defined) with this name.
  std::optional<int32_t> FindSpecial(std::string_view name) const { return specials_.Find(name); }

  // What is odd about the file and not wrong, for the user to see: one sentence each.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  friend class TokenizerBuilder;  // tokenizer_builder.h
  struct Range {
    size_t begin, end;
  };

  Tokenizer() = default;

  // Control tokens are made inside `trusted` only: ranges of the text, ascending, not touching.
  StatusOr<std::vector<int32_t>> EncodeText(std::string_view text, const std::vector<Range>& trusted) const;
  Status EncodePlain(std::string_view text, std::vector<int32_t>* ids) const;
  Status OfFile(Status status) const;
  Status AddBos(const EncodeOptions& options, bool unless_there, std::vector<int32_t>* ids) const;

  std::string origin_;  // of the vocabulary; may be empty
  std::unique_ptr<const PlainEncoder> encoder_;
  SpecialTokens specials_;
  std::vector<TokenType> types_;
  std::vector<char> bytes_;          // of all tokens, one after another
  std::vector<uint32_t> bytes_end_;  // [vocab_size], where each token's bytes end
  std::optional<int32_t> bos_id_, eos_id_, eot_id_, eom_id_, unk_id_, pad_id_;
  std::vector<int32_t> end_ids_;  // see IsEndOfTurn; ascending
  std::vector<std::string> warnings_;
  bool add_bos_ = false;
  bool adds_space_ = false;         // see AddsSpaceBehind
  bool unknown_is_special_ = true;  // no: it stands for characters of the text
};

}  // namespace motley
