// TempDir: a folder that a test may fill, removed with all its content at the end.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace motley::test {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Writes `bytes` to path()/name and returns the whole path.
  std::string Write(std::string_view name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

}  // namespace motley::test
