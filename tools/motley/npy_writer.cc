#include "tools/motley/npy_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace motley {
namespace {

// Version 1.0: magic, version, u16 length, a Python literal padded with blanks so that the data begins at a
// multiple of 64 bytes.
std::string Header(uint64_t rows, uint64_t columns) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                     std::to_string(columns) + "), }";
  constexpr size_t kBefore = 10;
  while ((kBefore + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Status CannotWrite(const std::string& path) {
  return InternalError(path + ": cannot be written: " + std::strerror(errno));
}

}  // namespace

StatusOr<NpyWriter> NpyWriter::Create(const std::string& path, uint64_t rows, uint64_t columns) {
  NpyWriter writer;
  writer.path_ = path;
  writer.rows_left_ = rows;
  writer.columns_ = columns;
  struct stat info {};
  const bool special = stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (special) {
    writer.file_ = std::fopen(path.c_str(), "wb");
  } else {
    std::string pattern = path + ".XXXXXX";
    const int fd = mkstemp(pattern.data());
    if (fd < 0)
      return Status(Code::kInvalidArgument, path + ": cannot be made: " + std::strerror(errno) +
                                                "; name a file in a folder that can be written");
    const mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(fd, 0666 & ~mask);  // as any other new file
    writer.temporary_ = pattern;
    writer.file_ = fdopen(fd, "wb");
  }
  if (writer.file_ == nullptr) return CannotWrite(path);
  const std::string header = Header(rows, columns);
  if (std::fwrite(header.data(), 1, header.size(), writer.file_) != header.size()) return CannotWrite(path);
  return writer;
}

NpyWriter::NpyWriter(NpyWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      file_(std::exchange(other.file_, nullptr)),
      rows_left_(other.rows_left_),
      columns_(other.columns_) {}

NpyWriter::~NpyWriter() {
  if (file_ != nullptr) std::fclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status NpyWriter::WriteRow(std::span<const float> row) {
  if (rows_left_ == 0 || row.size() != columns_)
    return InternalError(path_ + ": a row that does not belong there");
  --rows_left_;
  if (std::fwrite(row.data(), sizeof(float), row.size(), file_) != row.size()) return CannotWrite(path_);
  return OkStatus();
}

Status NpyWriter::Finish() {
  if (rows_left_ != 0) return InternalError(path_ + ": " + std::to_string(rows_left_) + " rows are missing");
  if (std::fclose(std::exchange(file_, nullptr)) != 0) return CannotWrite(path_);
  if (temporary_.empty()) return OkStatus();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return CannotWrite(path_);
  temporary_.clear();
  return OkStatus();
}

}  // namespace motley
