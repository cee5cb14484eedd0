#include "core/engine/vocab_reader.h"

#include <limits>
#include <string>
#include <utility>

namespace motley {
namespace {

Status ReadArrays(const Metadata& metadata, VocabSource* source) {
  MOTLEY_ASSIGN_OR_RETURN(auto tokens, metadata.FindStrings("tokenizer.ggml.tokens"));
  MOTLEY_ASSIGN_OR_RETURN(auto merges, metadata.FindStrings("tokenizer.ggml.merges"));
  MOTLEY_ASSIGN_OR_RETURN(auto types, metadata.FindInts("tokenizer.ggml.token_type"));
  MOTLEY_ASSIGN_OR_RETURN(auto scores, metadata.FindFloats("tokenizer.ggml.scores"));
  if (tokens) source->tokens = *std::move(tokens);
  if (merges) source->merges = *std::move(merges);
  if (scores) source->scores = *std::move(scores);
  if (!types) return OkStatus();
  source->token_types.reserve(types->size());
  for (size_t i = 0; i < types->size(); ++i) {
    const int64_t type = (*types)[i];
    if (type < std::numeric_limits<int32_t>::min() || type > std::numeric_limits<int32_t>::max()) {
      return metadata.Error("tokenizer.ggml.token_type",
                            "[" + std::to_string(i) + "] = " + std::to_string(type) + ": must be 0..6");
    }
    source->token_types.push_back(static_cast<int32_t>(type));
  }
  return OkStatus();
}

}  // namespace

StatusOr<VocabSource> ReadVocabulary(const Metadata& metadata) {
  VocabSource source;
  MOTLEY_ASSIGN_OR_RETURN(const auto model, metadata.FindString("tokenizer.ggml.model"));
  MOTLEY_ASSIGN_OR_RETURN(const auto pre, metadata.FindString("tokenizer.ggml.pre"));
  source.model = model.value_or("");
  source.pre = pre.value_or("");
  MOTLEY_RETURN_IF_ERROR(ReadArrays(metadata, &source));

  const std::pair<const char*, std::optional<int64_t>*> ids[] = {
      {"tokenizer.ggml.bos_token_id", &source.bos_id},      {"tokenizer.ggml.eos_token_id", &source.eos_id},
      {"tokenizer.ggml.eot_token_id", &source.eot_id},      {"tokenizer.ggml.eom_token_id", &source.eom_id},
      {"tokenizer.ggml.unknown_token_id", &source.unk_id},  {"tokenizer.ggml.seperator_token_id", &source.sep_id},
      {"tokenizer.ggml.padding_token_id", &source.pad_id},
  };
  for (const auto& [key, id] : ids) {
    MOTLEY_ASSIGN_OR_RETURN(*id, metadata.FindI64(key));
  }
  MOTLEY_ASSIGN_OR_RETURN(source.add_bos, metadata.FindBool("tokenizer.ggml.add_bos_token"));
  return source;
}

}  // namespace motley
