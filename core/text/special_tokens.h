// SpecialTokens: finds the names of control and user-defined tokens in text.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace motley {

class SpecialTokens {
 public:
  // `name` is not empty. Of tokens with the same one the first id counts.
  void Add(std::string_view name, int32_t id, bool control);
  // Call once, after the last Add.
  void Finish();

  std::optional<int32_t> Find(std::string_view name) const;

  struct Match {
    int32_t id;
    size_t size;
  };
  // The longest name at the beginning of `text`; a control token's only within its first `trusted` bytes.
  std::optional<Match> MatchAt(std::string_view text, size_t trusted) const;
  bool MayBegin(unsigned char byte) const { return first_[byte]; }

 private:
  struct Entry {
    std::string name;
    int32_t id;
    bool control;
  };
  std::vector<Entry> entries_;  // sorted by name
  std::bitset<256> first_;
};

}  // namespace motley
