// A motley_weight, checked and copied, and the bytes of its parts.
#pragma once

#include <motley/formats.hpp>
#include <motley/plugin.hpp>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace motley::plugin {

struct CheckedWeight {
  std::string name;
  uint32_t format = 0, rank = 0, slots = 0;
  int64_t dims[3] = {};  // logical, outermost first: [slot,] n_out, n_in
  std::vector<motley_part> parts;
  uint32_t shard_count = 0;

  // "blk.0.attn_q.weight (Q4_K [576, 576])": how messages name it.
  std::string Text() const {
    const FormatRow* row = FindFormatRow(format);
    std::string text = (name.empty() ? std::string("weight") : name) + " (" + (row ? row->name : "?") + " [";
    for (uint32_t i = 0; i < rank; ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
    return text + "])";
  }
};

// Calls `released` of every part, once; also where the weight is refused.
inline void ReleaseParts(const motley_weight* weight) {
  motley_weight copy{};
  if (!ReadStruct(weight, "", &copy).ok() || !CheckSpan<motley_part>(copy.parts, "").ok()) return;
  for (const motley_part part : SpanView<motley_part>(copy.parts)) {
    if (part.src.released) part.src.released(part.src.arg);
  }
}

inline Fault CheckWeight(const motley_weight* abi, CheckedWeight* out) {
  motley_weight w{};
  MOTLEY_TRY(ReadStruct(abi, "motley_weight", &w));
  *out = {};
  out->name = View(w.name);
  if (w.reserved != 0) return Fail(MOTLEY_INVALID_ARGUMENT, "%s: reserved is not 0", out->name.c_str());
  if (!FindFormatRow(w.format))
    return Fail(MOTLEY_UNIMPLEMENTED, "%s: format %u is unknown", out->name.c_str(), w.format);
  if (w.rank < 1 || w.rank > 3)
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s: rank %u: must be 1..3", out->name.c_str(), w.rank);
  out->format = w.format;
  out->rank = w.rank;
  out->slots = w.slots;
  out->shard_count = w.shard_count;
  for (uint32_t i = 0; i < w.rank; ++i) {
    if (w.dims[i] < 1) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%s: dim %u is %lld", out->name.c_str(), i,
                  static_cast<long long>(w.dims[i]));
    }
    out->dims[i] = w.dims[i];
  }
  uint64_t bytes = 0;
  if (Fault f = TensorBytes(w.format, w.dims, w.rank, &bytes); !f.ok()) {
    return Fail(f.code, "%s: %s", out->Text().c_str(), f.text.c_str());
  }
  MOTLEY_TRY(CheckSpan<motley_part>(w.parts, "weight.parts", 1u << 20));
  for (const motley_part part : SpanView<motley_part>(w.parts)) {
    if (part.role < MOTLEY_PART_DATA || part.role > MOTLEY_PART_G_IDX) {
      return Fail(MOTLEY_UNIMPLEMENTED, "%s: part role %u is unknown", out->Text().c_str(), part.role);
    }
    if (part.rank < 1 || part.rank > 4) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%s: part of rank %u", out->Text().c_str(), part.rank);
    }
    if (part.src.size < kFirstSize<motley_range> || part.src.reserved != 0 || part.src.reserved2 != 0) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%s: part.src has size %u or reserved fields that are not 0",
                  out->Text().c_str(), part.src.size);
    }
    uint64_t part_bytes = 0;
    if (Fault f = TensorBytes(part.dtype, part.dims, part.rank, &part_bytes); !f.ok()) {
      return Fail(f.code, "%s: part: %s", out->Text().c_str(), f.text.c_str());
    }
    if (part_bytes != part.src.bytes) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%s: a part's range has %llu bytes, its shape %llu",
                  out->Text().c_str(), static_cast<unsigned long long>(part.src.bytes),
                  static_cast<unsigned long long>(part_bytes));
    }
    out->parts.push_back(part);
  }
  return {};
}

// A weight of one unsharded part in the file's own order: what GGUF gives, and what the simple layouts take.
inline Fault CheckWholeWeight(const CheckedWeight& w);
// Likewise, and *scale may be a second part, SCALE2: one F32 by which all the weight's values are multiplied (NVFP4's
// factor a tensor); nullptr where there is none.
inline Fault CheckScaledWeight(const CheckedWeight& w, const motley_part** scale);
// The factor of a weight that CheckScaledWeight has passed; 1 where it has none.
inline Fault ReadScale(const CheckedWeight& w, float* factor);

