// GGUF version 3, in one file or a split set, memory-mapped.
//
//   MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, GgufFile::Open(path));
//   MOTLEY_ASSIGN_OR_RETURN(uint64_t layers, file->metadata().GetU64("llama.block_count"));
//   const StoredTensor* embedding = file->FindTensor("token_embd.weight");
//
// Everything the header claims is checked before it is used: lengths and counts against the bytes left, offsets and
// sizes with checked arithmetic, names and byte ranges for being unique, the tokenizer's arrays for type and length.
// An error names the file and the field, key or tensor. No weight byte is read by Open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/mmap_file.h"
#include "core/base/status.h"
#include "core/model/weights_file.h"

namespace motley {

class GgufFile final : public WeightsFile {
 public:
  // `path` is a whole file or any shard of a split set; the others are found by name (STEM-00001-of-00003.gguf).
  // metadata() is the first shard's.
  static StatusOr<std::unique_ptr<GgufFile>> Open(const std::string& path);

  void Release(const StoredTensor& tensor) const override;

 private:
  GgufFile() = default;
  void Adopt(MmapFile file, std::vector<StoredTensor> tensors);

  std::vector<MmapFile> files_;  // one a path
};

// The dims of a tensor in the order of the GGUF file, ne0 (the fastest) first.
std::vector<int64_t> GgufDims(const StoredTensor& tensor);

}  // namespace motley
