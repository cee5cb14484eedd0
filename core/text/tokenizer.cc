#include "core/text/tokenizer.h"

#include <algorithm>

#include "core/text/utf8.h"

namespace motley {
namespace {

// The encoders count places in 32 bits, and a byte makes at most three.
constexpr size_t kMaxTextBytes = size_t{1} << 30;

}  // namespace

StatusOr<std::vector<int32_t>> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<Range> trusted;
  if (options.parse_special) trusted.push_back({0, text.size()});
  MOTLEY_ASSIGN_OR_RETURN(std::vector<int32_t> ids, EncodeText(text, trusted));
  MOTLEY_RETURN_IF_ERROR(AddBos(options, /*unless_there=*/false, &ids));
  return ids;
}

StatusOr<std::vector<int32_t>> Tokenizer::EncodeSegments(const std::vector<TextSegment>& segments,
                                                         const EncodeOptions& options) const {
  std::string text;
  std::vector<Range> trusted;
  for (const TextSegment& segment : segments) {
    const size_t begin = text.size();
    text += segment.text;
    if (!segment.trusted || segment.text.empty()) continue;
    if (!trusted.empty() && trusted.back().end == begin) {
      trusted.back().end = text.size();
    } else {
      trusted.push_back({begin, text.size()});
    }
  }
  MOTLEY_ASSIGN_OR_RETURN(std::vector<int32_t> ids, EncodeText(text, trusted));
  MOTLEY_RETURN_IF_ERROR(AddBos(options, /*unless_there=*/true, &ids));
  return ids;
}

std::string_view Tokenizer::TokenBytes(int32_t id) const {
  if (!IsValid(id)) return {};
  const uint32_t begin = id == 0 ? 0 : bytes_end_[id - 1];
  return std::string_view(bytes_.data() + begin, bytes_end_[id] - begin);
}

std::string Tokenizer::TokenPiece(int32_t id) const {
  return ToValidUtf8(TokenBytes(id));
}

bool Tokenizer::IsControl(int32_t id) const {
  return type(id) == TokenType::kControl || type(id) == TokenType::kUnknown;
}

bool Tokenizer::IsEndOfTurn(int32_t id) const {
  return std::binary_search(end_ids_.begin(), end_ids_.end(), id);
}

bool Tokenizer::AddsSpaceBehind(std::optional<int32_t> id) const {
  if (!adds_space_) return false;
  if (!id.has_value()) return true;
  switch (type(*id)) {
    case TokenType::kControl:
    case TokenType::kUserDefined: return true;
    case TokenType::kUnknown: return unknown_is_special_;
    default: return false;
  }
}

// Takes the special tokens out, leftmost and longest first, and encodes what lies between them.
StatusOr<std::vector<int32_t>> Tokenizer::EncodeText(std::string_view text,
                                                     const std::vector<Range>& trusted) const {
  if (text.size() > kMaxTextBytes) {
    return InvalidArgumentError("the text has " + std::to_string(text.size()) + " bytes: at most " +
                                std::to_string(kMaxTextBytes) + " can be tokenized at once");
  }
  std::vector<int32_t> ids;
  size_t plain = 0;  // where the text that is not encoded yet begins
  auto range = trusted.begin();
  for (size_t i = 0; i < text.size();) {
    if (!specials_.MayBegin(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    while (range != trusted.end() && range->end <= i) ++range;
    const size_t trusted_bytes = range != trusted.end() && range->begin <= i ? range->end - i : 0;
    const auto match = specials_.MatchAt(text.substr(i), trusted_bytes);
    if (!match.has_value()) {
      ++i;
      continue;
    }
    MOTLEY_RETURN_IF_ERROR(EncodePlain(text.substr(plain, i - plain), &ids));
    ids.push_back(match->id);
    i += match->size;
    plain = i;
  }
  MOTLEY_RETURN_IF_ERROR(EncodePlain(text.substr(plain), &ids));
  return ids;
}

Status Tokenizer::EncodePlain(std::string_view text, std::vector<int32_t>* ids) const {
  if (text.empty()) return OkStatus();
  return OfFile(encoder_->Encode(text, ids));
}

Status Tokenizer::AddBos(const EncodeOptions& options, bool unless_there, std::vector<int32_t>* ids) const {
  if (!options.add_bos.value_or(add_bos_)) return OkStatus();
  if (!bos_id_.has_value()) {
    return OfFile(InvalidArgumentError("BOS was asked for, and tokenizer.ggml.bos_token_id is missing"));
  }
  if (unless_there && !ids->empty() && ids->front() == *bos_id_) return OkStatus();
  ids->insert(ids->begin(), *bos_id_);
  return OkStatus();
}

Status Tokenizer::OfFile(Status status) const {
  return status.ok() || origin_.empty() ? status : status.WithPrefix(origin_);
}

}  // namespace motley
