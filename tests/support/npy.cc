#include "tests/support/npy.h"

#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/base/checked.h"

namespace motley::test {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// The text behind 'key': in the header's dictionary, up to the end; empty where the key is absent.
std::string_view Behind(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size() + 3);
  const size_t start = header.find_first_not_of(' ');
  return start == std::string_view::npos ? std::string_view() : header.substr(start);
}

// "(3, 4)", "(3,)" or "()".
bool ParseShape(std::string_view text, std::vector<int64_t>* shape) {
  const size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) return false;
  const char* at = text.data() + 1;
  const char* const stop = text.data() + end;
  while (at < stop) {
    int64_t dim = 0;
    const auto result = std::from_chars(at, stop, dim);
    if (result.ec != std::errc() || dim < 0) return false;
    shape->push_back(dim);
    for (at = result.ptr; at < stop && (*at == ',' || *at == ' '); ++at) {}
  }
  return true;
}

template <typename T>
Status Write(const std::filesystem::path& path, std::string_view descr, std::span<const int64_t> shape,
             std::span<const T> values) {
  uint64_t count = 1;
  std::string dims;
  for (int64_t dim : shape) {
    if (dim < 0 || !CheckedMul(count, static_cast<uint64_t>(dim), &count)) count = UINT64_MAX;
    dims += std::to_string(dim) + ", ";
  }
  if (count != values.size()) {
    return InvalidArgumentError(path.string() + ": shape (" + dims + ") does not hold " +
                                std::to_string(values.size()) + " values");
  }
  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + dims + "), }";
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  return out ? OkStatus() : UnavailableError(path.string() + ": cannot be written");
}

}  // namespace

StatusOr<NpyArray> ReadNpy(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFoundError(path.string() + ": cannot be opened");
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  return ParseNpy(bytes, path.filename().string());
}

StatusOr<NpyArray> ParseNpy(std::string_view bytes, std::string_view origin) {
  const auto error = [&](std::string_view what) { return InvalidArgumentError(std::string(origin) + ": " + std::string(what)); };
  if (bytes.size() < 12 || bytes.substr(0, 6) != kMagic) return error("no npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  const bool wide = byte(6) >= 2;
  const size_t start = wide ? 12 : 10;
  const size_t length = wide ? byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24 : byte(8) | byte(9) << 8;
  if (length > bytes.size() - start) return error("its header is cut off");
  const std::string_view header = bytes.substr(start, length);
  const std::string_view data = bytes.substr(start + length);

  NpyArray array;
  const std::string_view descr = Behind(header, "descr");
  array.is_f64 = descr.starts_with("'<f8'");
  if (!array.is_f64 && !descr.starts_with("'<f4'")) return error("its dtype must be '<f4' or '<f8'");
  if (!Behind(header, "fortran_order").starts_with("False")) return error("it must be in C order");
  if (!ParseShape(Behind(header, "shape"), &array.shape)) return error("its shape is unreadable");

  const size_t width = array.is_f64 ? 8 : 4;
  uint64_t count = 1, total = 0;
  for (int64_t dim : array.shape) {
    if (!CheckedMul(count, static_cast<uint64_t>(dim), &count)) return error("its shape overflows");
  }
  if (!CheckedMul(count, width, &total) || total != data.size()) {
    return error("its shape does not fit its " + std::to_string(data.size()) + " bytes of data");
  }
  array.values.resize(count);
  if (array.is_f64) {
    if (count > 0) std::memcpy(array.values.data(), data.data(), total);
  } else {
    for (uint64_t i = 0; i < count; ++i) {
      float value;
      std::memcpy(&value, data.data() + 4 * i, 4);
      array.values[i] = value;
    }
  }
  return array;
}

Status WriteNpy(const std::filesystem::path& path, std::span<const int64_t> shape, std::span<const float> values) {
  return Write(path, "<f4", shape, values);
}

Status WriteNpy(const std::filesystem::path& path, std::span<const int64_t> shape, std::span<const double> values) {
  return Write(path, "<f8", shape, values);
}

}  // namespace motley::test
