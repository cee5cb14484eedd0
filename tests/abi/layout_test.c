/* The layout of the ABI, field by field, pinned: compiled as C11 and as C++20 (tests/abi/CMakeLists.txt). */
#include <motley/plugin.h>
