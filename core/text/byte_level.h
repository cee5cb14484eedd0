// ByteLevelEncoder: byte-level BPE, tokenizer.ggml.model = gpt2. Text is cut into words, and the bytes of a
// word merge.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/bpe.h"
#include "core/text/plain_encoder.h"
#include "core/text/pre_tokenizer.h"

namespace motley {

class ByteLevelEncoder final : public PlainEncoder {
 public:
  explicit ByteLevelEncoder(PreTokenizer pre) : pre_(std::move(pre)) {}

  // For whoever builds it.
  BpeMerger& bpe() { return bpe_; }
  void SetNoToken(uint8_t byte) { no_token_.set(byte); }

  Status Encode(std::string_view text, std::vector<int32_t>* ids) const override;

 private:
  PreTokenizer pre_;
  BpeMerger bpe_;
  std::bitset<256> no_token_;  // bytes that cannot be encoded at all
};

}  // namespace motley
