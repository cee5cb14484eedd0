// Tokenizer::Create: checks a VocabSource, value by value, and builds the tokenizer from it.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/byte_alphabet.h"
#include "core/text/end_tokens.h"
#include "core/text/tokenizer.h"
#include "core/text/utf8.h"

namespace motley {
namespace {

std::string Element(const char* key, size_t i) { return std::string(key) + "[" + std::to_string(i) + "]"; }
std::string TokenName(size_t i) { return Element("tokenizer.ggml.tokens", i); }

// For messages: short, printable enough, whatever the file holds.
std::string Quote(std::string_view text) {
  constexpr size_t kMost = 48;
  return "\"" + ToValidUtf8(text.substr(0, kMost)) + (text.size() > kMost ? "...\"" : "\"");
}

}  // namespace

class TokenizerBuilder {
 public:
  TokenizerBuilder(const VocabSource& source, PreTokenizer pre) : source_(source), out_(std::move(pre)) {}

  Status Build() {
    MOTLEY_RETURN_IF_ERROR(CheckCounts());
    MOTLEY_RETURN_IF_ERROR(ReadTypes());
    MOTLEY_RETURN_IF_ERROR(ReadTokens());
    MOTLEY_RETURN_IF_ERROR(ReadSpecialIds());
    SetBytes();
    MOTLEY_RETURN_IF_ERROR(ReadMerges());
    return OkStatus();
  }
  Tokenizer Take() { return std::move(out_); }

 private:
  Status CheckCounts() const;
  Status ReadTypes();
  Status ReadTokens();
  Status ReadToken(size_t i);
  Status ReadSpecialIds();
  Status ReadSpecialId(const char* key, std::optional<int64_t> value, std::optional<int32_t>* id) const;
  void SetBytes();
  Status ReadMerges();
  Status ReadMerge(size_t i, std::string* merged);

  // Whether plain text may become this token.
  bool IsPlain(int32_t id) const { return !out_.IsControl(id) && out_.types_[id] != TokenType::kByte; }

