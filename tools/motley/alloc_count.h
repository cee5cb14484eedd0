// Counts the heap allocations of the whole process, plugins included, so that `bench` can show that a decode
// step makes none.
#pragma once

#include <cstdint>

namespace motley {

// Whether this build counts: a sanitizer has an allocator of its own, and other C libraries other names.
bool CanCountAllocations();

// Calls of malloc and its kin since the process began, over all threads. Any thread.
uint64_t AllocationCount();

}  // namespace motley
