#include "core/model/metadata.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "core/model/printable.h"

namespace motley {
namespace {

constexpr std::string_view kTypeNames[kValueTypes] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                      "bool", "string", "array", "u64", "i64", "f64"};
constexpr std::string_view kIntWanted = "an integer";
constexpr std::string_view kFloatWanted = "f32 or f64";

// The file is little-endian, and so is every machine motley is built for. Nothing in it need be aligned.
static_assert(std::endian::native == std::endian::little);
template <typename T>
T Load(std::string_view bytes, uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// An integer of any stored type, exactly: below zero only where `negative`.
struct Integer {
  uint64_t bits = 0;  // two's complement
  bool negative = false;
};

Integer FromSigned(int64_t value) { return {static_cast<uint64_t>(value), value < 0}; }

std::optional<Integer> LoadInteger(ValueType type, std::string_view bytes, uint64_t index) {
  switch (type) {
    case ValueType::kU8: return Integer{Load<uint8_t>(bytes, index)};
    case ValueType::kU16: return Integer{Load<uint16_t>(bytes, index)};
    case ValueType::kU32: return Integer{Load<uint32_t>(bytes, index)};
    case ValueType::kU64: return Integer{Load<uint64_t>(bytes, index)};
    case ValueType::kI8: return FromSigned(Load<int8_t>(bytes, index));
    case ValueType::kI16: return FromSigned(Load<int16_t>(bytes, index));
    case ValueType::kI32: return FromSigned(Load<int32_t>(bytes, index));
    case ValueType::kI64: return FromSigned(Load<int64_t>(bytes, index));
    default: return std::nullopt;
  }
}

bool FitsI64(const Integer& value) { return value.negative || value.bits <= INT64_MAX; }

std::string Decimal(const Integer& value) {
  return value.negative ? std::to_string(static_cast<int64_t>(value.bits)) : std::to_string(value.bits);
}

std::optional<double> LoadFloat(ValueType type, std::string_view bytes, uint64_t index) {
  if (type == ValueType::kF32) return Load<float>(bytes, index);
  if (type == ValueType::kF64) return Load<double>(bytes, index);
  return std::nullopt;
}

std::string TypeOf(const MetaValue& value) {
  if (value.type != ValueType::kArray) return std::string(ValueTypeName(value.type));
  return "an array of " + std::string(ValueTypeName(value.element));
}

Status WrongType(const Metadata& metadata, std::string_view key, const MetaValue& value, std::string_view wanted) {
  return metadata.Error(key, "is " + TypeOf(value) + ": must be " + std::string(wanted));
}

// From the optional form of a look-up to the required one.
template <typename T>
StatusOr<T> Require(const Metadata& metadata, std::string_view key, StatusOr<std::optional<T>> found) {
  if (!found.ok()) return found.status();
  if (!found->has_value()) {
    return NotFoundError(metadata.origin() + ": " + Printable(key) + " is missing");
  }
  return *std::move(*found);
}

// The elements of an array through `load` (type, bytes, index → optional), or why not.
template <typename T, typename LoadElement>
StatusOr<std::optional<std::vector<T>>> FindArray(const Metadata& metadata, std::string_view key,
                                                  std::string_view wanted, LoadElement load) {
  const MetaValue* value = metadata.Find(key);
  if (value == nullptr) return std::optional<std::vector<T>>();
  if (value->type != ValueType::kArray) return WrongType(metadata, key, *value, wanted);
  std::vector<T> out;
  out.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto element = load(value->element, value->bytes, i);
    if (!element) return WrongType(metadata, key, *value, wanted);
    out.push_back(static_cast<T>(*element));
  }
  return std::optional(std::move(out));
}

}  // namespace

std::string_view ValueTypeName(ValueType type) {
  const uint32_t id = static_cast<uint32_t>(type);
  return id < kValueTypes ? kTypeNames[id] : "unknown";
}

bool StringCursor::Next() {
  if (left_ == 0 || rest_.size() < 8) return false;
  const uint64_t length = Load<uint64_t>(rest_, 0);
  rest_.remove_prefix(8);
  if (length > rest_.size()) return false;
  text_ = rest_.substr(0, length);
  rest_.remove_prefix(length);
  --left_;
  return true;
}

Metadata::Metadata(std::string origin, std::vector<MetaEntry> entries)
    : origin_(std::move(origin)), entries_(std::move(entries)), by_key_(entries_.size()) {
  std::iota(by_key_.begin(), by_key_.end(), 0u);
  std::sort(by_key_.begin(), by_key_.end(), [this](uint32_t a, uint32_t b) { return entries_[a].key < entries_[b].key; });
}

const MetaValue* Metadata::Find(std::string_view key) const {
  const auto at = std::lower_bound(by_key_.begin(), by_key_.end(), key,
                                   [this](uint32_t i, std::string_view k) { return entries_[i].key < k; });
  return at != by_key_.end() && entries_[*at].key == key ? &entries_[*at].value : nullptr;
}

Status Metadata::Error(std::string_view key, std::string_view what) const {
  return InvalidArgumentError(origin_ + ": " + Printable(key) + " " + std::string(what));
}

StatusOr<std::optional<uint64_t>> Metadata::FindU64(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::optional<uint64_t>();
  const std::optional<Integer> integer = LoadInteger(value->type, value->bytes, 0);
  if (!integer) return WrongType(*this, key, *value, kIntWanted);
  if (integer->negative) return Error(key, "= " + Decimal(*integer) + ": must be 0 or more");
  return std::optional(integer->bits);
}

