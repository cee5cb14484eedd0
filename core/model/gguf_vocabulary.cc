// What a vocabulary must be for a tokenizer to be built of it: the types, lengths and values of tokenizer.*.
#include <string>
#include <string_view>
#include <vector>

#include "core/model/gguf_header.h"
#include "core/model/printable.h"

namespace motley {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kPrefix = "tokenizer.ggml.";

// The kinds of token_type: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte; 0 is not said.
constexpr int64_t kByteType = 6;

bool StartsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'); }

// "<0x0A>": one byte.
bool IsByteToken(std::string_view token) {
  return token.size() == 6 && StartsWith(token, "<0x") && IsHexDigit(token[3]) && IsHexDigit(token[4]) &&
         token[5] == '>';
}

// As a byte token that went wrong: "<0x-1>", "<0x>", "<0x100>".
bool LooksLikeByteToken(std::string_view token) {
  return token.size() >= 4 && token.size() <= 7 && StartsWith(token, "<0x") && token.back() == '>';
}

std::string At(uint64_t index) { return "[" + std::to_string(index) + "] "; }

Status CheckLength(const Metadata& metadata, std::string_view key, uint64_t count, uint64_t n_tokens) {
  if (count == n_tokens) return OkStatus();
  return metadata.Error(key, "has " + std::to_string(count) + " elements, but there are " + std::to_string(n_tokens) +
                                 " tokens: must be one a token");
}

Status CheckScores(const Metadata& metadata, uint64_t n_tokens) {
  const MetaValue* value = metadata.Find(kScores);
  if (value == nullptr) return OkStatus();
  if (value->type != ValueType::kArray || value->element != ValueType::kF32) {
    return metadata.Error(kScores, "is " + DescribeValue(*value) + ": must be an array of f32");
  }
  return CheckLength(metadata, kScores, value->count, n_tokens);
}

// An array of strings, or nullptr where the key is absent.
StatusOr<const MetaValue*> FindStringArray(const Metadata& metadata, std::string_view key) {
  const MetaValue* value = metadata.Find(key);
  if (value != nullptr && (value->type != ValueType::kArray || value->element != ValueType::kString)) {
    return metadata.Error(key, "is " + DescribeValue(*value) + ": must be an array of strings");
  }
  return value;
}

// The types of the tokens; none where the file has none.
StatusOr<std::vector<int64_t>> ReadTypes(const Metadata& metadata, uint64_t n_tokens) {
  const MetaValue* value = metadata.Find(kTypes);
  if (value == nullptr) return std::vector<int64_t>();
  // Every reader takes these for 32-bit numbers; an array of bytes under this key is a broken converter's.
  const bool wide = value->element == ValueType::kI32 || value->element == ValueType::kU32 ||
                    value->element == ValueType::kI64 || value->element == ValueType::kU64;
  if (value->type != ValueType::kArray || !wide) {
    return metadata.Error(kTypes, "is " + DescribeValue(*value) + ": must be an array of i32");
  }
  MOTLEY_RETURN_IF_ERROR(CheckLength(metadata, kTypes, value->count, n_tokens));
  return metadata.GetInts(kTypes);
}

Status CheckTokens(const Metadata& metadata, const MetaValue& tokens) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<int64_t> types, ReadTypes(metadata, tokens.count));
  uint64_t i = 0;
  for (StringCursor at(tokens); at.Next(); ++i) {
    if (!types.empty() && (types[i] < 0 || types[i] > kByteType)) {
      return metadata.Error(kTypes, At(i) + "= " + std::to_string(types[i]) + ": must be 0 to 6");
    }
    const bool is_byte = !types.empty() && types[i] == kByteType;
    if ((is_byte || LooksLikeByteToken(at.text())) && !IsByteToken(at.text())) {
      return metadata.Error(kTokens,
                            At(i) + "= \"" + Printable(at.text()) + "\": a byte token must be <0x00> to <0xFF>");
    }
  }
  return OkStatus();
}

Status CheckMerges(const Metadata& metadata) {
  MOTLEY_ASSIGN_OR_RETURN(const MetaValue* merges, FindStringArray(metadata, kMerges));
  if (merges == nullptr) return OkStatus();
  uint64_t i = 0;
  for (StringCursor at(*merges); at.Next(); ++i) {
    const size_t space = at.text().find(' ', 1);
    if (space == std::string_view::npos || space + 1 == at.text().size()) {
      return metadata.Error(kMerges,
                            At(i) + "= \"" + Printable(at.text()) + "\": must be two tokens with a space between");
    }
  }
  return OkStatus();
}

// Every key of the tokenizer that names a token: bos, eos, eot, fim_pre … as far as the format's makers go on.
Status CheckTokenIds(const Metadata& metadata, uint64_t n_tokens) {
  for (const MetaEntry& entry : metadata.entries()) {
    if (!StartsWith(entry.key, kPrefix) || !EndsWith(entry.key, "_token_id")) continue;
    MOTLEY_ASSIGN_OR_RETURN(const uint64_t id, metadata.GetU64(entry.key));
    if (id >= n_tokens) {
      return metadata.Error(entry.key, "= " + std::to_string(id) + ": must be less than the number of tokens, " +
                                           std::to_string(n_tokens));
    }
  }
  return OkStatus();
}

Status CheckPlainKeys(const Metadata& metadata) {
  for (std::string_view key : {"tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template"}) {
    if (const auto found = metadata.FindString(key); !found.ok()) return found.status();
  }
  for (const MetaEntry& entry : metadata.entries()) {
    if (!StartsWith(entry.key, "tokenizer.ggml.add_")) continue;
    if (const auto found = metadata.FindBool(entry.key); !found.ok()) return found.status();
  }
  return OkStatus();
}

}  // namespace

Status CheckGgufVocabulary(const Metadata& metadata) {
  MOTLEY_RETURN_IF_ERROR(CheckPlainKeys(metadata));
  MOTLEY_ASSIGN_OR_RETURN(const MetaValue* tokens, FindStringArray(metadata, kTokens));
  if (tokens == nullptr) {
    // Without tokens the other lists have nothing to belong to.
    for (std::string_view key : {kScores, kTypes, kMerges}) {
      if (metadata.Has(key)) return metadata.Error(key, "is there, but " + std::string(kTokens) + " is missing");
    }
    return OkStatus();
  }
  if (tokens->count == 0) return metadata.Error(kTokens, "is empty");
  MOTLEY_RETURN_IF_ERROR(CheckScores(metadata, tokens->count));
  MOTLEY_RETURN_IF_ERROR(CheckTokens(metadata, *tokens));
  MOTLEY_RETURN_IF_ERROR(CheckMerges(metadata));
  return CheckTokenIds(metadata, tokens->count);
}

}  // namespace motley
