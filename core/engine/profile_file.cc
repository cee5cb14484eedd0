#include "core/engine/profile_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/base/sha256.h"
#include "core/base/system_memory.h"
#include "core/model/printable.h"

namespace motley {
namespace {

bool IsAbsolute(std::string_view path) {
  return !path.empty() && path.front() == '/';
}

// "model name : AMD EPYC ..." of the first processor, whatever the machine calls that line.
std::string CpuName(const std::string& root) {
  std::ifstream file((root == "/" ? "" : root) + "/proc/cpuinfo");
  std::string implementer;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon), value = line.substr(colon + 1);
    name.erase(name.find_last_not_of(" \t") + 1);
    value.erase(0, std::min(value.find_first_not_of(" \t"), value.size()));
    if (name == "model name" || name == "cpu model") return Printable(value, 200);
    // Arm names none: the numbers will do.
    if (name == "CPU implementer" || name == "CPU part")
      implementer += (implementer.empty() ? "" : " ") + name + " " + value;
    if (name == "CPU part") return Printable(implementer, 200);
  }
  struct utsname system {};
  return uname(&system) == 0 ? system.machine : "unknown";
}

std::string OptionText(const OptionSetting& option) {
  std::string value;
  if (const auto* whole = std::get_if<int64_t>(&option.value)) value = std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&option.value)) value = std::to_string(*number);
  if (const auto* yes = std::get_if<bool>(&option.value)) value = *yes ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&option.value)) value = *text;
  return option.name + " = " + Printable(value, 200);
}

Status CannotWrite(const std::string& path) {
  return FailedPreconditionError(Printable(path, 200) + ": cannot be written: " + std::strerror(errno) +
                                 ": name another file with -o");
}

// A new file beside `path` that may take its place; removed where it does not.
class TemporaryFile {
 public:
  static StatusOr<TemporaryFile> Beside(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code error;  // mkostemp says it too
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    TemporaryFile file;
    file.path_ = path;
    file.name_ = path + ".XXXXXX";
    file.fd_ = mkostemp(file.name_.data(), O_CLOEXEC);
    if (file.fd_ < 0) return CannotWrite(path);
    return StatusOr<TemporaryFile>(std::move(file));
  }
  TemporaryFile(TemporaryFile&& other) noexcept
      : path_(std::move(other.path_)), name_(std::move(other.name_)), fd_(std::exchange(other.fd_, -1)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(name_.c_str());
  }

  Status Become(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = write(fd_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return CannotWrite(path_);
      text.remove_prefix(static_cast<size_t>(count));
    }
    if (fchmod(fd_, 0644) != 0 || fsync(fd_) != 0 || rename(name_.c_str(), path_.c_str()) != 0)
      return CannotWrite(path_);
    close(std::exchange(fd_, -1));
    return OkStatus();
  }

 private:
  TemporaryFile() = default;
  std::string path_, name_;
  int fd_ = -1;
};

StatusOr<std::string> ReadProfileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFoundError(Printable(path, 200) + ": cannot be read: " + std::strerror(errno));
  std::string text;
  char buffer[65536];
  while (text.size() <= kMaxProfileBytes && (file.read(buffer, sizeof(buffer)), file.gcount() > 0))
    text.append(buffer, static_cast<size_t>(file.gcount()));
  if (file.bad()) return NotFoundError(Printable(path, 200) + ": cannot be read: " + std::strerror(errno));
  return text;
}

// Leaves the devices that are as they were measured.
void KeepKnownDevices(const Config& config, std::span<Device* const> devices, LoadedProfile* loaded) {
  std::vector<DeviceProbe> kept;
  for (const Device* device : devices) {
    const DeviceProbe* probe = loaded->profile->Find(device->name());
    if (probe == nullptr) continue;
    const StatusOr<DeviceIdentity> now = IdentifyDevice(*device, config);
    const std::string why = now.ok() ? WhyOtherDevice(probe->identity, *now) : now.status().message();
    if (why.empty()) {
      kept.push_back(*probe);
    } else {
      loaded->notices.push_back(loaded->path + ": what it says of " + device->name() + " is ignored: " + why +
                                "; motley probe measures it again");
    }
  }
  loaded->profile->devices = std::move(kept);
}

}  // namespace

std::string DefaultProfilePath(std::string_view xdg_state_home, std::string_view home) {
  constexpr std::string_view kName = "/motley/profile.toml";
  if (IsAbsolute(xdg_state_home)) return std::string(xdg_state_home) + std::string(kName);
  if (IsAbsolute(home)) return std::string(home) + "/.local/state" + std::string(kName);
  return "";
}

HostIdentity ReadHostIdentity(uint32_t threads, const std::string& root) {
  HostIdentity host;
  host.cpu = CpuName(root);
  host.threads = threads;
  if (const auto memory = ReadSystemMemory(root); memory.ok()) host.memory_bytes = memory->total_bytes;
  return host;
}

StatusOr<DeviceIdentity> IdentifyDevice(const Device& device, const Config& config) {
  const Library& library = device.instance()->library();
  DeviceIdentity identity;
  identity.name = device.name();
  identity.plugin = library.name();
  identity.version = library.version();
  MOTLEY_ASSIGN_OR_RETURN(identity.build, Sha256OfFile(library.path()));
  std::vector<std::string> options;
  if (const auto settings = config.plugin.find(library.name()); settings != config.plugin.end()) {
    for (const OptionSetting& option : settings->second.options) options.push_back(OptionText(option));
  }
  std::sort(options.begin(), options.end());
  for (const std::string& option : options)
    identity.options += (identity.options.empty() ? "" : ", ") + option;
  return identity;
}

StatusOr<LoadedProfile> LoadProfile(const Config& config, const std::string& default_path,
                                    const HostIdentity& host, std::span<Device* const> devices) {
  const bool named = !config.probe.profile.empty();
  const std::string path = named ? config.probe.profile : default_path;
  LoadedProfile loaded;
  if (path.empty()) return loaded;
  std::error_code error;
  if (!named && !std::filesystem::exists(path, error)) return loaded;
  const auto text = ReadProfileText(path);
  if (!text.ok()) return named ? text.status().WithPrefix(config.Where("probe.profile")) : text.status();
  loaded.path = path;
  StatusOr<ProbeProfile> profile = ParseProbeProfile(*text, path);
  if (!profile.ok()) {
    if (profile.status().code() == Code::kInvalidArgument) {
      return InvalidArgumentError(profile.status().message() +
                                  "; mend it, or write it anew with motley probe");
    }
    loaded.notices.push_back(profile.status().message());
    return loaded;
  }
  if (const std::string why = WhyOtherHost(profile->host, host); !why.empty()) {
    loaded.notices.push_back(path + ": is ignored, as it is of another machine: " + why +
                             "; motley probe measures this one");
    return loaded;
  }
  loaded.profile = *std::move(profile);
  KeepKnownDevices(config, devices, &loaded);
  return loaded;
}

Status CheckProfilePath(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::Beside(path));
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return OkStatus();
  return FailedPreconditionError(Printable(path, 200) + ": is a folder: name a file with -o");
}

Status WriteProfile(const ProbeProfile& profile, const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(TemporaryFile file, TemporaryFile::Beside(path));
  return file.Become(FormatProbeProfile(profile));
}

}  // namespace motley
