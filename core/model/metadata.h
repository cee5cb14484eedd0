// Metadata: the typed key-value pairs of a model file, in file order.
//
// Keys and values are views into what the file has mapped: they live as long as the WeightsFile that owns this.
// Two forms of every look-up: Get (absent is NOT_FOUND) and Find (absent is nullopt). A value of the wrong type is
// INVALID_ARGUMENT in both, and names file, key and both types. Integers of another width or sign are accepted
// where the value fits. Immutable after the file is open: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace motley {

// The ids are those of GGUF.
enum class ValueType : uint32_t {
  kU8 = 0, kI8 = 1, kU16 = 2, kI16 = 3, kU32 = 4, kI32 = 5, kF32 = 6, kBool = 7, kString = 8, kArray = 9,
  kU64 = 10, kI64 = 11, kF64 = 12,
};
inline constexpr uint32_t kValueTypes = 13;

// "u32", "string", "array" …
std::string_view ValueTypeName(ValueType type);

struct MetaValue {
  ValueType type = ValueType::kU8;
  ValueType element = ValueType::kU8;  // of an array
  uint64_t count = 1;                  // elements of an array
  std::string_view bytes;              // little-endian as stored; of a string its text; of an array its elements
};

// The strings of an array, one after the other, without a list of them:
//   for (StringCursor at(value); at.Next();) Use(at.text());
// Ends early at a string that is cut off, which no opened file has.
class StringCursor {
 public:
  explicit StringCursor(const MetaValue& value) : rest_(value.bytes), left_(value.count) {}
  bool Next();
  std::string_view text() const { return text_; }

 private:
  std::string_view rest_;
  uint64_t left_;
  std::string_view text_;
};

struct MetaEntry {
  std::string_view key;
  MetaValue value;
};

class Metadata {
 public:
  Metadata() = default;
  // origin: the file's base name, for messages.
  Metadata(std::string origin, std::vector<MetaEntry> entries);

  const std::string& origin() const { return origin_; }
  std::span<const MetaEntry> entries() const { return entries_; }  // in file order
  // nullptr where the key is absent.
  const MetaValue* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  StatusOr<uint64_t> GetU64(std::string_view key) const;
  StatusOr<int64_t> GetI64(std::string_view key) const;
  StatusOr<double> GetF64(std::string_view key) const;  // f32 or f64
  StatusOr<bool> GetBool(std::string_view key) const;
  StatusOr<std::string_view> GetString(std::string_view key) const;
  // Arrays. Ints take every integer type, floats f32 and f64; the strings are views, not copies.
  StatusOr<std::vector<int64_t>> GetInts(std::string_view key) const;
  StatusOr<std::vector<float>> GetFloats(std::string_view key) const;
  StatusOr<std::vector<bool>> GetBools(std::string_view key) const;
  StatusOr<std::vector<std::string_view>> GetStrings(std::string_view key) const;

  StatusOr<std::optional<uint64_t>> FindU64(std::string_view key) const;
  StatusOr<std::optional<int64_t>> FindI64(std::string_view key) const;
  StatusOr<std::optional<double>> FindF64(std::string_view key) const;
  StatusOr<std::optional<bool>> FindBool(std::string_view key) const;
  StatusOr<std::optional<std::string_view>> FindString(std::string_view key) const;
  StatusOr<std::optional<std::vector<int64_t>>> FindInts(std::string_view key) const;
  StatusOr<std::optional<std::vector<float>>> FindFloats(std::string_view key) const;
  StatusOr<std::optional<std::vector<bool>>> FindBools(std::string_view key) const;
  StatusOr<std::optional<std::vector<std::string_view>>> FindStrings(std::string_view key) const;

  // INVALID_ARGUMENT "FILE: KEY …", for callers that judge a value: metadata.Error("llama.block_count", "= 0: …").
  Status Error(std::string_view key, std::string_view what) const;

 private:
  std::string origin_;
  std::vector<MetaEntry> entries_;
  std::vector<uint32_t> by_key_;  // entries_ in the order of their keys
};

// One line for people: "42", "\"llama\"", "[49152 strings] \"a\", \"b\", …". Texts are escaped and cut.
std::string DescribeValue(const MetaValue& value);

}  // namespace motley
