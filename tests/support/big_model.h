// A random model large enough that its weights are what matters of memory and time: a llama of few wide
// layers with the tiny models' vocabulary. Nobody can read what it says.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/base/status.h"
#include "core/tensor/format.h"

namespace motley::test {

// Of about `bytes` in the file: whole layers, at least one. Takes as much memory as the file while it is
// written, three times over, and gives it back.
Status WriteBigModel(Format format, uint64_t bytes, const std::filesystem::path& path);

}  // namespace motley::test
