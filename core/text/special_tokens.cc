#include "core/text/special_tokens.h"

#include <algorithm>

namespace motley {

void SpecialTokens::Add(std::string_view name, int32_t id, bool control) {
  entries_.push_back({std::string(name), id, control});
  first_.set(static_cast<unsigned char>(name.front()));
}

void SpecialTokens::Finish() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.name != b.name ? a.name < b.name : a.id < b.id; });
  const auto same = [](const Entry& a, const Entry& b) { return a.name == b.name; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
}

std::optional<int32_t> SpecialTokens::Find(std::string_view name) const {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const Entry& e, std::string_view n) { return e.name < n; });
  if (it == entries_.end() || it->name != name) return std::nullopt;
  return it->id;
}

// Narrows the sorted names to those that begin as the text does, one byte a turn. The name that equals what
// was read so far is the first of them.
std::optional<SpecialTokens::Match> SpecialTokens::MatchAt(std::string_view text, size_t trusted) const {
  std::optional<Match> longest;
  auto begin = entries_.begin();
  auto end = entries_.end();
  for (size_t depth = 0; depth < text.size(); ++depth) {
    const auto byte = static_cast<unsigned char>(text[depth]);
    const auto at = [depth](const Entry& e) { return static_cast<unsigned char>(e.name[depth]); };
    // A name that ends here sorts first, and has been looked at.
    if (begin != end && begin->name.size() == depth) ++begin;
    begin = std::lower_bound(begin, end, byte, [&](const Entry& e, unsigned char b) { return at(e) < b; });
    end = std::upper_bound(begin, end, byte, [&](unsigned char b, const Entry& e) { return b < at(e); });
    if (begin == end) break;
    if (begin->name.size() == depth + 1 && (!begin->control || depth + 1 <= trusted)) {
      longest = Match{begin->id, depth + 1};
    }
  }
  return longest;
}

}  // namespace motley
