// The part of Tokenizer::Create that only byte-level vocabularies have: the alphabet, merges, words.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/byte_alphabet.h"
#include "core/text/tokenizer_builder.h"

namespace motley {

Status TokenizerBuilder::StartByteLevel() {
  if (source_.pre.empty() || source_.pre == kDefaultSplitRule) {
    out_.warnings_.push_back(
        std::string("tokenizer.ggml.pre ") + (source_.pre.empty() ? "is missing" : "= \"default\"") +
        ": text is split by a rule that is no model's own, so that answers may be worse; a "
        "newer conversion of the model names its rule");
  }
  MOTLEY_ASSIGN_OR_RETURN(PreTokenizer pre,
                          PreTokenizer::Create(source_.pre.empty() ? kDefaultSplitRule : source_.pre));
  ignore_merges_ = pre.rule().ignore_merges;
  usual_add_bos_ = pre.rule().add_bos;
  byte_level_ = std::make_unique<ByteLevelEncoder>(std::move(pre));
  return OkStatus();
}

void TokenizerBuilder::AppendByteLevel(std::string_view text, int32_t id) {
  // A token with a character outside the alphabet stands for its own text; no text ever becomes it.
  const bool is_alphabet = DecodeAlphabet(text, &bytes_);
  if (!is_alphabet) bytes_.append(text);
  is_alphabet_.resize(out_.types_.size());
  is_alphabet_[static_cast<size_t>(id)] =
      is_alphabet && IsType(static_cast<size_t>(id), TokenType::kNormal) && !text.empty();
}

Status TokenizerBuilder::FinishByteLevel() {
  is_alphabet_.resize(out_.types_.size());
  if (ignore_merges_) SetWords();
  SetBytes();
  byte_level_->bpe().ReserveMerges(source_.merges.size());
  std::string merged;
  for (size_t i = 0; i < source_.merges.size(); ++i) MOTLEY_RETURN_IF_ERROR(ReadMerge(i, &merged));
  out_.encoder_ = std::move(byte_level_);
  return OkStatus();
}

void TokenizerBuilder::SetWords() {
  byte_level_->bpe().ReserveWords(source_.tokens.size());
  for (int32_t id = 0; id < out_.vocab_size(); ++id) {
    if (is_alphabet_[static_cast<size_t>(id)]) byte_level_->bpe().AddWord(out_.TokenBytes(id), id);
  }
}

// A byte becomes its own token; else <0xHH>; else U+FFFD; else the unknown token, if that steers nothing.
void TokenizerBuilder::SetBytes() {
  constexpr int32_t kNone = BpeMerger::kNone;
  std::array<int32_t, 256> own;
  for (int byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    const int32_t id = by_text_.Find(AlphabetCharacter(static_cast<uint8_t>(byte)));
    const bool usable =
        id != StringMap::kNone && IsPlain(id) && out_.TokenBytes(id) == std::string_view(&character, 1);
    own[byte] = usable ? id : byte_token_[byte];
  }
  std::array<int32_t, 3> replacement = {own[0xEF], own[0xBF], own[0xBD]};
  if (replacement[0] == kNone || replacement[1] == kNone || replacement[2] == kNone) {
    const bool usable = out_.unk_id_.has_value() && IsPlain(*out_.unk_id_);
    replacement = {usable ? *out_.unk_id_ : kNone, kNone, kNone};
  }
  for (int byte = 0; byte < 256; ++byte) {
    const bool has_own = own[byte] != kNone;
    if (!has_own && replacement[0] == kNone) byte_level_->SetNoToken(static_cast<uint8_t>(byte));
    byte_level_->bpe().SetByte(static_cast<uint8_t>(byte),
                               has_own ? std::array<int32_t, 3>{own[byte], kNone, kNone} : replacement);
  }
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
  for (const auto& [id, part] :
       {std::pair<int32_t, std::string_view>{left, left_text}, {right, right_text}, {whole, *merged}}) {
    if (id == StringMap::kNone) return error(Quote(part) + " is not in tokenizer.ggml.tokens");
  }
  // Were these kept, plain text could become a control token, or come back as another text.
  if (!IsPlain(left) || !IsPlain(right) || !IsPlain(whole)) return OkStatus();
  if (!is_alphabet_[left] || !is_alphabet_[right] || !is_alphabet_[whole]) {
    merged->assign(out_.TokenBytes(left));
    merged->append(out_.TokenBytes(right));
    if (out_.TokenBytes(whole) != *merged) return OkStatus();
  }
  if (!byte_level_->bpe().AddMerge(left, right, static_cast<uint32_t>(i), whole))
    return error("is there twice");
  return OkStatus();
}

}  // namespace motley
