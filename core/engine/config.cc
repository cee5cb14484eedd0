#include "core/engine/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/engine/config_reader.h"
#include "core/model/printable.h"

namespace motley {
namespace {

// The whole file, or an error where it is larger than a configuration may be; a pipe will do.
StatusOr<std::string> ReadSmallFile(const std::string& path) {
  const auto failed = [&] {
    return NotFoundError(Printable(path, 200) + ": cannot be read: " + std::strerror(errno));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed();
  std::string text;
  char buffer[16384];
  ssize_t count = 0;
  while (text.size() <= kMaxConfigBytes) {
    count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<size_t>(count));
  }
  const int read_errno = errno;
  close(fd);
  errno = read_errno;
  if (count < 0) return failed();
  return text;
}

}  // namespace

std::string Config::Where(const std::string& key) const {
  const auto found = positions.find(key);
  return found == positions.end() || found->second.empty() ? key : found->second + ": " + key;
}

StatusOr<Config> LoadConfig(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  return ParseConfig(text, path);
}

StatusOr<Config> ParseConfig(std::string_view text, const std::string& file_name) {
  Config config;
  const std::string folder = std::filesystem::path(file_name).parent_path().string();
  MOTLEY_RETURN_IF_ERROR(ReadConfigText(text, file_name, folder, &config));
  return config;
}

Status ApplySetting(Config& config, std::string_view setting) {
  const std::string position = "--set " + Printable(setting, 80);
  const size_t equals = setting.find('=');
  if (equals == std::string_view::npos)
    return InvalidArgumentError(position +
                                ": has no =: write TABLE.KEY=VALUE, e.g. --set model.context=4096");
  std::string_view key = setting.substr(0, equals);
  while (!key.empty() && key.back() == ' ') key.remove_suffix(1);
  while (!key.empty() && key.front() == ' ') key.remove_prefix(1);
  return ReadConfigSetting(key, setting.substr(equals + 1), position, &config);
}

Status SetConfigValue(Config& config, const std::string& key, std::string_view value,
                      const std::string& position) {
  return ReadConfigSetting(key, value, position, &config);
}

}  // namespace motley
