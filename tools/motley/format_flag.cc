#include "tools/motley/format_flag.h"

#include <vector>

#include "core/base/suggest.h"
#include "core/model/printable.h"

namespace motley {

StatusOr<Format> ParseFormatFlag(const std::string& name) {
  if (const auto format = FormatFromName(name)) return *format;
  std::vector<std::string> names;
  for (const FormatInfo& info : AllFormats()) names.emplace_back(info.name);
  const std::string suggestion = DidYouMean(name, names);
  return InvalidArgumentError("--format " + Printable(name, 60) + ": no such format" +
                              (suggestion.empty() ? "; there are " + ListNames(names, 40) : suggestion));
}

}  // namespace motley
