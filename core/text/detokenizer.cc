#include "core/text/detokenizer.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace motley {

void Detokenizer::Push(int32_t id, std::string* out) {
  if (!tokenizer_->IsValid(id)) return;
  const std::optional<int32_t> before = std::exchange(last_id_, id);
  const bool hidden = !show_control_ && tokenizer_->IsControl(id);
  if (hidden && std::find(shown_.begin(), shown_.end(), id) == shown_.end()) return;
  std::string_view bytes = tokenizer_->TokenBytes(id);
  const bool is_special = tokenizer_->type(id) == TokenType::kUserDefined || tokenizer_->IsControl(id);
  if (!is_special && !bytes.empty() && bytes.front() == ' ' && tokenizer_->AddsSpaceBehind(before)) {
    bytes.remove_prefix(1);
  }
  stream_.Push(bytes, out);
}

std::string Decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool show_control) {
  std::string text;
  Detokenizer detokenizer(&tokenizer, show_control);
  for (const int32_t id : ids) detokenizer.Push(id, &text);
  detokenizer.Flush(&text);
  return text;
}

}  // namespace motley