namespace weight_check {

inline Fault CheckData(const CheckedWeight& w) {
  if (w.shard_count > 1) return Fail(MOTLEY_UNIMPLEMENTED, "%s: shards are not supported", w.Text().c_str());
  if (w.parts.empty() || w.parts[0].role != MOTLEY_PART_DATA || w.parts[0].dtype != w.format) {
    return Fail(MOTLEY_UNIMPLEMENTED, "%s: %zu parts: only one part of data in its own format",
                w.Text().c_str(), w.parts.size());
  }
  uint64_t bytes = 0;
  MOTLEY_TRY(TensorBytes(w.format, w.dims, w.rank, &bytes));
  if (bytes != w.parts[0].src.bytes) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "%s: needs %llu bytes, its part has %llu", w.Text().c_str(),
                static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(w.parts[0].src.bytes));
  }
  return {};
}

}  // namespace weight_check

inline Fault CheckWholeWeight(const CheckedWeight& w) {
  if (w.parts.size() > 1) {
    return Fail(MOTLEY_UNIMPLEMENTED, "%s: %zu parts%s: only one part of data in its own format", w.Text().c_str(),
                w.parts.size(), w.parts[1].role == MOTLEY_PART_SCALE2 ? ", a scale of its own" : "");
  }
  return weight_check::CheckData(w);
}

inline Fault CheckScaledWeight(const CheckedWeight& w, const motley_part** scale) {
  MOTLEY_TRY(weight_check::CheckData(w));
  *scale = w.parts.size() == 2 ? &w.parts[1] : nullptr;
  if (w.parts.size() == 1) return {};
  if (w.parts.size() > 2 || w.parts[1].role != MOTLEY_PART_SCALE2) {
    return Fail(MOTLEY_UNIMPLEMENTED, "%s: %zu parts, the second of role %u: only data and SCALE2", w.Text().c_str(),
                w.parts.size(), w.parts[1].role);
  }
  if (w.parts[1].dtype != format_id::kF32 || w.parts[1].src.bytes != sizeof(float)) {
    return Fail(MOTLEY_UNIMPLEMENTED, "%s: its scale has format %u and %llu bytes: must be one F32", w.Text().c_str(),
                w.parts[1].dtype, static_cast<unsigned long long>(w.parts[1].src.bytes));
  }
  return {};
}

// Bytes of a range in memory: its own base, or a mapping of its file for as long as this lives.
class RangeBytes {
 public:
  RangeBytes() = default;
  RangeBytes(const RangeBytes&) = delete;
  RangeBytes& operator=(const RangeBytes&) = delete;
  ~RangeBytes() {
    if (mapping_) munmap(mapping_, mapped_bytes_);
  }

  Fault Open(const motley_range& range) {
    if (range.base) {
      data_ = static_cast<const std::byte*>(range.base);
      return {};
    }
    if (range.bytes == 0) return {};
    if (range.fd < 0) return Fail(MOTLEY_INVALID_ARGUMENT, "a range has neither a base nor a file");
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t head = range.fd_offset % page;
    struct stat file {};
    uint64_t last = 0;
    if (__builtin_add_overflow(range.fd_offset, range.bytes, &last) || fstat(range.fd, &file) != 0 ||
        last > static_cast<uint64_t>(file.st_size)) {
      return Fail(MOTLEY_DATA_LOSS, "%.*s: bytes [%llu, +%llu) are outside the file",
                  MOTLEY_TEXT(View(range.path)), static_cast<unsigned long long>(range.fd_offset),
                  static_cast<unsigned long long>(range.bytes));
    }
    void* mapping = mmap(nullptr, range.bytes + head, PROT_READ, MAP_PRIVATE, range.fd,
                         static_cast<off_t>(range.fd_offset - head));
    if (mapping == MAP_FAILED) return Fail(MOTLEY_RESOURCE_EXHAUSTED, "cannot map a range of the file");
    mapping_ = mapping;
    mapped_bytes_ = range.bytes + head;
    data_ = static_cast<const std::byte*>(mapping) + head;
    return {};
  }
  const std::byte* data() const { return data_; }

 private:
  const std::byte* data_ = nullptr;
  void* mapping_ = nullptr;
  uint64_t mapped_bytes_ = 0;
};

inline Fault ReadScale(const CheckedWeight& w, float* factor) {
  *factor = 1;
  if (w.parts.size() < 2) return {};
  RangeBytes bytes;
  MOTLEY_TRY(bytes.Open(w.parts[1].src));
  std::memcpy(factor, bytes.data(), sizeof(float));
  return {};
}

}  // namespace motley::plugin
