#include "core/text/template/text.h"

#include <algorithm>

namespace motley::jinja {

bool Text::TrustedAt(size_t at) const {
  const auto flips = std::upper_bound(flips_.begin(), flips_.end(), at) - flips_.begin();
  return first_ != (flips % 2 == 1);
}

void Text::Append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    first_ = trusted;
    flips_.clear();
  } else if ((first_ != (flips_.size() % 2 == 1)) != trusted) {
    flips_.push_back(bytes_.size());
  }
  bytes_ += bytes;
}

void Text::Append(const Text& other, size_t begin, size_t end) {
  if (begin >= end) return;
  auto flip = std::upper_bound(other.flips_.begin(), other.flips_.end(), begin);
  bool trusted = other.first_ != ((flip - other.flips_.begin()) % 2 == 1);
  while (begin < end) {
    const size_t stop = flip == other.flips_.end() ? end : std::min(*flip++, end);
    Append(other.view().substr(begin, stop - begin), trusted);
    begin = stop;
    trusted = !trusted;
  }
}

Text Text::Part(size_t begin, size_t end) const {
  Text part;
  part.Append(*this, begin, end);
  return part;
}

std::vector<Text::Run> Text::Runs() const {
  std::vector<Run> runs;
  size_t begin = 0;
  bool trusted = first_;
  for (const size_t flip : flips_) {
    runs.push_back({begin, flip, trusted});
    begin = flip;
    trusted = !trusted;
  }
  if (begin < bytes_.size()) runs.push_back({begin, bytes_.size(), trusted});
  return runs;
}

}  // namespace motley::jinja
