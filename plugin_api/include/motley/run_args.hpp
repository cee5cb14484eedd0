// What one execute of a program works on, in host memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace motley::plugin {

// Pointers are checked for bounds; step data are not: see step_check.hpp.
struct RunArgs {
  std::byte* const* data =
      nullptr;                    // by tensor id; TEMPs lie in the workspace; nullptr where no node uses it
  const int64_t* dims = nullptr;  // this step's values of the symbols
  uint64_t dim_count = 0;
  std::byte* scratch = nullptr;  // bytes of this execute's own, as many as the program has asked for

  template <class T>
  T* As(uint32_t tensor) const {
    return reinterpret_cast<T*>(data[tensor]);
  }
  int64_t Extent(int64_t dim) const { return dim >= 0 ? dim : dims[~dim]; }
};

}  // namespace motley::plugin
