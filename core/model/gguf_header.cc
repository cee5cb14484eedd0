#include "core/model/gguf_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "core/base/checked.h"
#include "core/model/printable.h"

namespace motley {
namespace {

constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = 1 << 20;
constexpr uint64_t kMaxKeyBytes = 65535;
constexpr uint64_t kMaxNameBytes = 1024;
constexpr uint32_t kMaxDims = 4;
constexpr int kMaxArrayDepth = 4;
// The least bytes of a pair (length, one of key, type, one of value) and of a tensor (length, one of name, n_dims,
// one dim, type, offset): what bounds their counts by the size of the file before anything is allocated.
constexpr uint64_t kMinPairBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;
constexpr uint64_t kFirstForeignFormat = 256;  // ids from here on are motley's own, never GGUF's

std::string Str(uint64_t value) { return std::to_string(value); }

// 0 where a value of this type has no fixed size.
uint64_t FixedBytes(ValueType type) {
  switch (type) {
    case ValueType::kU8: case ValueType::kI8: case ValueType::kBool: return 1;
    case ValueType::kU16: case ValueType::kI16: return 2;
    case ValueType::kU32: case ValueType::kI32: case ValueType::kF32: return 4;
    case ValueType::kU64: case ValueType::kI64: case ValueType::kF64: return 8;
    case ValueType::kString: case ValueType::kArray: return 0;
  }
  return 0;
}

// Why a tensor type that GGUF has or had is none of ours; "" for a number that never meant anything.
std::string_view WhyNoFormat(uint32_t type) {
  switch (type) {
    case 4: return " (Q4_2), which GGUF removed: convert the model again";
    case 5: return " (Q4_3), which GGUF removed: convert the model again";
    case 9: return " (Q8_1), which is for activations, not for files";
    case 15: return " (Q8_K), which is for activations, not for files";
    case 31: return " (Q4_0_4_4), which GGUF removed: use a Q4_0 file";
    case 32: return " (Q4_0_4_8), which GGUF removed: use a Q4_0 file";
    case 33: return " (Q4_0_8_8), which GGUF removed: use a Q4_0 file";
    case 34: return " (TQ1_0), which motley does not support: use another quantisation";
    case 35: return " (TQ2_0), which motley does not support: use another quantisation";
    case 41: return " (Q1_0), which motley does not support: use another quantisation";
    case 36: return " (IQ4_NL_4_4), which GGUF removed: use an IQ4_NL file";
    case 37: return " (IQ4_NL_4_8), which GGUF removed: use an IQ4_NL file";
    case 38: return " (IQ4_NL_8_8), which GGUF removed: use an IQ4_NL file";
    default: return ", which is unknown: the file is broken, or newer than this motley";
  }
}

// What a file that is no GGUF looks like.
std::string_view GuessKind(std::string_view bytes) {
  const auto starts = [&](std::string_view magic) { return bytes.substr(0, magic.size()) == magic; };
  if (starts("FUGG")) return "a big-endian GGUF: motley reads little-endian files";
  if (starts("lmgg") || starts("tjgg") || starts("fmgg") || starts("algg")) return "a GGML file from before GGUF";
  if (starts("version https://git-lfs")) return "a Git LFS pointer, not the model itself: fetch it with git lfs pull";
  if (starts("PK\x03\x04")) return "a zip archive (a PyTorch checkpoint?)";
  if (starts("<!DOCTYPE") || starts("<!doctype") || starts("<html")) return "a web page, not a model";
  if (bytes.size() > 9 && bytes[8] == '{') return "a safetensors file, it seems";
  return "no GGUF file";
}

// What a read is for: "dims of tensor x", "key 7". Made into text only where the read fails.
struct What {
  const char* part;
  std::string_view of = {};
  uint64_t index = UINT64_MAX;

