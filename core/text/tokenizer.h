// Tokenizer: text to token ids and back, by byte-level BPE (tokenizer.ggml.model = gpt2).
//
// Text is bytes: it need not be valid UTF-8 and may hold NULs, and the tokens' bytes are the text's. The one
// exception: a byte for which the vocabulary has no token at all (SmolLM2 lacks 21) becomes U+FFFD.
//
// Control tokens (<|im_start|> ...) come from trusted text only, so that nobody steers the model by writing
// their names. User-defined tokens are matched whole in any text.
//
// Threads: const methods may be called from any thread. Views returned live as long as the tokenizer.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/text/bpe.h"
#include "core/text/pre_tokenizer.h"
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
  // Checks every value; an error names the key, e.g. tokenizer.ggml.merges[17].
  static StatusOr<Tokenizer> Create(const VocabSource& source);

  // The ids of `text`.
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
  std::string_view pre_name() const { return pre_.rule().name; }
  // The special token (control or user-defined) with this name.
  std::optional<int32_t> FindSpecial(std::string_view name) const { return specials_.Find(name); }

 private:
  friend class TokenizerBuilder;  // tokenizer_create.cc
  struct Range { size_t begin, end; };

  explicit Tokenizer(PreTokenizer pre) : pre_(std::move(pre)) {}

  // Control tokens are made inside `trusted` only: ranges of the text, ascending, not touching.
  StatusOr<std::vector<int32_t>> EncodeText(std::string_view text, const std::vector<Range>& trusted) const;
  Status EncodePlain(std::string_view text, std::vector<std::string_view>* words,
                     std::vector<int32_t>* ids) const;
  Status AddBos(const EncodeOptions& options, bool unless_there, std::vector<int32_t>* ids) const;

  PreTokenizer pre_;
  BpeMerger bpe_;
  SpecialTokens specials_;
  std::vector<TokenType> types_;
  std::vector<char> bytes_;          // of all tokens, one after another
  std::vector<uint32_t> bytes_end_;  // [vocab_size], where each token's bytes end
  std::bitset<256> no_token_;        // bytes that cannot be encoded at all
  std::optional<int32_t> bos_id_, eos_id_, eot_id_, eom_id_, unk_id_, pad_id_;
  std::vector<int32_t> end_ids_;  // see IsEndOfTurn; ascending
  bool add_bos_ = false;
};

}  // namespace motley
