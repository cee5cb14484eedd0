// GgufWriter: GGUF files for tests, sound or broken on purpose. It shares no code with the reader.
//
//   GgufWriter w;
//   w.SetString("general.architecture", "llama").SetU32("llama.block_count", 2);
//   w.AddTensor("token_embd.weight", Format::kF32, {64, 256}, bytes);   // ne0 first, as the file stores it
//   w.Write(dir.path() / "tiny.gguf");
//
// Set replaces the value of a key that is there; Add always appends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/format.h"

namespace motley::test {

class GgufWriter {
 public:
  GgufWriter& SetU8(std::string_view key, uint8_t value);
  GgufWriter& SetU16(std::string_view key, uint16_t value);
  GgufWriter& SetU32(std::string_view key, uint32_t value);
  GgufWriter& SetI32(std::string_view key, int32_t value);
  GgufWriter& SetU64(std::string_view key, uint64_t value);
  GgufWriter& SetI64(std::string_view key, int64_t value);
  GgufWriter& SetF32(std::string_view key, float value);
  GgufWriter& SetF64(std::string_view key, double value);
  GgufWriter& SetBool(std::string_view key, bool value);
  GgufWriter& SetString(std::string_view key, std::string_view value);
  GgufWriter& SetStrings(std::string_view key, const std::vector<std::string>& values);
  GgufWriter& SetU8s(std::string_view key, const std::vector<uint8_t>& values);
  GgufWriter& SetI32s(std::string_view key, const std::vector<int32_t>& values);
  GgufWriter& SetU32s(std::string_view key, const std::vector<uint32_t>& values);
  GgufWriter& SetF32s(std::string_view key, const std::vector<float>& values);
  // A pair with any type id and payload, of a key that may be there already.
  GgufWriter& AddRaw(std::string_view key, uint32_t type, std::string_view payload);
  GgufWriter& Remove(std::string_view key);

  // dims_ne: ne0 (the fastest) first. `bytes` are written as they are, right or wrong.
  GgufWriter& AddTensor(std::string_view name, Format format, std::vector<uint64_t> dims_ne, std::string_view bytes);
  // Any type id; `offset` in place of the next free one.
  GgufWriter& AddTensorRaw(std::string_view name, uint32_t type, std::vector<uint64_t> dims_ne, std::string_view bytes,
                           std::optional<uint64_t> offset = std::nullopt);

  // Lays the tensors out so, and sets general.alignment where it isn't the default of 32.
  GgufWriter& SetAlignment(uint32_t alignment);
  // Only the number in the header.
  GgufWriter& SetVersion(uint32_t version);

  // The file's bytes. Every tensor, the last included, is followed by zeros up to the alignment.
  std::string Build() const;
  void Write(const std::filesystem::path& path) const;

  // A split set, as converters write it: metadata in the first shard, split.no, split.count and split.tensors.count
  // in each, tensors shared out in order, `per_shard` of them in each but the last. Returns the paths.
  std::vector<std::filesystem::path> WriteSplit(const std::filesystem::path& folder, std::string_view stem,
                                                uint32_t per_shard) const;

 private:
  struct Pair { std::string key; uint32_t type; std::string payload; };
  struct Tensor {
    std::string name;
    uint32_t type;
    std::vector<uint64_t> dims_ne;
    std::string bytes;
    std::optional<uint64_t> offset;
  };

  GgufWriter& Set(std::string_view key, uint32_t type, std::string payload);

  std::vector<Pair> pairs_;
  std::vector<Tensor> tensors_;
  uint32_t alignment_ = 32;
  uint32_t version_ = 3;
};

// u64 length + bytes, as GGUF stores a string.
std::string GgufString(std::string_view text);
// `value` in little-endian.
std::string LittleEndian(uint64_t value, size_t bytes);

}  // namespace motley::test
