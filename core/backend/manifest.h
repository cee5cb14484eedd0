// Manifest: what NAME.plugin.toml says of a plugin. It is read before the library, so that a plugin for another
// machine is refused with none of its code run.
//
//   library = "ref.so"             # a file in the manifest's own folder
//   abi = "0.1"                    # the MAJOR.MINOR of <motley/plugin.h> it was built with
//   arch = "x86_64"                # or "aarch64", or "any"
//   kind = "reference"             # cpu, gpu, other, reference or test: of its devices
//   cpu_features = ["avx512f"]     # optional: names of core/base/cpu_features.h
//   sha256 = "0123..."             # optional: of the library
//
// Plain data and pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/cpu_features.h"
#include "core/base/status.h"

namespace motley {

struct Manifest {
  std::string name;     // NAME of NAME.plugin.toml
  std::string path;     // of the manifest
  std::string library;  // absolute path
  uint32_t abi_major = 0;
  uint32_t abi_minor = 0;
  std::string arch;
  std::string kind;
  std::vector<std::string> cpu_features;
  std::string sha256;   // lower case; "" = not given
};

inline constexpr std::string_view kManifestSuffix = ".plugin.toml";

// Reads and checks one file. INVALID_ARGUMENT names the file, the key and the fix.
StatusOr<Manifest> ReadManifest(const std::string& path);

// The same from text; `path` gives the name and the folder.
StatusOr<Manifest> ParseManifest(std::string_view text, const std::string& path);

// Whether this machine can run it: arch, ABI (both versions named), CPU features (each missing one named). FAILED_
// PRECONDITION or UNIMPLEMENTED with the reason that is printed.
Status CheckManifest(const Manifest& manifest, std::string_view arch, const CpuFeatures& cpu);

// Whether the library has the sha256 that the manifest gives; OK where it gives none.
Status CheckLibraryHash(const Manifest& manifest);

}  // namespace motley
