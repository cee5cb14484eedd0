// The skeleton of a plugin: the files of share/motley/skeleton under another name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace motley {

// <folder of this executable>/../share/motley/skeleton, or "" where /proc is not there. A build folder has one too.
std::string SkeletonFolder();

// INVALID_ARGUMENT where a plugin can't be called so: [a-z][a-z0-9_]*, none of `taken`, no target of CMake's own.
Status CheckPluginName(const std::string& name, std::span<const std::string> taken);

// Writes the files of `templates` into `folder`, which is made, or is empty; the word "skeleton" in them becomes
// `name`. The paths that were written. INVALID_ARGUMENT where something is there already, NOT_FOUND where the
// templates are not; nothing is ever overwritten.
StatusOr<std::vector<std::string>> WriteSkeleton(const std::string& templates, const std::string& name,
                                                 const std::string& folder);

}  // namespace motley
