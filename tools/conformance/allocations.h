// How often this process has called operator new, the libraries that it has opened included.
#pragma once

#include <cstdint>

namespace motley::conformance {

// False under sanitizers, which have an operator new of their own.
bool CountsAllocations();
int64_t Allocations();

}  // namespace motley::conformance
