#include "tools/motley/plugin_skeleton.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/suggest.h"
#include "core/model/printable.h"
#include "tools/motley/whole_file.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLetters = 40;
constexpr std::string_view kWord = "skeleton";

struct TemplateFile {
  const char* from;
  const char* to;
};
// "gitignore" without its dot: it is not to work on the source tree, nor to be missed by who lists the folder.
constexpr TemplateFile kFiles[] = {{"CMakeLists.txt", "CMakeLists.txt"}, {"README.md", "README.md"},
                                   {"conformance.txt", "conformance.txt"}, {"device.cc", "device.cc"},
                                   {"device.h", "device.h"},             {"gitignore", ".gitignore"},
                                   {"ops.cc", "ops.cc"},                 {"plugin.cc", "plugin.cc"}};

// The targets that CMake makes itself, and that no library may be called.
constexpr std::array<std::string_view, 10> kCMakeTargets = {
    "all", "clean", "depend", "edit_cache", "help", "install", "package", "package_source", "rebuild_cache", "test"};

StatusOr<std::string> ReadTemplate(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || text.empty()) {
    return NotFoundError(path.string() + ": the skeleton's files are not there: install motley with cmake --install");
  }
  return text;
}

std::string WithName(std::string text, const std::string& name) {
  for (size_t at = 0; (at = text.find(kWord, at)) != std::string::npos; at += name.size()) {
    text.replace(at, kWord.size(), name);
  }
  return text;
}

// Makes the folder, or takes one that is empty.
Status TakeFolder(const std::string& folder) {
  const std::string shown = "DIR \"" + Printable(folder, 200) + "\"";
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) return InvalidArgumentError(shown + " is no folder: name one that is not there yet");
    const bool empty = fs::is_empty(folder, error);
    if (error) return InvalidArgumentError(shown + ": " + error.message());
    if (empty) return OkStatus();
    return InvalidArgumentError(shown + " is not empty: name a folder that is, or that is not there yet");
  }
  fs::create_directories(folder, error);
  if (error) return InvalidArgumentError(shown + " cannot be made: " + error.message());
  return OkStatus();
}

}  // namespace

std::string SkeletonFolder() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) return "";
  return (executable.parent_path().parent_path() / "share" / "motley" / "skeleton").string();
}

Status CheckPluginName(const std::string& name, std::span<const std::string> taken) {
  const std::string shown = "NAME \"" + Printable(name, 60) + "\"";
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z'); };
  const bool right = !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
  if (!right || name.size() > kMostLetters) {
    return InvalidArgumentError(shown + ": must be a small letter, then small letters, digits and _, at most " +
                                std::to_string(kMostLetters) + " in all");
  }
  if (std::find(taken.begin(), taken.end(), name) != taken.end()) {
    return InvalidArgumentError(shown + ": there is a plugin of that name; motley plugins lists them");
  }
  if (std::find(kCMakeTargets.begin(), kCMakeTargets.end(), name) != kCMakeTargets.end()) {
    return InvalidArgumentError(shown + ": CMake keeps this name for a target of its own");
  }
  return OkStatus();
}

StatusOr<std::vector<std::string>> WriteSkeleton(const std::string& templates, const std::string& name,
                                                 const std::string& folder) {
  std::vector<std::string> texts;  // all of them before anything is written
  for (const TemplateFile& file : kFiles) {
    MOTLEY_ASSIGN_OR_RETURN(std::string text, ReadTemplate(fs::path(templates) / file.from));
    texts.push_back(WithName(std::move(text), name));
  }
  MOTLEY_RETURN_IF_ERROR(TakeFolder(folder));
  std::vector<std::string> written;
  for (size_t i = 0; i < std::size(kFiles); ++i) {
    const std::string path = (fs::path(folder) / kFiles[i].to).string();
    if (Status status = WriteWholeFile(path, texts[i], /*overwrite=*/false); !status.ok()) {
      return InvalidArgumentError(status.message());
    }
    written.push_back(path);
  }
  return written;
}

}  // namespace motley
