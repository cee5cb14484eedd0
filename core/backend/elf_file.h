// Whether a library's file is whole: the loader maps segments without looking whether the file reaches that far, and
// a cut file (an interrupted copy) then ends the process with SIGBUS.
#pragma once

#include <string>

#include "core/base/status.h"

namespace motley {

// FAILED_PRECONDITION where an ELF file is shorter than its headers say. What is no 64-bit ELF file at all is OK
// here: the loader says so itself.
Status CheckElfIsWhole(const std::string& path);

}  // namespace motley
