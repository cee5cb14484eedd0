// The tokens at which an answer ends.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/text/special_tokens.h"

namespace motley {

// Besides what a file's keys name: older files lack eot and eom, and name one eos of several. These tokens,
// where the vocabulary has them as control or user-defined tokens, hand over to somebody else in every model
// that has them.
std::vector<int32_t> EndTokensByName(const SpecialTokens& specials);

// Whether a token of this name is one of them.
bool IsEndTokenName(std::string_view name);

}  // namespace motley