  const VocabSource& source_;
  Tokenizer out_;
  StringMap by_text_;                    // every token, as the file writes it
  std::vector<bool> is_alphabet_;        // [vocab_size], normal and in the alphabet
  std::string bytes_;                    // out_.bytes_ while it grows
  std::array<int32_t, 256> byte_token_;  // <0xHH>, or -1
};

StatusOr<Tokenizer> Tokenizer::Create(const VocabSource& source) {
  if (source.model.empty()) return InvalidArgumentError("tokenizer.ggml.model is missing");
  if (source.model != "gpt2") {
    return UnimplementedError("tokenizer.ggml.model = " + Quote(source.model) +
                              ": only \"gpt2\" (byte-level BPE) is known");
  }
  MOTLEY_ASSIGN_OR_RETURN(PreTokenizer pre, PreTokenizer::Create(source.pre));
  TokenizerBuilder builder(source, std::move(pre));
  MOTLEY_RETURN_IF_ERROR(builder.Build());
  return builder.Take();
}

Status TokenizerBuilder::CheckCounts() const {
  const size_t n = source_.tokens.size();
  const auto must_match = [n](const char* key, size_t count) {
    return InvalidArgumentError(std::string(key) + " has " + std::to_string(count) +
                                " elements: must be as many as tokenizer.ggml.tokens, " + std::to_string(n));
  };
  if (n == 0) return InvalidArgumentError("tokenizer.ggml.tokens is missing or empty");
  if (n > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return InvalidArgumentError("tokenizer.ggml.tokens has " + std::to_string(n) + " elements: at most 2^31-1");
  }
  if (!source_.token_types.empty() && source_.token_types.size() != n) {
    return must_match("tokenizer.ggml.token_type", source_.token_types.size());
  }
  if (!source_.scores.empty() && source_.scores.size() != n) {
    return must_match("tokenizer.ggml.scores", source_.scores.size());
  }
  // Ranks are 32 bits, and the last one means "no merge".
  if (source_.merges.size() >= std::numeric_limits<uint32_t>::max()) {
    return InvalidArgumentError("tokenizer.ggml.merges has " + std::to_string(source_.merges.size()) +
                                " elements: too many");
  }
  uint64_t bytes = 0;
  for (const std::string_view token : source_.tokens) bytes += token.size();
  if (bytes > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgumentError("tokenizer.ggml.tokens has " + std::to_string(bytes) + " bytes: at most 4 GiB");
  }
  return OkStatus();
}

Status TokenizerBuilder::ReadTypes() {
  out_.types_.assign(source_.tokens.size(), TokenType::kNormal);
  for (size_t i = 0; i < source_.token_types.size(); ++i) {
    const int32_t type = source_.token_types[i];
    if (type < 0 || type > 6) {
      return InvalidArgumentError(Element("tokenizer.ggml.token_type", i) + " = " + std::to_string(type) +
                                  ": must be 0..6");
    }
    if (type == 0) continue;  // not said
    out_.types_[i] = static_cast<TokenType>(type);
  }
  return OkStatus();
}

Status TokenizerBuilder::ReadTokens() {
  byte_token_.fill(-1);
  by_text_.Reserve(source_.tokens.size());
  out_.bytes_end_.reserve(source_.tokens.size());
  for (size_t i = 0; i < source_.tokens.size(); ++i) MOTLEY_RETURN_IF_ERROR(ReadToken(i));
  out_.specials_.Finish();
  out_.bytes_.assign(bytes_.begin(), bytes_.end());
  if (!out_.pre_.rule().ignore_merges) return OkStatus();
  out_.bpe_.ReserveWords(source_.tokens.size());
  for (int32_t id = 0; id < out_.vocab_size(); ++id) {
    if (is_alphabet_[id]) out_.bpe_.AddWord(out_.TokenBytes(id), id);
  }
  return OkStatus();
}

Status TokenizerBuilder::ReadToken(size_t i) {
  const std::string_view text = source_.tokens[i];
  const int32_t id = static_cast<int32_t>(i);
  const TokenType type = out_.types_[i];
  if (!IsValidUtf8(text)) return InvalidArgumentError(TokenName(i) + " = " + Quote(text) + " is not valid UTF-8");
  if (!text.empty()) {  // an empty one is never matched, and stands for nothing
    const int32_t other = by_text_.Insert(text, id);
    if (other != StringMap::kNone) {
      return InvalidArgumentError(TokenName(i) + " = " + Quote(text) + ": " + TokenName(other) + " is the same");
    }
  }
  const std::optional<uint8_t> byte = ParseByteToken(text);
  const bool looks_like_byte = text.size() <= 7 && text.substr(0, 3) == "<0x" && text.back() == '>';
  if (!byte.has_value() && (type == TokenType::kByte || looks_like_byte)) {
    return InvalidArgumentError(TokenName(i) + " = " + Quote(text) + ": a byte token must be <0x00> .. <0xFF>");
  }

  bool is_alphabet = false;
  if (type == TokenType::kByte) {
    byte_token_[*byte] = id;
    bytes_.push_back(static_cast<char>(*byte));
  } else if (type == TokenType::kNormal || type == TokenType::kUnused) {
    // A token with a character outside the alphabet stands for its own text; no text ever becomes it.
    is_alphabet = DecodeAlphabet(text, &bytes_);
    if (!is_alphabet) bytes_.append(text);
  } else {
    if (!text.empty()) out_.specials_.Add(text, id, out_.IsControl(id));
    bytes_.append(text);
  }
  is_alphabet_.push_back(is_alphabet && type == TokenType::kNormal && !text.empty());
  out_.bytes_end_.push_back(static_cast<uint32_t>(bytes_.size()));
  return OkStatus();
}

Status TokenizerBuilder::ReadSpecialIds() {
  std::optional<int32_t> sep_id;
  const struct {
    const char* key;
    std::optional<int64_t> value;
    std::optional<int32_t>* id;
  } ids[] = {
      {"tokenizer.ggml.bos_token_id", source_.bos_id, &out_.bos_id_},
      {"tokenizer.ggml.eos_token_id", source_.eos_id, &out_.eos_id_},
      {"tokenizer.ggml.eot_token_id", source_.eot_id, &out_.eot_id_},
      {"tokenizer.ggml.eom_token_id", source_.eom_id, &out_.eom_id_},
      {"tokenizer.ggml.unknown_token_id", source_.unk_id, &out_.unk_id_},
      {"tokenizer.ggml.seperator_token_id", source_.sep_id, &sep_id},
      {"tokenizer.ggml.padding_token_id", source_.pad_id, &out_.pad_id_},
  };
  for (const auto& id : ids) MOTLEY_RETURN_IF_ERROR(ReadSpecialId(id.key, id.value, id.id));

  out_.end_ids_ = EndTokensByName(out_.specials_);
  for (const auto& id : {out_.eos_id_, out_.eot_id_, out_.eom_id_}) {
    if (id.has_value()) out_.end_ids_.push_back(*id);
  }
  for (size_t i = 0; i < source_.end_ids.size(); ++i) {
    std::optional<int32_t> id;
    MOTLEY_RETURN_IF_ERROR(ReadSpecialId(Element("tokenizer.ggml.eos_token_ids", i).c_str(), source_.end_ids[i], &id));
    out_.end_ids_.push_back(*id);
  }
  std::sort(out_.end_ids_.begin(), out_.end_ids_.end());

  if (source_.add_bos == true && !out_.bos_id_.has_value()) {
    return InvalidArgumentError("tokenizer.ggml.add_bos_token = true: tokenizer.ggml.bos_token_id is missing");
  }
  out_.add_bos_ = source_.add_bos.value_or(out_.pre_.rule().add_bos && out_.bos_id_.has_value());
  return OkStatus();
}

Status TokenizerBuilder::ReadSpecialId(const char* key, std::optional<int64_t> value,
                                       std::optional<int32_t>* id) const {
  if (!value.has_value()) return OkStatus();
  if (*value < 0 || *value >= out_.vocab_size()) {
    return InvalidArgumentError(std::string(key) + " = " + std::to_string(*value) + ": must be 0.." +
                                std::to_string(out_.vocab_size() - 1));
  }
  *id = static_cast<int32_t>(*value);
  return OkStatus();
}

// A byte becomes its own token; else <0xHH>; else U+FFFD; else the unknown token, if that steers nothing.
void TokenizerBuilder::SetBytes() {
  constexpr int32_t kNone = BpeMerger::kNone;
  std::array<int32_t, 256> own;
  for (int byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    const int32_t id = by_text_.Find(AlphabetCharacter(static_cast<uint8_t>(byte)));
    const bool usable = id != StringMap::kNone && IsPlain(id) &&
                        out_.TokenBytes(id) == std::string_view(&character, 1);
    own[byte] = usable ? id : byte_token_[byte];
  }
  std::array<int32_t, 3> replacement = {own[0xEF], own[0xBF], own[0xBD]};
  if (replacement[0] == kNone || replacement[1] == kNone || replacement[2] == kNone) {
    const bool usable = out_.unk_id_.has_value() && IsPlain(*out_.unk_id_);
    replacement = {usable ? *out_.unk_id_ : kNone, kNone, kNone};
  }
  for (int byte = 0; byte < 256; ++byte) {
    const bool has_own = own[byte] != kNone;
    if (!has_own && replacement[0] == kNone) out_.no_token_.set(byte);
    out_.bpe_.SetByte(static_cast<uint8_t>(byte),
                      has_own ? std::array<int32_t, 3>{own[byte], kNone, kNone} : replacement);
  }
}

Status TokenizerBuilder::ReadMerges() {
  out_.bpe_.ReserveMerges(source_.merges.size());
  std::string merged;
  for (size_t i = 0; i < source_.merges.size(); ++i) MOTLEY_RETURN_IF_ERROR(ReadMerge(i, &merged));
  return OkStatus();
}

Status TokenizerBuilder::ReadMerge(size_t i, std::string* merged) {
  const std::string_view text = source_.merges[i];
  const auto error = [&](const std::string& what) {
    return InvalidArgumentError(Element("tokenizer.ggml.merges", i) + " = " + Quote(text) + ": " + what);
  };
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == text.size() ||
      text.find(' ', space + 1) != std::string_view::npos) {
    return error("must be two tokens with one space between them");
  }
  const std::string_view left_text = text.substr(0, space);
  const std::string_view right_text = text.substr(space + 1);
  merged->assign(left_text);
  merged->append(right_text);
  const int32_t left = by_text_.Find(left_text);
  const int32_t right = by_text_.Find(right_text);
  const int32_t whole = by_text_.Find(*merged);
  for (const auto& [id, part] : {std::pair<int32_t, std::string_view>{left, left_text},
                                 {right, right_text}, {whole, *merged}}) {
    if (id == StringMap::kNone) return error(Quote(part) + " is not in tokenizer.ggml.tokens");
  }
  // Were these kept, plain text could become a control token, or come back as another text.
  if (!IsPlain(left) || !IsPlain(right) || !IsPlain(whole)) return OkStatus();
  if (!is_alphabet_[left] || !is_alphabet_[right] || !is_alphabet_[whole]) {
    merged->assign(out_.TokenBytes(left));
    merged->append(out_.TokenBytes(right));
    if (out_.TokenBytes(whole) != *merged) return OkStatus();
  }
  if (!out_.bpe_.AddMerge(left, right, static_cast<uint32_t>(i), whole)) return error("is there twice");
  return OkStatus();
}

}  // namespace motley
