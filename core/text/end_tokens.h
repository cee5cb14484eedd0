// The tokens at which an answer ends.
#pragma once

#include <cstdint>
#include <vector>

#include "core/text/special_tokens.h"

namespace motley {

// Besides what a file's keys name: older files lack eot and eom, and name one eos of several. These tokens,
// where the vocabulary has them as control or user-defined tokens, hand over to somebody else in every model
// that has them.
std::vector<int32_t> EndTokensByName(const SpecialTokens& specials);

}  // namespace motley
