#include "core/engine/vocab_reader.h"

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motley {
namespace {

Status ReadTypes(const Metadata& metadata, std::string_view key, std::vector<int32_t>* types) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<int64_t> values, metadata.GetInts(key));
  types->reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < std::numeric_limits<int32_t>::min() || values[i] > std::numeric_limits<int32_t>::max()) {
      return metadata.Error(key,
                            "[" + std::to_string(i) + "] = " + std::to_string(values[i]) + ": must be 0..6");
    }
    types->push_back(static_cast<int32_t>(values[i]));
  }
  return OkStatus();
}

Status ReadArrays(const Metadata& metadata, VocabSource* source) {
  constexpr std::string_view kTokens = "tokenizer.ggml.tokens", kMerges = "tokenizer.ggml.merges",
                             kScores = "tokenizer.ggml.scores", kTypes = "tokenizer.ggml.token_type";
  if (metadata.Has(kTokens)) {
    MOTLEY_ASSIGN_OR_RETURN(source->tokens, metadata.GetStrings(kTokens));
  }
  if (metadata.Has(kMerges)) {
    MOTLEY_ASSIGN_OR_RETURN(source->merges, metadata.GetStrings(kMerges));
  }
  if (metadata.Has(kScores)) {
    MOTLEY_ASSIGN_OR_RETURN(source->scores, metadata.GetFloats(kScores));
  }
  if (metadata.Has(kTypes)) MOTLEY_RETURN_IF_ERROR(ReadTypes(metadata, kTypes, &source->token_types));
  return OkStatus();
}

}  // namespace

StatusOr<VocabSource> ReadVocabulary(const Metadata& metadata) {
  VocabSource source;
  MOTLEY_ASSIGN_OR_RETURN(const auto model, metadata.FindString("tokenizer.ggml.model"));
  MOTLEY_ASSIGN_OR_RETURN(const auto pre, metadata.FindString("tokenizer.ggml.pre"));
  source.origin = metadata.origin();
  source.model = model.value_or("");
  source.pre = pre.value_or("");
  MOTLEY_RETURN_IF_ERROR(ReadArrays(metadata, &source));

  const std::pair<const char*, std::optional<int64_t>*> ids[] = {
      {"tokenizer.ggml.bos_token_id", &source.bos_id},
      {"tokenizer.ggml.eos_token_id", &source.eos_id},
      {"tokenizer.ggml.eot_token_id", &source.eot_id},
      {"tokenizer.ggml.eom_token_id", &source.eom_id},
      {"tokenizer.ggml.unknown_token_id", &source.unk_id},
      {"tokenizer.ggml.seperator_token_id", &source.sep_id},
      {"tokenizer.ggml.padding_token_id", &source.pad_id},
  };
  for (const auto& [key, id] : ids) {
    MOTLEY_ASSIGN_OR_RETURN(*id, metadata.FindI64(key));
  }
  if (constexpr std::string_view kEnds = "tokenizer.ggml.eos_token_ids"; metadata.Has(kEnds)) {
    MOTLEY_ASSIGN_OR_RETURN(source.end_ids, metadata.GetInts(kEnds));
  }
  const std::pair<const char*, std::optional<bool>*> flags[] = {
      {"tokenizer.ggml.add_bos_token", &source.add_bos},
      {"tokenizer.ggml.add_space_prefix", &source.add_space_prefix},
      {"tokenizer.ggml.remove_extra_whitespaces", &source.remove_extra_whitespaces},
  };
  for (const auto& [key, flag] : flags) {
    MOTLEY_ASSIGN_OR_RETURN(*flag, metadata.FindBool(key));
  }
  return source;
}

StatusOr<std::string> ReadChatTemplate(const Metadata& metadata, bool with_tools) {
  if (with_tools) {
    MOTLEY_ASSIGN_OR_RETURN(const auto tool_use, metadata.FindString("tokenizer.chat_template.tool_use"));
    if (tool_use.has_value() && !tool_use->empty()) return std::string(*tool_use);
  }
  MOTLEY_ASSIGN_OR_RETURN(const auto text, metadata.FindString("tokenizer.chat_template"));
  return std::string(text.value_or(""));
}

}  // namespace motley
