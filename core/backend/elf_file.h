// Whether a library's file is whole and for this machine. The loader maps segments without looking whether the file
// reaches that far, and a cut file (an interrupted copy) then ends the process with SIGBUS; of one for another
// machine it says that there is no such file.
#pragma once

#include <string>

#include "core/base/status.h"

namespace motley {

// FAILED_PRECONDITION where an ELF file is shorter than its headers say, or built for another machine. What is no ELF
// file at all is OK here: the loader says so itself.
Status CheckElf(const std::string& path);

}  // namespace motley
