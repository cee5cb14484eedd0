#include "core/backend/discovery.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "core/base/suggest.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 4096;  // of a folder: more than that is no folder of plugins

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

// Why a file or folder is not to be trusted, or "".
std::string WhyUnsafe(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return path + ": " + std::strerror(errno);
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return path + ": is no file";
  if ((info.st_mode & S_IWOTH) == 0) return "";
  return path + " can be written by everybody, so anybody could have put code there: chmod o-w " + path;
}

struct FolderFiles {
  std::vector<std::string> manifests;  // paths, by name
  std::vector<std::string> libraries;
  std::string error;  // why it could not be read
};

FolderFiles ListFolder(const std::string& folder) {
  FolderFiles files;
  std::error_code error;
  size_t count = 0;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (++count > kMostFiles) {
      files.error = folder + ": more than " + std::to_string(kMostFiles) + " files: not a folder of plugins";
      return files;
    }
    const std::string path = it->path().string();
    if (EndsWith(path, kManifestSuffix)) files.manifests.push_back(path);
    if (EndsWith(path, ".so")) files.libraries.push_back(path);
  }
  if (error) files.error = folder + ": " + error.message();
  std::sort(files.manifests.begin(), files.manifests.end());
  std::sort(files.libraries.begin(), files.libraries.end());
  return files;
}

std::string NameOf(const std::string& path, std::string_view suffix) {
  const std::string name = fs::path(path).filename().string();
  return name.substr(0, name.size() - suffix.size());
}

class Search {
 public:
  explicit Search(const DiscoveryOptions& options) : options_(options) {}

  void Folder(const std::string& folder);
  Discovery Take();

 private:
  void Manifest_(const std::string& path, const std::string& folder_is_unsafe);
  std::string WhyNot(Candidate& candidate, const std::string& path, const std::string& folder_is_unsafe);

  const DiscoveryOptions& options_;
  Discovery found_;
  std::set<std::string> seen_folders_;
  std::map<std::string, std::string> taken_;  // plugin -> library
};

void Search::Folder(const std::string& folder) {
  std::error_code error;
  const std::string absolute = fs::canonical(folder, error).string();
  if (error || !seen_folders_.insert(absolute).second) return;
  found_.folders.push_back(absolute);
  const std::string unsafe = WhyUnsafe(absolute);
  const FolderFiles files = ListFolder(absolute);
  if (!files.error.empty()) found_.warnings.push_back(files.error);
  if (!unsafe.empty()) found_.warnings.push_back("plugins refused: " + unsafe);

  std::set<std::string> libraries_with_manifest;
  for (const std::string& path : files.manifests) {
    Manifest_(path, unsafe);
    libraries_with_manifest.insert(found_.candidates.back().manifest.library);
    libraries_with_manifest.insert(absolute + "/" + found_.candidates.back().report.name + ".so");
  }
  for (const std::string& path : files.libraries) {
    if (libraries_with_manifest.count(path) != 0) continue;
    Candidate candidate;
    candidate.report.name = NameOf(path, ".so");
    candidate.report.path = path;
    candidate.report.reason = !unsafe.empty() ? unsafe
                                              : "no manifest: " + candidate.report.name +
                                                    std::string(kManifestSuffix) + " is missing beside it";
    found_.candidates.push_back(std::move(candidate));
  }
}

void Search::Manifest_(const std::string& path, const std::string& folder_is_unsafe) {
  Candidate candidate;
  candidate.report.name = NameOf(path, kManifestSuffix);
  candidate.report.path = path;
  candidate.report.reason = WhyNot(candidate, path, folder_is_unsafe);
  if (candidate.report.reason.empty()) taken_.emplace(candidate.report.name, candidate.manifest.library);
  found_.candidates.push_back(std::move(candidate));
}

std::string Search::WhyNot(Candidate& candidate, const std::string& path,
                           const std::string& folder_is_unsafe) {
  if (!folder_is_unsafe.empty()) return folder_is_unsafe;
  if (const std::string unsafe = WhyUnsafe(path); !unsafe.empty()) return unsafe;
  StatusOr<Manifest> manifest = ReadManifest(path);
  if (!manifest.ok()) return manifest.status().message();
  candidate.manifest = *std::move(manifest);
  candidate.report.kind = candidate.manifest.kind;
  candidate.report.path = candidate.manifest.library;
  const std::string& name = candidate.report.name;

  if (const auto earlier = taken_.find(name); earlier != taken_.end()) {
    return "a plugin of this name was found before: " + earlier->second;
  }
  if (const auto settings = options_.plugins.find(name);
      settings != options_.plugins.end() && !settings->second.enabled) {
    const std::string& at = settings->second.position;
    return "disabled: plugin." + name + ".enabled = false" + (at.empty() ? "" : " (" + at + ")");
  }
  if (const Status fits = CheckManifest(candidate.manifest, options_.arch, options_.cpu); !fits.ok()) {
    return fits.message();
  }
  if (const std::string unsafe = WhyUnsafe(candidate.manifest.library); !unsafe.empty()) return unsafe;
  const Status hash = CheckLibraryHash(candidate.manifest);
  return hash.ok() ? "" : hash.message();
}

Discovery Search::Take() {
  for (Candidate& candidate : found_.candidates) candidate.report.folders = found_.folders;
  return std::move(found_);
}

}  // namespace

std::string InstallFolder() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) return "";
  return (executable.parent_path().parent_path() / "lib" / "motley").string();
}

std::string ProbeProgram(const std::string& install_folder) {
  return install_folder.empty() ? "" : install_folder + "/motley-plugin-probe";
}

StatusOr<Discovery> Discover(const DiscoveryOptions& options) {
  Search search(options);
  std::vector<std::string> warnings;
  for (const std::string& folder : options.paths) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
      return NotFoundError("plugin folder \"" + folder +
                           "\": " + (error ? error.message() : std::string("is no folder")));
    }
    search.Folder(folder);
  }
  if (options.use_default_paths) {
    for (size_t start = 0; start < options.environment.size();) {
      const size_t end = std::min(options.environment.find(':', start), options.environment.size());
      const std::string folder = options.environment.substr(start, end - start);
      start = end + 1;
      if (folder.empty()) continue;
      std::error_code error;
      if (!fs::is_directory(folder, error))
        warnings.push_back("MOTLEY_PLUGIN_PATH: no folder \"" + folder + "\"");
      search.Folder(folder);
    }
    if (!options.install_folder.empty()) search.Folder(options.install_folder);
  }
  Discovery found = search.Take();
  found.warnings.insert(found.warnings.begin(), warnings.begin(), warnings.end());
  return found;
}

}  // namespace motley
