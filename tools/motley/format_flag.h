// --format NAME, of the commands that take one.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/tensor/format.h"

namespace motley {

// INVALID_ARGUMENT with a suggestion where there is none of that name.
StatusOr<Format> ParseFormatFlag(const std::string& name);

}  // namespace motley
