// "Did you mean": the known name that is nearest to an unknown one. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace motley {

// How many letters must be put in, left out, changed or swapped with their neighbour to get from a to b;
// upper and lower case count as the same letter. Only the first 256 bytes of each are looked at.
size_t EditDistance(std::string_view a, std::string_view b);

// The nearest of `known`, or "" where none is near enough to be what was meant.
std::string NearestName(std::string_view unknown, std::span<const std::string> known);

// `; did you mean "x"?` to put behind a message, or "" where no name is near.
std::string DidYouMean(std::string_view unknown, std::span<const std::string> known);

// "a, b, c" (the first `most`, then "and 12 more"): what an error lists when it has no suggestion.
std::string ListNames(std::span<const std::string> names, size_t most = 12);

}  // namespace motley
