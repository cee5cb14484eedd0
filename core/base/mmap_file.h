// MmapFile: a whole regular file, mapped read-only. The descriptor stays open, since the plugin ABI hands out file
// ranges as an address or as descriptor + offset.
//
// Move-only; const methods from any thread. A file that another process shortens while it is mapped raises SIGBUS on
// access to the lost part: don't rewrite a model in place while it is in use; write beside it and rename.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace motley {

class MmapFile {
 public:
  // Never blocks: a folder, a FIFO, a socket or a device is refused by name, and so is an empty file.
  // NOT_FOUND where there is no such file, INVALID_ARGUMENT where it can't be a model, UNAVAILABLE where the system
  // is out of descriptors or address space. Every message has the path and the system's own text.
  static StatusOr<MmapFile> Open(const std::string& path);

  MmapFile(MmapFile&& other) noexcept;
  MmapFile& operator=(MmapFile&& other) noexcept;
  MmapFile(const MmapFile&) = delete;
  MmapFile& operator=(const MmapFile&) = delete;
  ~MmapFile();

  const std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(data_), static_cast<size_t>(size_)}; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  // The last component of path(), for messages.
  std::string_view base_name() const;

  // Gives back the memory of [offset, offset + bytes), of which only whole pages inside count. The bytes stay
  // readable: the next access reads the file again. INVALID_ARGUMENT where the range is not inside the file.
  Status AdviseDontNeed(uint64_t offset, uint64_t bytes) const;

 private:
  MmapFile(std::string path, int fd, const std::byte* data, uint64_t size)
      : path_(std::move(path)), fd_(fd), data_(data), size_(size) {}
  void Close();

  std::string path_;
  int fd_ = -1;
  const std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace motley
