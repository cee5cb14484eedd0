// Library: a plugin's shared object, loaded, and its checked motley_plugin table.
//
// Shared by all that came from it. It stays in memory for the rest of the process unless the plugin declares
// MAY_UNLOAD and closed without a complaint. Loading is done by one thread at a time; reading is free.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <motley/plugin.h>

#include "core/backend/options.h"
#include "core/base/status.h"

namespace motley {

class Library {
 public:
  // `path` must be absolute. Errors carry the loader's text, or what is wrong with the table, with both ABI versions
  // where they differ. No exception comes out, though one that a static constructor throws may end the process.
  static StatusOr<std::shared_ptr<Library>> Load(const std::string& path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const motley_plugin& plugin() const { return *plugin_; }
  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& vendor() const { return vendor_; }
  const std::string& build() const { return build_; }
  const std::vector<OptionSchema>& options() const { return options_; }
  bool names_devices() const;

  // Keeps the code in memory whatever the plugin declares: it did not stop all that it had started.
  void Pin() { pinned_ = true; }

 private:
  struct Loaded;
  Library();
  Status Check();  // the table of plugin_; fills the copies

  std::unique_ptr<Loaded> loaded_;
  const motley_plugin* plugin_ = nullptr;
  std::string path_, name_, version_, vendor_, build_;
  std::vector<OptionSchema> options_;
  bool pinned_ = false;
};

}  // namespace motley
