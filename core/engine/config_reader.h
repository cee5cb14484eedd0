// ConfigReader: a parsed TOML document, key by key, into a Config. Inside core/engine only.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/engine/config.h"

namespace motley {

// A whole file. `folder` is what relative paths start from.
Status ReadConfigText(std::string_view text, const std::string& file_name, const std::string& folder,
                      Config* config);

// One key and its value, which need no quotes around a text. `position` is what an error begins with.
Status ReadConfigSetting(std::string_view key, std::string_view value, const std::string& position,
                         Config* config);

}  // namespace motley
