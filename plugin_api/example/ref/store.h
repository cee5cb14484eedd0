// Floats to the formats in which KV pages are kept.
#pragma once

#include <cstddef>
#include <cstdint>

namespace motley::ref {

// Writes `count` values (a multiple of the format's block). dst needs no alignment. What is not finite stays
// so: a block with such a value reads back as NaN.
using StoreFn = void (*)(const float* src, int64_t count, std::byte* dst);

// nullptr where pages cannot be kept in the format.
StoreFn FindStore(uint32_t format);

}  // namespace motley::ref
