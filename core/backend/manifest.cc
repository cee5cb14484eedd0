#include "core/backend/manifest.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include <toml++/toml.h>

#include <motley/plugin.h>

#include "core/backend/abi.h"
#include "core/base/sha256.h"
#include "core/base/suggest.h"

namespace motley {
namespace {

constexpr size_t kMostBytes = 1 << 16;
const std::array<std::string, 5> kKinds = {"cpu", "gpu", "other", "reference", "test"};
const std::array<std::string, 6> kKeys = {"library", "abi", "arch", "cpu_features", "kind", "sha256"};

// Where an error is: path:line:column, as TOML errors say it.
std::string At(const std::string& path, const toml::node& node) {
  const toml::source_position begin = node.source().begin;
  return path + ":" + std::to_string(begin.line) + ":" + std::to_string(begin.column);
}

StatusOr<std::string> Text(const toml::table& table, const std::string& path, const std::string& key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return InvalidArgumentError(path + ": " + key + " is missing");
  const std::optional<std::string> text = node->value<std::string>();
  if (!node->is_string() || !text)
    return InvalidArgumentError(At(path, *node) + ": " + key + ": must be a text");
  if (text->empty()) return InvalidArgumentError(At(path, *node) + ": " + key + " = \"\": must not be empty");
  return *text;
}

// "0.1"
bool ParseAbi(const std::string& text, uint32_t* major, uint32_t* minor) {
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, *major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return false;
  const auto second = std::from_chars(first.ptr + 1, end, *minor);
  return second.ec == std::errc() && second.ptr == end;
}

Status ReadFeatures(const toml::table& table, const std::string& path, std::vector<std::string>& features) {
  const toml::node* node = table.get("cpu_features");
  if (node == nullptr) return OkStatus();
  const toml::array* array = node->as_array();
  if (array == nullptr)
    return InvalidArgumentError(At(path, *node) + ": cpu_features: must be a list of texts");
  for (const toml::node& item : *array) {
    const std::optional<std::string> name = item.value<std::string>();
    if (!item.is_string() || !name || name->empty()) {
      return InvalidArgumentError(At(path, item) + ": cpu_features: must be a list of texts");
    }
    features.push_back(*name);
  }
  return OkStatus();
}

Status ReadHash(const toml::table& table, const std::string& path, std::string& hash) {
  const toml::node* node = table.get("sha256");
  if (node == nullptr) return OkStatus();
  MOTLEY_ASSIGN_OR_RETURN(hash, Text(table, path, "sha256"));
  for (char& c : hash) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  const bool hex = std::all_of(hash.begin(), hash.end(),
                               [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (hash.size() != 64 || !hex) {
    return InvalidArgumentError(At(path, *node) + ": sha256 = \"" + hash +
                                "\": must be 64 hexadecimal digits");
  }
  return OkStatus();
}

Status ReadKeys(const toml::table& table, const std::string& path, Manifest& manifest) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::find(kKeys.begin(), kKeys.end(), name) == kKeys.end()) {
      return InvalidArgumentError(At(path, node) + ": " + name + ": unknown key" + DidYouMean(name, kKeys));
    }
  }
  MOTLEY_ASSIGN_OR_RETURN(const std::string library, Text(table, path, "library"));
  const bool plain = library.find_first_of(std::string("/\\\0", 3)) == std::string::npos && library[0] != '.';
  if (!plain) {
    return InvalidArgumentError(At(path, *table.get("library")) + ": library = \"" + library +
                                "\": must be the name of a file in the manifest's folder");
  }
  manifest.library = (std::filesystem::path(path).parent_path() / library).string();

  MOTLEY_ASSIGN_OR_RETURN(const std::string abi, Text(table, path, "abi"));
  if (!ParseAbi(abi, &manifest.abi_major, &manifest.abi_minor)) {
    return InvalidArgumentError(At(path, *table.get("abi")) + ": abi = \"" + abi +
                                "\": must be \"MAJOR.MINOR\"");
  }
  MOTLEY_ASSIGN_OR_RETURN(manifest.arch, Text(table, path, "arch"));
  MOTLEY_ASSIGN_OR_RETURN(manifest.kind, Text(table, path, "kind"));
  if (std::find(kKinds.begin(), kKinds.end(), manifest.kind) == kKinds.end()) {
    return InvalidArgumentError(At(path, *table.get("kind")) + ": kind = \"" + manifest.kind +
                                "\": must be one of " + ListNames(kKinds) +
                                DidYouMean(manifest.kind, kKinds));
  }
  MOTLEY_RETURN_IF_ERROR(ReadFeatures(table, path, manifest.cpu_features));
  return ReadHash(table, path, manifest.sha256);
}

}  // namespace

StatusOr<Manifest> ReadManifest(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return NotFoundError(path + ": " + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return InvalidArgumentError(path + ": is no file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFoundError(path + ": " + std::strerror(errno));
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return ParseManifest(text, path);
}

StatusOr<Manifest> ParseManifest(std::string_view text, const std::string& path) {
  Manifest manifest;
  manifest.path = path;
  manifest.name = std::filesystem::path(path).filename().string();
  if (manifest.name.size() > kManifestSuffix.size() &&
      std::string_view(manifest.name).substr(manifest.name.size() - kManifestSuffix.size()) ==
          kManifestSuffix) {
    manifest.name.resize(manifest.name.size() - kManifestSuffix.size());
  }
  if (text.size() > kMostBytes) {
    return InvalidArgumentError(path + ": more than " + std::to_string(kMostBytes) +
                                " bytes: is this a manifest?");
  }
  try {
    const toml::table table = toml::parse(text, path);
    MOTLEY_RETURN_IF_ERROR(ReadKeys(table, path, manifest));
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    return InvalidArgumentError(path + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                                ": " + std::string(error.description()));
  }
  return manifest;
}

Status CheckManifest(const Manifest& manifest, std::string_view arch, const CpuFeatures& cpu) {
  if (manifest.arch != "any" && manifest.arch != arch) {
    return FailedPreconditionError("built for " + manifest.arch + ", this machine is " + std::string(arch));
  }
  if (!AbiFits(manifest.abi_major, manifest.abi_minor)) {
    return FailedPreconditionError("built for ABI " + std::to_string(manifest.abi_major) + "." +
                                   std::to_string(manifest.abi_minor) + ", this motley has ABI " +
                                   std::to_string(MOTLEY_ABI_MAJOR) + "." + std::to_string(MOTLEY_ABI_MINOR) +
                                   ": build the plugin anew");
  }
  std::string missing;
  for (const std::string& name : manifest.cpu_features) {
    const std::string why = cpu.WhyMissing(name);
    if (!why.empty()) missing += (missing.empty() ? "" : ", ") + name + " (" + why + ")";
  }
  return missing.empty() ? OkStatus()
                         : FailedPreconditionError("needs CPU features that are not there: " + missing);
}

Status CheckLibraryHash(const Manifest& manifest) {
  if (manifest.sha256.empty()) return OkStatus();
  MOTLEY_ASSIGN_OR_RETURN(const std::string found, Sha256OfFile(manifest.library));
  if (found == manifest.sha256) return OkStatus();
  return DataLossError(manifest.library + ": sha256 is " + found + ", the manifest says " + manifest.sha256 +
                       ": install library and manifest together");
}

}  // namespace motley
