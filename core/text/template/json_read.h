// JSON text to a Value, as Python's json.loads gives it: keys in order, numbers with all their digits.
#pragma once

#include <string_view>

#include "core/text/template/value.h"

namespace motley::jinja {

inline constexpr int kMaxJsonDepth = 256;

// `trusted`: whether what is read counts as the template's own. INVALID_ARGUMENT: "NAME:LINE:COLUMN: what is wrong".
Result ReadJson(std::string_view text, std::string_view name, bool trusted);

}  // namespace motley::jinja