StatusOr<std::optional<int64_t>> Metadata::FindI64(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::optional<int64_t>();
  const std::optional<Integer> integer = LoadInteger(value->type, value->bytes, 0);
  if (!integer) return WrongType(*this, key, *value, kIntWanted);
  if (!FitsI64(*integer)) return Error(key, "= " + Decimal(*integer) + ": does not fit in 64 bits with a sign");
  return std::optional(static_cast<int64_t>(integer->bits));
}

StatusOr<std::optional<double>> Metadata::FindF64(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::optional<double>();
  const std::optional<double> number = LoadFloat(value->type, value->bytes, 0);
  if (!number) return WrongType(*this, key, *value, kFloatWanted);
  return number;
}

StatusOr<std::optional<bool>> Metadata::FindBool(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->type != ValueType::kBool) return WrongType(*this, key, *value, "bool");
  return std::optional(value->bytes[0] != 0);
}

StatusOr<std::optional<std::string_view>> Metadata::FindString(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::optional<std::string_view>();
  if (value->type != ValueType::kString) return WrongType(*this, key, *value, "a string");
  return std::optional(value->bytes);
}

StatusOr<std::optional<std::vector<int64_t>>> Metadata::FindInts(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value != nullptr && value->type == ValueType::kArray && value->element == ValueType::kU64) {
    for (uint64_t i = 0; i < value->count; ++i) {
      const uint64_t element = Load<uint64_t>(value->bytes, i);
      if (element > INT64_MAX) {
        return Error(key, "[" + std::to_string(i) + "] = " + std::to_string(element) +
                              ": does not fit in 64 bits with a sign");
      }
    }
  }
  return FindArray<int64_t>(*this, key, "an array of integers", [](ValueType type, std::string_view bytes, uint64_t i) {
    const std::optional<Integer> integer = LoadInteger(type, bytes, i);
    return integer ? std::optional(static_cast<int64_t>(integer->bits)) : std::nullopt;
  });
}

StatusOr<std::optional<std::vector<float>>> Metadata::FindFloats(std::string_view key) const {
  return FindArray<float>(*this, key, "an array of f32 or f64", LoadFloat);
}

StatusOr<std::optional<std::vector<bool>>> Metadata::FindBools(std::string_view key) const {
  return FindArray<bool>(*this, key, "an array of bool", [](ValueType type, std::string_view bytes, uint64_t i) {
    return type == ValueType::kBool ? std::optional(bytes[i] != 0) : std::nullopt;
  });
}

StatusOr<std::optional<std::vector<std::string_view>>> Metadata::FindStrings(std::string_view key) const {
  const MetaValue* value = Find(key);
  if (value == nullptr) return std::optional<std::vector<std::string_view>>();
  if (value->type != ValueType::kArray || value->element != ValueType::kString) {
    return WrongType(*this, key, *value, "an array of strings");
  }
  std::vector<std::string_view> out;
  out.reserve(value->count);
  for (StringCursor at(*value); at.Next();) out.push_back(at.text());
  return std::optional(std::move(out));
}

StatusOr<uint64_t> Metadata::GetU64(std::string_view key) const { return Require(*this, key, FindU64(key)); }
StatusOr<int64_t> Metadata::GetI64(std::string_view key) const { return Require(*this, key, FindI64(key)); }
StatusOr<double> Metadata::GetF64(std::string_view key) const { return Require(*this, key, FindF64(key)); }
StatusOr<bool> Metadata::GetBool(std::string_view key) const { return Require(*this, key, FindBool(key)); }
StatusOr<std::string_view> Metadata::GetString(std::string_view key) const {
  return Require(*this, key, FindString(key));
}
StatusOr<std::vector<int64_t>> Metadata::GetInts(std::string_view key) const {
  return Require(*this, key, FindInts(key));
}
StatusOr<std::vector<float>> Metadata::GetFloats(std::string_view key) const {
  return Require(*this, key, FindFloats(key));
}
StatusOr<std::vector<bool>> Metadata::GetBools(std::string_view key) const {
  return Require(*this, key, FindBools(key));
}
StatusOr<std::vector<std::string_view>> Metadata::GetStrings(std::string_view key) const {
  return Require(*this, key, FindStrings(key));
}

namespace {

std::string DescribeElement(ValueType type, std::string_view bytes, uint64_t index) {
  if (const auto integer = LoadInteger(type, bytes, index)) return Decimal(*integer);
  if (const auto number = LoadFloat(type, bytes, index)) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", *number);
    return text;
  }
  if (type == ValueType::kBool) return bytes[index] != 0 ? "true" : "false";
  return "…";
}

std::string Quoted(std::string_view text) { return '"' + Printable(text, 64) + '"'; }

std::string DescribeArray(const MetaValue& value) {
  constexpr uint64_t kShown = 6;
  std::string out = "[" + std::to_string(value.count) + " " + std::string(ValueTypeName(value.element)) + "]";
  uint64_t shown = 0;
  const auto append = [&](const std::string& element) {
    out += (shown == 0 ? " " : ", ") + element;
    return ++shown < kShown;
  };
  if (value.element == ValueType::kString) {
    for (StringCursor at(value); at.Next() && append(Quoted(at.text()));) {
    }
  } else if (value.element != ValueType::kArray) {
    while (shown < value.count && append(DescribeElement(value.element, value.bytes, shown))) {
    }
  }
  return shown < value.count ? out + ", …" : out;
}

}  // namespace

std::string DescribeValue(const MetaValue& value) {
  if (value.type == ValueType::kString) return Quoted(value.bytes);
  if (value.type == ValueType::kArray) return DescribeArray(value);
  return DescribeElement(value.type, value.bytes, 0);
}

}  // namespace motley
