#include "core/base/mmap_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/base/checked.h"

namespace motley {
namespace {

Status SystemError(const std::string& path, std::string_view doing, int error) {
  std::string message = path + ": cannot " + std::string(doing) + ": " + std::generic_category().message(error);
  if (error == ENOENT || error == ENOTDIR) return NotFoundError(std::move(message));
  if (error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN) {
    return UnavailableError(std::move(message));
  }
  return InvalidArgumentError(std::move(message));
}

// Why a file of this mode can't be mapped; nullptr for a regular file.
const char* WhyNotRegular(mode_t mode) {
  if (S_ISREG(mode)) return nullptr;
  if (S_ISDIR(mode)) return "is a folder";
  if (S_ISFIFO(mode)) return "is a FIFO";
  if (S_ISSOCK(mode)) return "is a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "is a device";
  return "is of an unknown kind";
}

Status CheckKind(const std::string& path, const struct stat& info) {
  if (const char* why = WhyNotRegular(info.st_mode)) {
    return InvalidArgumentError(path + " " + why + ": name a regular file");
  }
  if (info.st_size == 0) return InvalidArgumentError(path + " is empty (0 bytes)");
  return OkStatus();
}

// Unlike strings, C paths end at their first NUL: such a name would open another file than it shows.
Status CheckPath(const std::string& path) {
  if (path.empty()) return InvalidArgumentError("the path of the file is empty");
  if (path.find('\0') != std::string::npos) return InvalidArgumentError("the path of the file has a NUL byte in it");
  return OkStatus();
}

}  // namespace

StatusOr<MmapFile> MmapFile::Open(const std::string& path) {
  MOTLEY_RETURN_IF_ERROR(CheckPath(path));
  // Looked at before it is opened, as merely opening some devices does something; and again afterwards, as the name
  // may by then mean another file. O_NONBLOCK, so that a FIFO put there in between can't hang us either.
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return SystemError(path, "look at the file", errno);
  MOTLEY_RETURN_IF_ERROR(CheckKind(path, info));
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return SystemError(path, "open the file", errno);
  MmapFile file(path, fd, nullptr, 0);  // owns fd from here
  if (fstat(fd, &info) != 0) return SystemError(path, "look at the file", errno);
  MOTLEY_RETURN_IF_ERROR(CheckKind(path, info));
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) {
    return SystemError(path, "map " + std::to_string(size) + " bytes of the file", errno);
  }
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = size;
  return file;
}

MmapFile::MmapFile(MmapFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MmapFile& MmapFile::operator=(MmapFile&& other) noexcept {
  if (this == &other) return *this;
  Close();
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

MmapFile::~MmapFile() { Close(); }

void MmapFile::Close() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
  if (fd_ >= 0) close(fd_);
  data_ = nullptr;
  fd_ = -1;
}

std::string_view MmapFile::base_name() const {
  const std::string_view path = path_;
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Status MmapFile::AdviseDontNeed(uint64_t offset, uint64_t bytes) const {
  uint64_t end = 0;
  if (!CheckedAdd(offset, bytes, &end) || end > size_) {
    return InvalidArgumentError(path_ + ": bytes " + std::to_string(offset) + " + " + std::to_string(bytes) +
                                " are not inside the file's " + std::to_string(size_));
  }
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  // A page that is shared with a neighbouring range stays. The last page of the file has no neighbour behind it.
  const uint64_t first = (offset + page - 1) / page * page;
  const uint64_t last = end == size_ ? end : end / page * page;
  if (first >= last) return OkStatus();
  if (madvise(const_cast<std::byte*>(data_) + first, last - first, MADV_DONTNEED) != 0) {
    return SystemError(path_, "give back mapped pages of the file", errno);
  }
  return OkStatus();
}

}  // namespace motley
