// Sizes and times as people write them: "512 MiB", "1.5 GiB", 4096; "250 us", "20 ms", "1.5 s".
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace motley {

// Bytes. Takes a plain whole number, or a number with KiB, MiB, GiB or TiB behind it ("1.5 GiB" where that is
// a whole number of bytes). INVALID_ARGUMENT names the text, what is wrong with it and what to write.
StatusOr<uint64_t> ParseSize(std::string_view text);

// Nanoseconds. Takes a number with us, ms or s behind it; a number without a unit is refused, as nobody can
// tell what it means.
StatusOr<uint64_t> ParseTimeNs(std::string_view text);

// "512 MiB", "1.50 GiB", "17 bytes": for people. Rounded to two places above 1 KiB.
std::string FormatSize(uint64_t bytes);

// "512 MiB" where that is exact, else the plain number: what ParseSize reads back to the same bytes.
std::string FormatSizeExact(uint64_t bytes);

// "1.50 s", "20.0 ms", "250 us", "80 ns".
std::string FormatTimeNs(uint64_t time_ns);

}  // namespace motley
