// Any bytes as a plugin's manifest: a Manifest or an error that names the file, never more.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/backend/manifest.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const motley::CpuFeatures cpu = motley::CpuFeatures::Detect();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = motley::ParseManifest(text, "/plugins/fuzz.plugin.toml");
  if (!manifest.ok()) {
    Require(manifest.status().code() == motley::Code::kInvalidArgument);
    Require(manifest.status().message().find("/plugins/fuzz.plugin.toml") == 0);
    Require(manifest.status().message().size() < 3 * size + 1024);
    return 0;
  }
  Require(manifest->name == "fuzz");
  // A file of the manifest's own folder, whatever was written.
  Require(manifest->library.rfind("/plugins/", 0) == 0 &&
          manifest->library.find('/', 9) == std::string::npos);
  Require(manifest->sha256.empty() || manifest->sha256.size() == 64);
  const motley::Status fits = motley::CheckManifest(*manifest, "x86_64", cpu);
  Require(fits.ok() || !fits.message().empty());
  return 0;
}
