// Tokenizer::Create: what the vocabularies of both kinds share.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/text/byte_alphabet.h"
#include "core/text/end_tokens.h"
#include "core/text/sentence_piece.h"
#include "core/text/tokenizer_builder.h"
#include "core/text/utf8.h"

namespace motley {
namespace {

std::string TokenName(size_t i) {
  return Element("tokenizer.ggml.tokens", i);
}

// "<...>" or "[...]".
bool LooksSpecial(std::string_view text) {
  return text.size() > 2 &&
         ((text.front() == '<' && text.back() == '>') || (text.front() == '[' && text.back() == ']'));
}

bool IsSpaceMarksOnly(std::string_view text) {
  while (text.substr(0, kSpaceMark.size()) == kSpaceMark) text.remove_prefix(kSpaceMark.size());
  return text.empty();
}

// What names of tokenizer.ggml.model stand for, where people know it by another.
const char* KindOf(std::string_view model) {
  if (model == "bert") return " (WordPiece)";
  if (model == "t5") return " (SentencePiece's unigram model)";
  return "";
}

}  // namespace

std::string Element(const char* key, size_t i) {
  return std::string(key) + "[" + std::to_string(i) + "]";
}

std::string Quote(std::string_view text) {
  constexpr size_t kMost = 48;
  return "\"" + ToValidUtf8(text.substr(0, kMost)) + (text.size() > kMost ? "...\"" : "\"");
}

StatusOr<Tokenizer> Tokenizer::Create(const VocabSource& source) {
  if (source.model.empty()) return InvalidArgumentError("tokenizer.ggml.model is missing");
  if (source.model != "gpt2" && source.model != "llama") {
    return UnimplementedError(
        "tokenizer.ggml.model = " + Quote(source.model) + KindOf(source.model) +
        " is not supported: known are \"gpt2\" (byte-level BPE) and \"llama\" (SentencePiece's BPE)");
  }
  TokenizerBuilder builder(source);
  MOTLEY_RETURN_IF_ERROR(builder.Build());
  return builder.Take();
}

Status TokenizerBuilder::Build() {
  out_.origin_ = source_.origin;
  if (is_byte_level_) MOTLEY_RETURN_IF_ERROR(StartByteLevel());
  MOTLEY_RETURN_IF_ERROR(CheckCounts());
  MOTLEY_RETURN_IF_ERROR(ReadTypes());
  MOTLEY_RETURN_IF_ERROR(ReadTokens());
  MOTLEY_RETURN_IF_ERROR(ReadSpecialIds());
  return is_byte_level_ ? FinishByteLevel() : FinishSentencePiece();
}

Status TokenizerBuilder::CheckCounts() const {
  const size_t n = source_.tokens.size();
  const auto must_match = [n](const char* key, size_t count) {
    return InvalidArgumentError(std::string(key) + " has " + std::to_string(count) +
                                " elements: must be as many as tokenizer.ggml.tokens, " + std::to_string(n));
  };
  if (n == 0) return InvalidArgumentError("tokenizer.ggml.tokens is missing or empty");
  if (n > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return InvalidArgumentError("tokenizer.ggml.tokens has " + std::to_string(n) +
                                " elements: at most 2^31-1");
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
    return InvalidArgumentError("tokenizer.ggml.tokens has " + std::to_string(bytes) +
                                " bytes: at most 4 GiB");
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
  if (source_.token_types.empty()) GuessTypes();
  CorrectTypes();
  return OkStatus();
}

// The ids that the keys give to control tokens, as far as they are there.
std::vector<size_t> TokenizerBuilder::KeyedControlIds() const {
  std::vector<int64_t> named = source_.end_ids;
  for (const auto& id : {source_.bos_id, source_.eos_id, source_.eot_id, source_.eom_id})
    named.push_back(id.value_or(-1));
  std::vector<size_t> ids;
  for (const int64_t id : named) {
    if (id >= 0 && static_cast<uint64_t>(id) < source_.tokens.size()) ids.push_back(static_cast<size_t>(id));
  }
  return ids;
}

void TokenizerBuilder::GuessTypes() {
  for (const size_t id : KeyedControlIds()) out_.types_[id] = TokenType::kControl;
  if (source_.unk_id >= 0 && static_cast<uint64_t>(*source_.unk_id) < out_.types_.size()) {
    out_.types_[static_cast<size_t>(*source_.unk_id)] = TokenType::kUnknown;
  }
  if (is_byte_level_) return;
  const std::pair<const char*, TokenType> usual[] = {
      {"<unk>", TokenType::kUnknown}, {"<s>", TokenType::kControl}, {"</s>", TokenType::kControl}};
  for (size_t id = 0; id < std::min(std::size(usual), out_.types_.size()); ++id) {
    if (source_.tokens[id] == usual[id].first) out_.types_[id] = usual[id].second;
  }
}

// Files of careless conversions call tokens that end a turn user-defined or normal. Then anybody's text would
// become them, or not even the template's.
void TokenizerBuilder::CorrectTypes() {
  for (const size_t id : KeyedControlIds()) {
    const bool is_text = IsType(id, TokenType::kNormal) || IsType(id, TokenType::kUserDefined);
    if (is_text && LooksSpecial(source_.tokens[id])) out_.types_[id] = TokenType::kControl;
  }
  for (size_t i = 0; i < source_.tokens.size(); ++i) {
    const std::string_view text = source_.tokens[i];
    if (IsType(i, TokenType::kUserDefined) && IsEndTokenName(text)) out_.types_[i] = TokenType::kControl;
    // SentencePiece's bytes are known by their names: one that is called normal is still that byte.
    if (!is_byte_level_ && IsType(i, TokenType::kNormal) && ParseByteToken(text))
      out_.types_[i] = TokenType::kByte;
  }
}

Status TokenizerBuilder::ReadTokens() {
  byte_token_.fill(-1);
  by_text_.Reserve(source_.tokens.size());
  out_.bytes_end_.reserve(source_.tokens.size());
  for (size_t i = 0; i < source_.tokens.size(); ++i) MOTLEY_RETURN_IF_ERROR(ReadToken(i));
  out_.specials_.Finish();
  out_.bytes_.assign(bytes_.begin(), bytes_.end());
  return OkStatus();
}

Status TokenizerBuilder::ReadToken(size_t i) {
  const std::string_view text = source_.tokens[i];
  const int32_t id = static_cast<int32_t>(i);
  const TokenType type = out_.types_[i];
  if (!IsValidUtf8(text))
    return InvalidArgumentError(TokenName(i) + " = " + Quote(text) + " is not valid UTF-8");
  if (!text.empty()) {  // an empty one is never matched, and stands for nothing
    const int32_t other = by_text_.Insert(text, id);
    if (other != StringMap::kNone) {
      return InvalidArgumentError(TokenName(i) + " = " + Quote(text) + ": " +
                                  TokenName(static_cast<size_t>(other)) + " is the same");
    }
  }
  const std::optional<uint8_t> byte = ParseByteToken(text);
  const bool looks_like_byte = text.size() <= 7 && text.substr(0, 3) == "<0x" && text.back() == '>';
  if (!byte.has_value() && (type == TokenType::kByte || looks_like_byte)) {
    return InvalidArgumentError(TokenName(i) + " = " + Quote(text) +
                                ": a byte token must be <0x00> .. <0xFF>");
  }

  if (type == TokenType::kByte) {
    byte_token_[*byte] = id;
    bytes_.push_back(static_cast<char>(*byte));
  } else if (type != TokenType::kNormal && type != TokenType::kUnused) {
    AppendSpecial(text, id);
  } else if (is_byte_level_) {
    AppendByteLevel(text, id);
  } else {
    AppendWithSpaces(text, &bytes_);
  }
  out_.bytes_end_.push_back(static_cast<uint32_t>(bytes_.size()));
  return OkStatus();
}

void TokenizerBuilder::AppendSpecial(std::string_view text, int32_t id) {
  std::string spaces;
  if (!is_byte_level_ && IsType(static_cast<size_t>(id), TokenType::kUserDefined) && IsSpaceMarksOnly(text)) {
    AppendWithSpaces(text, &spaces);  // Gemma's runs of spaces, which newer files write as such
    text = spaces;
  }
  if (!text.empty()) out_.specials_.Add(text, id, out_.IsControl(id));
  bytes_.append(text);
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
  if (!is_byte_level_) SetUsualIds();

  MOTLEY_RETURN_IF_ERROR(ReadEndIds());
  if (source_.add_bos == true && !out_.bos_id_.has_value()) {
    return InvalidArgumentError(
        "tokenizer.ggml.add_bos_token = true: tokenizer.ggml.bos_token_id is missing");
  }
  out_.add_bos_ = source_.add_bos.value_or(usual_add_bos_ && out_.bos_id_.has_value());
  return OkStatus();
}

Status TokenizerBuilder::ReadEndIds() {
  out_.end_ids_ = EndTokensByName(out_.specials_);
  for (const auto& id : {out_.eos_id_, out_.eot_id_, out_.eom_id_}) {
    if (id.has_value()) out_.end_ids_.push_back(*id);
  }
  for (size_t i = 0; i < source_.end_ids.size(); ++i) {
    std::optional<int32_t> id;
    const std::string key = Element("tokenizer.ggml.eos_token_ids", i);
    MOTLEY_RETURN_IF_ERROR(ReadSpecialId(key.c_str(), source_.end_ids[i], &id));
    out_.end_ids_.push_back(*id);
  }
  std::sort(out_.end_ids_.begin(), out_.end_ids_.end());
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

}  // namespace motley
