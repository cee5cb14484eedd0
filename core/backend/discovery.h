// Discovery: which plugins there are, and why each is used or not.
//
// Folders are searched in this order: DiscoveryOptions::paths, the environment's, the install prefix's. In a
// folder, manifests in order of their names. Of two plugins with one name the first is taken. Folders and files
// that everybody may write to are refused, as anybody could have put code there.
// Nothing here runs foreign code. Plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/manifest.h"
#include "core/backend/options.h"
#include "core/base/cpu_features.h"
#include "core/base/status.h"

namespace motley {

// What the operator says of one plugin: [plugin.NAME].
struct PluginSettings {
  bool enabled = true;
  std::optional<bool> probe_in_child;  // absent: unless a sound probe is remembered
  uint32_t probe_timeout_s = 10;
  std::vector<OptionSetting> options;
  std::string position;  // of the table; may be empty
};

struct DiscoveryOptions {
  std::vector<std::string> paths;  // of the TOML file and --plugin-path; a missing one is an error
  std::string environment;         // the value of MOTLEY_PLUGIN_PATH, ':' between folders; missing ones are skipped
  std::string install_folder;      // <executable>/../lib/motley (InstallFolder()); may be missing
  bool use_default_paths = true;   // false: `paths` alone
  std::map<std::string, PluginSettings> plugins;

  // The program that opens a plugin in a child process first (ProbeProgram()), "" = none is; and where it is remembered
  // that a plugin came through that (VerdictFolder()), "" = nowhere.
  std::string probe_program, verdict_folder;

  // The machine, for tests.
  std::string arch = std::string(HostArch());
  CpuFeatures cpu = CpuFeatures::Detect();
};

// What became of one candidate.
struct PluginReport {
  std::string name;
  std::string path;      // of the library, or of the manifest where that is as far as it got
  std::string version, vendor, build;  // as the plugin says; "" where it was not loaded
  std::string kind;      // of its manifest
  bool used = false;
  std::string reason;    // why not; "" where it is used
  std::vector<std::string> folders;    // that were searched
  std::vector<std::string> devices;    // full names
  std::vector<OptionSchema> options;   // its schema, where it could be read
};

// A plugin that may be loaded (manifest.library), or one that is skipped (report.reason).
struct Candidate {
  Manifest manifest;
  PluginReport report;
};

struct Discovery {
  std::vector<std::string> folders;   // searched, in order
  std::vector<Candidate> candidates;  // in order; those with an empty report.reason may be loaded
  std::vector<std::string> warnings;  // of folders
};

// <folder of this executable>/../lib/motley, or "" where /proc is not there.
std::string InstallFolder();

// The probe program beside the plugins of `install_folder`.
std::string ProbeProgram(const std::string& install_folder);

// NOT_FOUND names the missing folder of `paths`. Everything else becomes a reason or a warning.
StatusOr<Discovery> Discover(const DiscoveryOptions& options);

}  // namespace motley
