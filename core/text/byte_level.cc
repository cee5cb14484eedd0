#include "core/text/byte_level.h"

#include <algorithm>
#include <string>

namespace motley {

Status NoTokenForByteError(char byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  return InvalidArgumentError(std::string("the text holds the byte 0x") + kDigits[value >> 4] +
                              kDigits[value & 15] + ", and tokenizer.ggml.tokens has no token for it");
}

Status ByteLevelEncoder::Encode(std::string_view text, std::vector<int32_t>* ids) const {
  if (no_token_.any()) {
    const auto it = std::find_if(text.begin(), text.end(),
                                 [&](char c) { return no_token_[static_cast<unsigned char>(c)]; });
    if (it != text.end()) return NoTokenForByteError(*it);
  }
  std::vector<std::string_view> words;
  MOTLEY_RETURN_IF_ERROR(pre_.Split(text, &words));
  for (const std::string_view word : words) bpe_.Encode(word, ids);
  return OkStatus();
}

}  // namespace motley
