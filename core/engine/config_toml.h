// ParseToml: a TOML document, or an error with the place, what was found and what to write. Inside
// core/engine only.
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "core/base/status.h"

namespace motley {

// `text` has passed CheckConfigText. toml++ throws, and its exceptions end here.
StatusOr<toml::table> ParseToml(std::string_view text, const std::string& name);

}  // namespace motley
