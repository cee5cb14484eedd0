#include "core/base/suggest.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace motley {
namespace {

constexpr size_t kLongestName = 256;

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongestName);
  b = b.substr(0, kLongestName);
  // Three rows of the table are alive at a time: a swap of neighbours looks two rows back.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const char x = Lower(a[i - 1]), y = Lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (x == y ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && x == Lower(b[j - 2]) && Lower(a[i - 2]) == y;
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string NearestName(std::string_view unknown, std::span<const std::string> known) {
  std::string_view nearest;
  size_t least = SIZE_MAX;
  for (const std::string& name : known) {
    const size_t distance = EditDistance(unknown, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  // A third of the letters wrong is a typing error; more is another word.
  const size_t letters = std::max(std::min(unknown.size(), kLongestName), nearest.size());
  if (least > std::max<size_t>(1, letters / 3) || least >= letters) return "";
  return std::string(nearest);
}

std::string DidYouMean(std::string_view unknown, std::span<const std::string> known) {
  const std::string nearest = NearestName(unknown, known);
  return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
}

std::string ListNames(std::span<const std::string> names, size_t most) {
  std::string list;
  for (size_t i = 0; i < names.size() && i < most; ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) list += " and " + std::to_string(names.size() - most) + " more";
  return list;
}

}  // namespace motley
