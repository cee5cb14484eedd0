// NumPy's .npy files: little-endian float32 and float64 arrays in C order, read and written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace motley::test {

struct NpyArray {
  std::vector<int64_t> shape;  // outermost first
  bool is_f64 = false;         // as the file stores it
  std::vector<double> values;  // exact in either case
};

// INVALID_ARGUMENT names the file and what is wrong with it: another dtype, Fortran order, a wrong length.
StatusOr<NpyArray> ReadNpy(const std::filesystem::path& path);
StatusOr<NpyArray> ParseNpy(std::string_view bytes, std::string_view origin);

// shape's product must be the number of values.
Status WriteNpy(const std::filesystem::path& path, std::span<const int64_t> shape, std::span<const float> values);
Status WriteNpy(const std::filesystem::path& path, std::span<const int64_t> shape, std::span<const double> values);

}  // namespace motley::test
