#include "tools/motley/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/model/printable.h"

namespace motley {
namespace {

Status WriteAndClose(int fd, std::string_view text) {
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count >= 0) text.remove_prefix(static_cast<size_t>(count));
    if (count < 0 && errno != EINTR) error = errno;
  }
  if (close(fd) != 0 && error == 0) error = errno;
  return error == 0 ? OkStatus() : InternalError(std::string("cannot be written: ") + std::strerror(error));
}

Status Move(const std::string& from, const std::string& to, bool overwrite) {
  if (overwrite) {
    if (std::rename(from.c_str(), to.c_str()) == 0) return OkStatus();
    return InternalError(std::string("cannot be written: ") + std::strerror(errno));
  }
  // A link fails where something is there by now; some file systems have none.
  if (link(from.c_str(), to.c_str()) == 0) {
    unlink(from.c_str());
    return OkStatus();
  }
  if (errno == EEXIST) return FailedPreconditionError("exists already");
  struct stat info {};
  if (stat(to.c_str(), &info) == 0) return FailedPreconditionError("exists already");
  return Move(from, to, true);
}

Status Write(const std::string& path, std::string_view text, bool overwrite, unsigned mode) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) return InvalidArgumentError("is no plain file");
    if (!overwrite) return FailedPreconditionError("exists already");
  }
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  const std::string target = error ? path : real.string();
  std::string temporary = target + ".XXXXXX";
  const int fd = mkstemp(temporary.data());
  if (fd < 0) {
    return InvalidArgumentError(std::string("cannot be made: ") + std::strerror(errno) +
                                "; name a file in a folder that can be written");
  }
  const mode_t mask = umask(0);
  umask(mask);
  (void)fchmod(fd, mode & ~mask);
  Status status = WriteAndClose(fd, text);
  if (status.ok()) status = Move(temporary, target, overwrite);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace

Status WriteWholeFile(const std::string& path, std::string_view text, bool overwrite, unsigned mode) {
  const Status status = Write(path, text, overwrite, mode);
  return status.ok() ? status : Status(status.code(), Printable(path, 200) + ": " + status.message());
}

}  // namespace motley
