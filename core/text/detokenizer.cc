#include "core/text/detokenizer.h"

namespace motley {

void Detokenizer::Push(int32_t id, std::string* out) {
  if (!show_control_ && tokenizer_->IsControl(id)) return;
  stream_.Push(tokenizer_->TokenBytes(id), out);
}

std::string Decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool show_control) {
  std::string text;
  Detokenizer detokenizer(&tokenizer, show_control);
  for (const int32_t id : ids) detokenizer.Push(id, &text);
  detokenizer.Flush(&text);
  return text;
}

}  // namespace motley
