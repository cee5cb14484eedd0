// VocabSource: what a weights file says about its vocabulary, as plain data.
//
// core/text does not read files: a layer above fills this from GGUF metadata (or tokenizer.json) and hands
// it to Tokenizer::Create, which checks everything. The reader vouches only for the stored types (an array
// of strings is an array of strings; token_type is i32, scores is f32); no value here is trusted.
//
// Lifetime: every string_view may point into the mapped file; the views need to live only until
// Tokenizer::Create returns, because the tokenizer copies what it keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace motley {

// tokenizer.ggml.token_type, with the numbers of the GGUF specification.
enum class TokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // steers the model; comes from the template, never from what users write
  kUserDefined = 4,  // matched whole, in any text
  kUnused = 5,
  kByte = 6,         // text "<0xHH>"
};

struct VocabSource {
  std::string_view origin;  // the file, for messages; may be empty
  std::string_view model;   // tokenizer.ggml.model: "gpt2" is byte-level BPE, "llama" SentencePiece's BPE
  std::string_view pre;     // tokenizer.ggml.pre; the names PreTokenizer knows. Only "gpt2" has a use for it

  std::vector<std::string_view> tokens;  // tokenizer.ggml.tokens; of "gpt2" in the byte-level alphabet, of "llama"
                                         // with U+2581 for a space
  std::vector<int32_t> token_types;      // tokenizer.ggml.token_type; empty: see Tokenizer::Create
  std::vector<float> scores;             // tokenizer.ggml.scores: "llama" merges the highest first; of "gpt2" only
                                         // the count is checked
  std::vector<std::string_view> merges;  // tokenizer.ggml.merges, "LEFT RIGHT", best first; only of "gpt2"

  std::optional<int64_t> bos_id;  // tokenizer.ggml.bos_token_id
  std::optional<int64_t> eos_id;  // tokenizer.ggml.eos_token_id
  std::optional<int64_t> eot_id;  // tokenizer.ggml.eot_token_id, end of a turn
  std::optional<int64_t> eom_id;  // tokenizer.ggml.eom_token_id, end of a message (a tool call follows)
  std::vector<int64_t> end_ids;   // tokenizer.ggml.eos_token_ids, which some converters write besides eos_token_id
  std::optional<int64_t> unk_id;  // tokenizer.ggml.unknown_token_id
  std::optional<int64_t> sep_id;  // tokenizer.ggml.seperator_token_id (the specification's spelling)
  std::optional<int64_t> pad_id;  // tokenizer.ggml.padding_token_id

  std::optional<bool> add_bos;  // tokenizer.ggml.add_bos_token; absent: the pre-tokenizer's custom, "llama": true

  // Only "llama" has a use for these.
  std::optional<bool> add_space_prefix;          // tokenizer.ggml.add_space_prefix; absent: true
  std::optional<bool> remove_extra_whitespaces;  // tokenizer.ggml.remove_extra_whitespaces; absent: false
};

}  // namespace motley