  std::string Text() const {
    std::string text = part;
    if (!of.empty()) text += (text.empty() ? "" : " ") + Printable(of);
    if (index != UINT64_MAX) text += (of.empty() ? " " : "[") + Str(index) + (of.empty() ? "" : "]");
    return text;
  }
};

// Reads the header from front to back. Every read says what it is for, so that an error can.
class Parser {
 public:
  Parser(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  StatusOr<GgufHeader> Parse() {
    MOTLEY_RETURN_IF_ERROR(ParseCounts());
    MOTLEY_RETURN_IF_ERROR(ParsePairs());
    MOTLEY_RETURN_IF_ERROR(FindAlignment());
    MOTLEY_RETURN_IF_ERROR(ParseTensors());
    MOTLEY_RETURN_IF_ERROR(CheckKeysUnique());
    MOTLEY_RETURN_IF_ERROR(CheckNamesUnique());
    MOTLEY_RETURN_IF_ERROR(PlaceTensors());
    MOTLEY_RETURN_IF_ERROR(CheckRangesApart());
    MOTLEY_RETURN_IF_ERROR(CheckEnd());
    return std::move(header_);
  }

 private:
  Status ParseCounts();
  Status ParsePairs();
  Status ParseValue(std::string_view key, MetaValue* value);
  Status ParseArray(std::string_view key, int depth, MetaValue* value);
  Status FindAlignment();
  Status ParseTensors();
  Status ParseTensor(uint64_t index, StoredTensor* tensor);
  Status ParseDims(StoredTensor* tensor);
  Status CheckKeysUnique();
  Status CheckNamesUnique();
  Status PlaceTensors();
  Status CheckRangesApart();
  Status CheckEnd();

  Status Error(std::string what) const { return InvalidArgumentError(std::string(name_) + ": " + std::move(what)); }
  Status KeyError(std::string_view key, std::string what) const { return Error(Printable(key) + " " + std::move(what)); }
  Status TensorError(const StoredTensor& tensor, std::string what) const {
    return Error("tensor " + Printable(tensor.name) + " " + std::move(what));
  }
  Status CutOff(const What& what, uint64_t wanted) const {
    return Error(what.Text() + " needs " + Str(wanted) + " bytes at byte " + Str(at_) + ", but the file ends " + Str(Left()) +
                 " further on: it is cut off or broken");
  }

  uint64_t Left() const { return bytes_.size() - at_; }
  template <typename T>
  Status Read(const What& what, T* out) {
    if (Left() < sizeof(T)) return CutOff(what, sizeof(T));
    std::memcpy(out, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return OkStatus();
  }
  Status ReadString(const What& what, uint64_t max_bytes, std::string_view* out);

  std::string_view bytes_;
  std::string_view name_;
  uint64_t at_ = 0;
  uint64_t n_tensors_ = 0;
  uint64_t n_pairs_ = 0;
  uint64_t alignment_ = kDefaultAlignment;
  uint64_t data_at_ = 0;   // where the tensors' bytes begin
  uint64_t data_end_ = 0;  // where the last tensor's bytes end; the end of the header where there is no tensor
  std::vector<uint64_t> pair_at_;  // for messages: where each pair begins
  GgufHeader header_;
};

Status Parser::ReadString(const What& what, uint64_t max_bytes, std::string_view* out) {
  uint64_t length = 0;
  MOTLEY_RETURN_IF_ERROR(Read(what, &length));
  if (length > Left()) return CutOff(what, length);
  if (length > max_bytes) {
    return Error(what.Text() + " is " + Str(length) + " bytes long: at most " + Str(max_bytes) + " make sense");
  }
  *out = bytes_.substr(at_, length);
  at_ += length;
  return OkStatus();
}

Status Parser::ParseCounts() {
  if (bytes_.substr(0, 4) != "GGUF") {
    return Error("is " + std::string(GuessKind(bytes_)) + " (it begins with \"" + Printable(bytes_.substr(0, 4)) +
                 "\", a GGUF file with \"GGUF\")");
  }
  at_ = 4;
  uint32_t version = 0;
  MOTLEY_RETURN_IF_ERROR(Read(What{"version"}, &version));
  if (version != 0 && (version & 0xffff) == 0) {
    return Error("is a big-endian GGUF (its version reads " + Str(version) +
                 "): motley reads little-endian files, convert it");
  }
  if (version != 3) return Error("is GGUF version " + Str(version) + ": motley reads version 3, convert the model again");
  MOTLEY_RETURN_IF_ERROR(Read(What{"tensor count"}, &n_tensors_));
  MOTLEY_RETURN_IF_ERROR(Read(What{"key count"}, &n_pairs_));
  const auto check = [&](const char* what, uint64_t count, uint64_t min_bytes, uint64_t max) {
    if (count > Left() / min_bytes) {
      return Error(std::string(what) + " = " + Str(count) + ": more than fit in the " + Str(Left()) +
                   " bytes that follow; the file is cut off or broken");
    }
    if (count > max) return Error(std::string(what) + " = " + Str(count) + ": at most " + Str(max) + " make sense");
    return OkStatus();
  };
  MOTLEY_RETURN_IF_ERROR(check("key count", n_pairs_, kMinPairBytes, kGgufMaxPairs));
  return check("tensor count", n_tensors_, kMinTensorBytes, kGgufMaxTensors);
}

Status Parser::ParsePairs() {
  header_.entries.reserve(n_pairs_);
  pair_at_.reserve(n_pairs_);
  for (uint64_t i = 0; i < n_pairs_; ++i) {
    pair_at_.push_back(at_);
    const What what{"key", {}, i};
    MetaEntry entry;
    MOTLEY_RETURN_IF_ERROR(ReadString(what, kMaxKeyBytes, &entry.key));
    if (entry.key.empty()) return Error(what.Text() + " has an empty name");
    if (!IsUtf8(entry.key) || entry.key.find('\0') != std::string_view::npos) {
      return Error(what.Text() + ", \"" + Printable(entry.key) + "\", is no valid UTF-8 name");
    }
    MOTLEY_RETURN_IF_ERROR(ParseValue(entry.key, &entry.value));
    header_.entries.push_back(entry);
  }
  return OkStatus();
}

Status Parser::ParseValue(std::string_view key, MetaValue* value) {
  uint32_t type = 0;
  MOTLEY_RETURN_IF_ERROR(Read(What{"type of", key}, &type));
  if (type >= kValueTypes) return KeyError(key, "is of type " + Str(type) + ", which GGUF does not have");
  value->type = static_cast<ValueType>(type);
  if (value->type == ValueType::kArray) return ParseArray(key, 1, value);
  if (value->type == ValueType::kString) return ReadString(What{"", key}, UINT64_MAX, &value->bytes);
  const uint64_t size = FixedBytes(value->type);
  if (size > Left()) return CutOff(What{"", key}, size);
  value->bytes = bytes_.substr(at_, size);
  at_ += size;
  if (value->type == ValueType::kBool && static_cast<unsigned char>(value->bytes[0]) > 1) {
    return KeyError(key, "is a bool of value " + Str(static_cast<unsigned char>(value->bytes[0])) + ": must be 0 or 1");
  }
  return OkStatus();
}

Status Parser::ParseArray(std::string_view key, int depth, MetaValue* value) {
  if (depth > kMaxArrayDepth) {
    return KeyError(key, "has arrays nested more than " + std::to_string(kMaxArrayDepth) + " deep");
  }
  uint32_t element = 0;
  MOTLEY_RETURN_IF_ERROR(Read(What{"element type of", key}, &element));
  if (element >= kValueTypes) return KeyError(key, "is an array of type " + Str(element) + ", which GGUF does not have");
  MOTLEY_RETURN_IF_ERROR(Read(What{"element count of", key}, &value->count));
  value->element = static_cast<ValueType>(element);
  const uint64_t fixed = FixedBytes(value->element);
  // A string takes 8 bytes at least, an inner array 12: counts that can't be true are met before the loop.
  const uint64_t least = fixed != 0 ? fixed : value->element == ValueType::kString ? 8 : 12;
  if (value->count > Left() / least) {
    return KeyError(key, "is an array of " + Str(value->count) + " elements of type " +
                             std::string(ValueTypeName(value->element)) + ": more than fit in the " + Str(Left()) +
                             " bytes that follow; the file is cut off or broken");
  }
  const uint64_t begin = at_;
  if (fixed != 0) {
    at_ += value->count * fixed;
  } else if (value->element == ValueType::kString) {
    for (uint64_t i = 0; i < value->count; ++i) {
      uint64_t length = 0;
      MOTLEY_RETURN_IF_ERROR(Read(What{"", key, i}, &length));
      if (length > Left()) return CutOff(What{"", key, i}, length);
      at_ += length;
    }
  } else {
    MetaValue inner;
    for (uint64_t i = 0; i < value->count; ++i) MOTLEY_RETURN_IF_ERROR(ParseArray(key, depth + 1, &inner));
  }
  value->bytes = bytes_.substr(begin, at_ - begin);
  if (value->element == ValueType::kBool) {
    for (const char c : value->bytes) {
      if (static_cast<unsigned char>(c) > 1) return KeyError(key, "holds a bool that is neither 0 nor 1");
    }
  }
  return OkStatus();
}

Status Parser::FindAlignment() {
  for (const MetaEntry& entry : header_.entries) {
    if (entry.key != "general.alignment") continue;
    if (entry.value.type != ValueType::kU32) {
      return KeyError(entry.key, "is " + std::string(ValueTypeName(entry.value.type)) + ": must be u32");
    }
    uint32_t alignment = 0;
    std::memcpy(&alignment, entry.value.bytes.data(), sizeof alignment);
    if (!std::has_single_bit(alignment) || alignment > kMaxAlignment) {
      return KeyError(entry.key, "= " + Str(alignment) + ": must be a power of two, at most " + Str(kMaxAlignment));
    }
    alignment_ = alignment;
  }
  return OkStatus();
}

Status Parser::ParseTensors() {
  header_.tensors.reserve(n_tensors_);
  for (uint64_t i = 0; i < n_tensors_; ++i) {
    StoredTensor tensor;
    MOTLEY_RETURN_IF_ERROR(ParseTensor(i, &tensor));
    header_.tensors.push_back(std::move(tensor));
  }
  return OkStatus();
}

Status Parser::ParseTensor(uint64_t index, StoredTensor* tensor) {
  const What what{"name of tensor", {}, index};
  MOTLEY_RETURN_IF_ERROR(ReadString(what, kMaxNameBytes, &tensor->name));
  if (tensor->name.empty()) return Error(what.Text() + " is empty");
  if (!IsUtf8(tensor->name) || tensor->name.find('\0') != std::string_view::npos) {
    return Error(what.Text() + ", \"" + Printable(tensor->name) + "\", is no valid UTF-8");
  }
  MOTLEY_RETURN_IF_ERROR(ParseDims(tensor));
  uint32_t type = 0;
  MOTLEY_RETURN_IF_ERROR(Read(What{"type of tensor", tensor->name}, &type));
  const FormatInfo* info = type < kFirstForeignFormat ? FindFormat(static_cast<Format>(type)) : nullptr;
  if (info == nullptr) return TensorError(*tensor, "is of type " + Str(type) + std::string(WhyNoFormat(type)));
  tensor->format = info->format;
  const int64_t ne0 = tensor->dims.back();
  if (ne0 % info->block_elems != 0) {
    return TensorError(*tensor, "has rows of " + std::to_string(ne0) + " elements: " + std::string(info->name) +
                                    " needs a multiple of its block of " + Str(info->block_elems));
  }
  const StatusOr<uint64_t> bytes = FormatBytes(tensor->format, static_cast<int64_t>(tensor->elems));
  if (!bytes.ok()) return TensorError(*tensor, "is too large: " + bytes.status().message());
  tensor->bytes = *bytes;
  // From the start of the data for now: where that is shows at the end of the table.
  return Read(What{"offset of tensor", tensor->name}, &tensor->offset);
}

Status Parser::ParseDims(StoredTensor* tensor) {
  uint32_t n_dims = 0;
  MOTLEY_RETURN_IF_ERROR(Read(What{"n_dims of tensor", tensor->name}, &n_dims));
  if (n_dims < 1 || n_dims > kMaxDims) {
    return TensorError(*tensor, "has " + Str(n_dims) + " dims: must be 1 to " + Str(kMaxDims));
  }
  tensor->dims.resize(n_dims);
  tensor->elems = 1;
  for (uint32_t i = 0; i < n_dims; ++i) {
    uint64_t dim = 0;
    MOTLEY_RETURN_IF_ERROR(Read(What{"dims of tensor", tensor->name}, &dim));
    if (dim == 0) return TensorError(*tensor, "has dim " + Str(i) + " = 0: must be at least 1");
    if (!CheckedMul(tensor->elems, dim, &tensor->elems) || tensor->elems > INT64_MAX) {
      return TensorError(*tensor, "has dim " + Str(i) + " = " + Str(dim) + ": more elements than fit in 63 bits");
    }
    tensor->dims[n_dims - 1 - i] = static_cast<int64_t>(dim);
  }
  return OkStatus();
}

// The first two of `order` (sorted by `text`) that are the same, or false.
template <typename Text>
bool FindTwin(size_t count, Text text, uint32_t* first, uint32_t* second) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const int compared = text(a).compare(text(b));
    return compared != 0 ? compared < 0 : a < b;
  });
  for (size_t i = 1; i < count; ++i) {
    if (text(order[i - 1]) != text(order[i])) continue;
    *first = order[i - 1];
    *second = order[i];
    return true;
  }
  return false;
}

Status Parser::CheckKeysUnique() {
  uint32_t a = 0, b = 0;
  if (!FindTwin(header_.entries.size(), [&](uint32_t i) { return header_.entries[i].key; }, &a, &b)) return OkStatus();
  return KeyError(header_.entries[a].key, "stands twice: as key " + Str(a) + " at byte " + Str(pair_at_[a]) +
                                              " and as key " + Str(b) + " at byte " + Str(pair_at_[b]));
}

Status Parser::CheckNamesUnique() {
  uint32_t a = 0, b = 0;
  if (!FindTwin(header_.tensors.size(), [&](uint32_t i) { return header_.tensors[i].name; }, &a, &b)) return OkStatus();
  return TensorError(header_.tensors[a], "stands twice: as tensor " + Str(a) + " and as tensor " + Str(b));
}

Status Parser::PlaceTensors() {
  if (!CheckedAlignUp(at_, alignment_, &data_at_)) return Error("the data would begin beyond 64 bits");
  data_end_ = at_;
  for (StoredTensor& tensor : header_.tensors) {
    if (tensor.offset % alignment_ != 0) {
      return TensorError(tensor, "has offset " + Str(tensor.offset) + ": must be a multiple of the alignment, " +
                                     Str(alignment_));
    }
    uint64_t begin = 0, end = 0;
    if (!CheckedAdd(data_at_, tensor.offset, &begin) || !CheckedAdd(begin, tensor.bytes, &end) || end > bytes_.size()) {
      return TensorError(tensor, "has " + Str(tensor.bytes) + " bytes at offset " + Str(tensor.offset) +
                                     " of the data, which begins at byte " + Str(data_at_) + ": beyond the end of the file (" +
                                     Str(bytes_.size()) + " bytes); it is cut off or broken");
    }
    tensor.offset = begin;
    tensor.data = reinterpret_cast<const std::byte*>(bytes_.data()) + begin;
    data_end_ = std::max(data_end_, end);
  }
  return OkStatus();
}

Status Parser::CheckRangesApart() {
  const std::vector<StoredTensor>& tensors = header_.tensors;
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return tensors[a].offset != tensors[b].offset ? tensors[a].offset < tensors[b].offset : a < b;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const StoredTensor& a = tensors[order[i - 1]];
    const StoredTensor& b = tensors[order[i]];
    if (a.offset + a.bytes <= b.offset) continue;
    return TensorError(a, "(bytes " + Str(a.offset) + " to " + Str(a.offset + a.bytes) + ") and tensor " +
                              Printable(b.name) + " (bytes " + Str(b.offset) + " to " + Str(b.offset + b.bytes) +
                              ") overlap");
  }
  return OkStatus();
}

// Writers end a file right behind the last tensor, or pad it to the alignment. Anything between is a cut.
Status Parser::CheckEnd() {
  uint64_t padded = 0;
  if (!CheckedAlignUp(data_end_, alignment_, &padded)) return Error("the data would end beyond 64 bits");
  const uint64_t size = bytes_.size();
  if (size > data_end_ && size < padded) {
    return Error("ends at byte " + Str(size) + ", in the middle of the padding to byte " + Str(padded) +
                 ": it is cut off");
  }
  if (size > padded) {
    header_.warnings.push_back(std::string(name_) + ": " + Str(size - padded) +
                               " bytes behind the last tensor are ignored");
  }
  return OkStatus();
}

}  // namespace

StatusOr<GgufHeader> ParseGgufHeader(std::string_view bytes, std::string_view name) {
  return Parser(bytes, name).Parse();
}

}  // namespace motley
