// The part of Tokenizer::Create that only SentencePiece's vocabularies have: scores, pieces, bytes.
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/sentence_piece.h"
#include "core/text/tokenizer_builder.h"

namespace motley {

// Where the file does not name them: the order in which SentencePiece numbers them itself.
void TokenizerBuilder::SetUsualIds() {
  const auto set = [&](int32_t id, TokenType type, std::optional<int32_t>* out) {
    if (!out->has_value() && IsType(static_cast<size_t>(id), type)) *out = id;
  };
  set(0, TokenType::kUnknown, &out_.unk_id_);
  set(1, TokenType::kControl, &out_.bos_id_);
  set(2, TokenType::kControl, &out_.eos_id_);
}

Status TokenizerBuilder::CheckScores() const {
  if (source_.scores.empty()) {
    return InvalidArgumentError(
        "tokenizer.ggml.scores is missing: tokenizer.ggml.model = \"llama\" merges by them");
  }
  for (size_t i = 0; i < source_.scores.size(); ++i) {
    if (std::isfinite(source_.scores[i])) continue;
    return InvalidArgumentError(Element("tokenizer.ggml.scores", i) + " = " +
                                std::to_string(source_.scores[i]) + ": must be a finite number");
  }
  return OkStatus();
}

Status TokenizerBuilder::FinishSentencePiece() {
  MOTLEY_RETURN_IF_ERROR(CheckScores());
  SentencePieceEncoder::Options options;
  options.add_space_prefix = source_.add_space_prefix.value_or(true);
  options.remove_extra_whitespaces = source_.remove_extra_whitespaces.value_or(false);
  auto encoder = std::make_unique<SentencePieceEncoder>(options, source_.tokens.size());
  for (size_t i = 0; i < source_.tokens.size(); ++i) {
    const TokenType type = out_.types_[i];
    const auto id = static_cast<int32_t>(i);
    const std::string_view text = out_.TokenBytes(id);
    const bool is_piece =
        type == TokenType::kNormal || type == TokenType::kUnused || type == TokenType::kUserDefined;
    // A space proper never reaches the merges, nor does a mark that stands for itself.
    if (!is_piece || text.empty() || source_.tokens[i].find(' ') != std::string_view::npos ||
        text.find(kSpaceMark) != std::string_view::npos) {
      continue;
    }
    encoder->AddPiece(text, id, source_.scores[i], type == TokenType::kUnused);
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (byte_token_[static_cast<size_t>(byte)] >= 0) {
      encoder->SetByte(static_cast<uint8_t>(byte), byte_token_[static_cast<size_t>(byte)]);
    }
  }
  // One that is called a control token is for the template alone.
  if (out_.unk_id_.has_value() && out_.type(*out_.unk_id_) != TokenType::kControl) {
    encoder->SetUnknown(*out_.unk_id_);
  }
  out_.adds_space_ = encoder->AddsSpacePrefix();
  out_.unknown_is_special_ = encoder->HasAllBytes();
  out_.encoder_ = std::move(encoder);
  return OkStatus();
}

}  // namespace motley
