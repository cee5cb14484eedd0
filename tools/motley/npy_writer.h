// NpyWriter: a float32 array of rows as a .npy file, row by row. The file is there whole or not at all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "core/base/status.h"

namespace motley {

class NpyWriter {
 public:
  static StatusOr<NpyWriter> Create(const std::string& path, uint64_t rows, uint64_t columns);
  NpyWriter(NpyWriter&& other) noexcept;
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;
  ~NpyWriter();  // without Finish nothing is left behind

  // The unfinished file, for whoever must end without this object's destructor; "" = there is none.
  const std::string& temporary() const { return temporary_; }

  Status WriteRow(std::span<const float> row);
  // After the last row.
  Status Finish();

 private:
  NpyWriter() = default;

  std::string path_;
  std::string temporary_;  // "": the path is no plain file (a pipe), and is written in place
  std::FILE* file_ = nullptr;
  uint64_t rows_left_ = 0, columns_ = 0;
};

}  // namespace motley
