// WeightsFile: what the rest of the core knows of a model on disk, whatever its container (GGUF now, a folder of
// safetensors later): metadata, and tensors as ranges of mapped files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/model/metadata.h"
#include "core/tensor/format.h"

namespace motley {

// One tensor as it lies in a file. Views and pointers live as long as the WeightsFile.
struct StoredTensor {
  std::string_view name;
  Format format = Format::kF32;
  std::vector<int64_t> dims;        // logical, outermost first: [.., n_out, n_in]; 1 to 4 of them, each >= 1
  uint64_t elems = 0;               // the product of dims
  uint64_t bytes = 0;
  uint32_t file = 0;                // of paths()
  uint64_t offset = 0;              // of the first byte, from the start of that file
  const std::byte* data = nullptr;  // the mapped bytes; aligned as the file says, which may be less than a float's
  int fd = -1;                      // of that file, open as long as the WeightsFile
};

class WeightsFile {
 public:
  virtual ~WeightsFile() = default;

  const Metadata& metadata() const { return metadata_; }
  // Every tensor, in file order.
  std::span<const StoredTensor> tensors() const { return tensors_; }
  // nullptr where there is none of that name.
  const StoredTensor* FindTensor(std::string_view name) const;
  // NOT_FOUND where there is none of that name; the message names the file.
  StatusOr<const StoredTensor*> GetTensor(std::string_view name) const;
  // The files the tensors are in; `file` of a tensor counts in this list.
  std::span<const std::string> paths() const { return paths_; }
  uint64_t tensor_bytes() const { return tensor_bytes_; }
  // What the operator should hear, though the file loads. The caller logs them.
  std::span<const std::string> warnings() const { return warnings_; }

  // The memory of these bytes may go: they have been packed or copied. They stay readable, from the disk.
  virtual void Release(const StoredTensor& tensor) const = 0;

 protected:
  // Call once the tensors are filled in: sorts the names for FindTensor and adds up the bytes.
  void IndexTensors();

  Metadata metadata_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::string> paths_;
  std::vector<std::string> warnings_;

 private:
  std::vector<uint32_t> by_name_;  // tensors_ in the order of their names
  uint64_t tensor_bytes_ = 0;
};

}  // namespace motley
