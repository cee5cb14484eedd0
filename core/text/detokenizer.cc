#include "core/text/detokenizer.h"

#include <algorithm>

namespace motley {

void Detokenizer::Push(int32_t id, std::string* out) {
  const bool hidden = !show_control_ && tokenizer_->IsControl(id);
  if (hidden && std::find(shown_.begin(), shown_.end(), id) == shown_.end()) return;
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
