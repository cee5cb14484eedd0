#include "core/backend/verdict_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <motley/plugin.h>

namespace motley {
namespace {

constexpr size_t kMostBytes = 1 << 16;

// What must be the same for a verdict to be believed: the first line of its file.
std::string Heading(const LibraryId& library, const std::string& boot) {
  return "motley plugin verdict 1, ABI " + std::to_string(MOTLEY_ABI_MAJOR) + "." +
         std::to_string(MOTLEY_ABI_MINOR) + ", " + std::to_string(library.bytes) + " bytes, boot " + boot + "\n";
}

bool TakeLine(std::string_view& text, std::string_view line) {
  if (text.substr(0, line.size()) != line) return false;
  text.remove_prefix(line.size());
  return true;
}

// Only our own files in a folder that nobody else may write to are believed.
bool IsOurs(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

Status WriteWhole(const std::string& path, std::string_view text) {
  const std::string beside = path + "." + std::to_string(getpid());
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return UnavailableError(beside + ": " + std::strerror(errno));
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  const bool closed = close(fd) == 0;
  if (written && closed && rename(beside.c_str(), path.c_str()) == 0) return OkStatus();
  const Status why = UnavailableError(path + ": " + std::strerror(written ? errno : error));
  unlink(beside.c_str());
  return why;
}

}  // namespace

std::optional<RememberedVerdict> VerdictCache::Find(const LibraryId& library) const {
  if (folder_.empty() || boot_.empty()) return std::nullopt;
  const std::string path = folder_ + "/" + library.sha256;
  if (!IsOurs(folder_) || !IsOurs(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string content(kMostBytes, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<size_t>(file.gcount()));
  std::string_view text = content;
  if (!TakeLine(text, Heading(library, boot_))) return std::nullopt;
  RememberedVerdict verdict;
  verdict.sound = TakeLine(text, "sound ");
  if (!verdict.sound && !TakeLine(text, "hung ")) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), verdict.unix_s);
  if (error != std::errc() || end == text.data() + text.size() || *end != '\n') return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  verdict.why = std::string(text);
  return verdict;
}

Status VerdictCache::Remember(const LibraryId& library, const RememberedVerdict& verdict) const {
  if (folder_.empty()) {
    return NotFoundError("no folder for verdicts on plugins: neither XDG_CACHE_HOME nor HOME is set");
  }
  if (boot_.empty()) return UnavailableError("/proc/sys/kernel/random/boot_id cannot be read");
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return UnavailableError(folder_ + ": " + error.message());
  return WriteWhole(folder_ + "/" + library.sha256,
                    Heading(library, boot_) + (verdict.sound ? "sound " : "hung ") + std::to_string(verdict.unix_s) +
                        "\n" + verdict.why);
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string VerdictFolder(const char* xdg_cache_home, const char* home) {
  if (xdg_cache_home != nullptr && xdg_cache_home[0] == '/') return std::string(xdg_cache_home) + "/motley/plugins";
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/motley/plugins";
  return "";
}

}  // namespace motley
