#include "tests/support/gguf_writer.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace motley::test {
namespace {

enum : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };

std::string ArrayHead(uint32_t element, size_t count) { return LittleEndian(element, 4) + LittleEndian(count, 8); }

uint64_t AlignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

}  // namespace

std::string LittleEndian(uint64_t value, size_t bytes) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return out;
}

std::string GgufString(std::string_view text) { return LittleEndian(text.size(), 8) + std::string(text); }

GgufWriter& GgufWriter::SetU8(std::string_view key, uint8_t value) { return Set(key, kU8, LittleEndian(value, 1)); }
GgufWriter& GgufWriter::SetU16(std::string_view key, uint16_t value) { return Set(key, kU16, LittleEndian(value, 2)); }
GgufWriter& GgufWriter::SetU32(std::string_view key, uint32_t value) { return Set(key, kU32, LittleEndian(value, 4)); }
GgufWriter& GgufWriter::SetI32(std::string_view key, int32_t value) {
  return Set(key, kI32, LittleEndian(static_cast<uint32_t>(value), 4));
}
GgufWriter& GgufWriter::SetU64(std::string_view key, uint64_t value) { return Set(key, kU64, LittleEndian(value, 8)); }
GgufWriter& GgufWriter::SetI64(std::string_view key, int64_t value) {
  return Set(key, kI64, LittleEndian(static_cast<uint64_t>(value), 8));
}
GgufWriter& GgufWriter::SetF32(std::string_view key, float value) {
  return Set(key, kF32, LittleEndian(std::bit_cast<uint32_t>(value), 4));
}
GgufWriter& GgufWriter::SetF64(std::string_view key, double value) {
  return Set(key, kF64, LittleEndian(std::bit_cast<uint64_t>(value), 8));
}
GgufWriter& GgufWriter::SetBool(std::string_view key, bool value) { return Set(key, kBool, LittleEndian(value, 1)); }
GgufWriter& GgufWriter::SetString(std::string_view key, std::string_view value) {
  return Set(key, kString, GgufString(value));
}

GgufWriter& GgufWriter::SetStrings(std::string_view key, const std::vector<std::string>& values) {
  std::string payload = ArrayHead(kString, values.size());
  for (const std::string& value : values) payload += GgufString(value);
  return Set(key, kArray, std::move(payload));
}

GgufWriter& GgufWriter::SetU8s(std::string_view key, const std::vector<uint8_t>& values) {
  std::string payload = ArrayHead(kU8, values.size());
  for (uint8_t value : values) payload += LittleEndian(value, 1);
  return Set(key, kArray, std::move(payload));
}

GgufWriter& GgufWriter::SetI32s(std::string_view key, const std::vector<int32_t>& values) {
  std::string payload = ArrayHead(kI32, values.size());
  for (int32_t value : values) payload += LittleEndian(static_cast<uint32_t>(value), 4);
  return Set(key, kArray, std::move(payload));
}

GgufWriter& GgufWriter::SetU32s(std::string_view key, const std::vector<uint32_t>& values) {
  std::string payload = ArrayHead(kU32, values.size());
  for (uint32_t value : values) payload += LittleEndian(value, 4);
  return Set(key, kArray, std::move(payload));
}

GgufWriter& GgufWriter::SetF32s(std::string_view key, const std::vector<float>& values) {
  std::string payload = ArrayHead(kF32, values.size());
  for (float value : values) payload += LittleEndian(std::bit_cast<uint32_t>(value), 4);
  return Set(key, kArray, std::move(payload));
}

GgufWriter& GgufWriter::Set(std::string_view key, uint32_t type, std::string payload) {
  const auto pair = std::find_if(pairs_.begin(), pairs_.end(), [&](const Pair& p) { return p.key == key; });
  if (pair == pairs_.end()) {
    pairs_.push_back({std::string(key), type, std::move(payload)});
  } else {
    *pair = {std::string(key), type, std::move(payload)};
  }
  return *this;
}

GgufWriter& GgufWriter::AddRaw(std::string_view key, uint32_t type, std::string_view payload) {
  pairs_.push_back({std::string(key), type, std::string(payload)});
  return *this;
}

GgufWriter& GgufWriter::Remove(std::string_view key) {
  std::erase_if(pairs_, [&](const Pair& pair) { return pair.key == key; });
  return *this;
}

GgufWriter& GgufWriter::AddTensor(std::string_view name, Format format, std::vector<uint64_t> dims_ne,
                                  std::string_view bytes) {
  return AddTensorRaw(name, static_cast<uint32_t>(format), std::move(dims_ne), bytes);
}

GgufWriter& GgufWriter::AddTensorRaw(std::string_view name, uint32_t type, std::vector<uint64_t> dims_ne,
                                     std::string_view bytes, std::optional<uint64_t> offset) {
  tensors_.push_back({std::string(name), type, std::move(dims_ne), std::string(bytes), offset});
  return *this;
}

GgufWriter& GgufWriter::SetAlignment(uint32_t alignment) {
  if (alignment == 0) throw std::invalid_argument("lay out with an alignment of 1 at least; SetU32 writes any value");
  alignment_ = alignment;
  return alignment == 32 ? Remove("general.alignment") : SetU32("general.alignment", alignment);
}

GgufWriter& GgufWriter::SetVersion(uint32_t version) {
  version_ = version;
  return *this;
}

std::string GgufWriter::Build() const {
  std::string out = "GGUF" + LittleEndian(version_, 4) + LittleEndian(tensors_.size(), 8) +
                    LittleEndian(pairs_.size(), 8);
  for (const Pair& pair : pairs_) out += GgufString(pair.key) + LittleEndian(pair.type, 4) + pair.payload;
  std::string data;
  for (const Tensor& tensor : tensors_) {
    out += GgufString(tensor.name) + LittleEndian(tensor.dims_ne.size(), 4);
    for (uint64_t dim : tensor.dims_ne) out += LittleEndian(dim, 8);
    out += LittleEndian(tensor.type, 4) + LittleEndian(tensor.offset.value_or(data.size()), 8);
    data += tensor.bytes;
    data.resize(AlignUp(data.size(), alignment_), '\0');
  }
  out.resize(AlignUp(out.size(), alignment_), '\0');
  return out + data;
}

void GgufWriter::Write(const std::filesystem::path& path) const {
  const std::string bytes = Build();
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out) throw std::runtime_error("cannot write " + path.string());
}

std::vector<std::filesystem::path> GgufWriter::WriteSplit(const std::filesystem::path& folder, std::string_view stem,
                                                          uint32_t per_shard) const {
  const size_t shards = std::max<size_t>(1, (tensors_.size() + per_shard - 1) / per_shard);
  std::vector<std::filesystem::path> paths;
  for (size_t shard = 0; shard < shards; ++shard) {
    GgufWriter part;
    part.SetAlignment(alignment_);
    if (shard == 0) part.pairs_ = pairs_;
    part.SetU16("split.no", static_cast<uint16_t>(shard));
    part.SetU16("split.count", static_cast<uint16_t>(shards));
    part.SetI32("split.tensors.count", static_cast<int32_t>(tensors_.size()));
    const size_t end = std::min(tensors_.size(), (shard + 1) * per_shard);
    for (size_t i = shard * per_shard; i < end; ++i) part.tensors_.push_back(tensors_[i]);
    char suffix[64];
    std::snprintf(suffix, sizeof suffix, "-%05zu-of-%05zu.gguf", shard + 1, shards);
    paths.push_back(folder / (std::string(stem) + suffix));
    part.Write(paths.back());
  }
  return paths;
}

}  // namespace motley::test
