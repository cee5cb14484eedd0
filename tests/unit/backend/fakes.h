// Folders of plugins for tests: copies of the built fakes with manifests written by hand.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <motley/plugin.h>

#include "core/backend/registry.h"
#include "core/base/cpu_features.h"
#include "tests/support/temp_dir.h"

namespace motley::test {

inline std::string BuiltPlugin(std::string_view target) {
  return std::string(MOTLEY_FAKE_PLUGINS) + "/" + std::string(target) + ".so";
}

inline std::string AbiText() {
  return std::to_string(MOTLEY_ABI_MAJOR) + "." + std::to_string(MOTLEY_ABI_MINOR);
}

// A right manifest, but for what `extra` or `abi` and `arch` say.
inline std::string ManifestText(std::string_view library, std::string_view extra = "",
                                std::string abi = AbiText(), std::string_view arch = HostArch()) {
  return "library = \"" + std::string(library) + "\"\nabi = \"" + abi + "\"\narch = \"" + std::string(arch) +
         "\"\nkind = \"test\"\n" + std::string(extra);
}

// A folder that holds plugins; only the owner may write to it.
class PluginFolder {
 public:
  PluginFolder() { chmod(path().c_str(), 0755); }

  std::string path() const { return std::filesystem::canonical(dir_.path()).string(); }
  // NAME.so, a copy of what `target` built, without a manifest.
  std::string AddLibrary(std::string_view name, std::string_view target) {
    const std::string to = path() + "/" + std::string(name) + ".so";
    std::filesystem::copy_file(BuiltPlugin(target), to);
    return to;
  }
  void AddManifest(std::string_view name, std::string_view text) {
    chmod(dir_.Write(std::string(name) + ".plugin.toml", text).c_str(), 0644);
  }
  void Add(std::string_view name, std::string_view target) {
    AddLibrary(name, target);
    AddManifest(name, ManifestText(std::string(name) + ".so"));
  }
  std::string Write(std::string_view name, std::string_view bytes) {
    const std::string to = dir_.Write(name, bytes);
    chmod(to.c_str(), 0644);
    return to;
  }

  DiscoveryOptions Options() const {
    DiscoveryOptions options;
    options.paths = {path()};
    options.use_default_paths = false;
    return options;
  }

 private:
  TempDir dir_;
};

inline const PluginReport* Report(const Backends& backends, std::string_view name) {
  for (const PluginReport& report : backends.reports()) {
    if (report.name == name) return &report;
  }
  return nullptr;
}

// Whether this process has the file mapped.
bool IsMapped(const std::string& path);

inline ::testing::AssertionResult Contains(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << '"' << part << "\" is not in: " << text;
}

}  // namespace motley::test
