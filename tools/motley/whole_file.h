// WriteWholeFile: a file that is there whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace motley {

// Writes beside `path` and renames. With `overwrite` false a file that is there stays: FAILED_PRECONDITION.
// `mode`: 0666 as the umask leaves it, or 0600. A link is followed, so that it stays a link; what is no plain
// file is refused.
Status WriteWholeFile(const std::string& path, std::string_view text, bool overwrite, unsigned mode = 0666);

}  // namespace motley
