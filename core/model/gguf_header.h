// The header of one GGUF file: pairs and tensor table, parsed and checked, nothing mapped or opened here. Works on
// bytes alone, so that a fuzzer can feed it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/model/metadata.h"
#include "core/model/weights_file.h"

namespace motley {

// More than these is no model. (An unmerged 256-expert model has 60,000 tensors; 50 pairs are usual.)
inline constexpr uint64_t kGgufMaxPairs = 65536;
inline constexpr uint64_t kGgufMaxTensors = 262144;

struct GgufHeader {
  std::vector<MetaEntry> entries;      // views into the bytes; keys are unique
  std::vector<StoredTensor> tensors;   // names are unique; `file` 0, `fd` -1, `data` into the bytes
  std::vector<std::string> warnings;
};

// `bytes`: the whole file. `name`: for messages.
StatusOr<GgufHeader> ParseGgufHeader(std::string_view bytes, std::string_view name);

// Whether the tokenizer's arrays have the types, lengths and values that a vocabulary needs. A file without a
// tokenizer is fine. (gguf_vocabulary.cc)
Status CheckGgufVocabulary(const Metadata& metadata);

}  // namespace motley
