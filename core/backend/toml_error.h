// What a TOML parser's complaint means for people: the place, what was found and what to write.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/backend/toml_text.h"

namespace motley {

// `what` and `source`: the parser's description, and the end of what it had read.
Status TomlSyntaxError(std::string_view text, const std::string& file, std::string_view what, TextPosition source);

}  // namespace motley
