#include "core/model/gguf.h"

#include <optional>
#include <utility>

#include "core/model/gguf_header.h"
#include "core/model/gguf_split.h"

namespace motley {
namespace {

// The files of a model in order, and what the header of each says.
struct OpenFiles {
  std::vector<MmapFile> files;
  std::vector<Shard> shards;
};

Status OpenOne(const std::string& path, OpenFiles* out) {
  MOTLEY_ASSIGN_OR_RETURN(MmapFile file, MmapFile::Open(path));
  const std::string name(file.base_name());
  MOTLEY_ASSIGN_OR_RETURN(GgufHeader header, ParseGgufHeader(file.bytes(), name));
  out->files.push_back(std::move(file));
  out->shards.push_back({name, Metadata(name, std::move(header.entries)), std::move(header.tensors),
                         std::move(header.warnings)});
  return OkStatus();
}

// All shards of the set in which `given` is one.
StatusOr<OpenFiles> OpenSet(OpenFiles given, const SplitKeys& keys) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                          FindShards(given.files[0].path(), given.shards[0].metadata, keys));
  OpenFiles set;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (i == keys.number) {
      set.files.push_back(std::move(given.files[0]));
      set.shards.push_back(std::move(given.shards[0]));
    } else {
      MOTLEY_RETURN_IF_ERROR(OpenOne(paths[i], &set));
    }
  }
  MOTLEY_RETURN_IF_ERROR(CheckShards(set.shards));
  return set;
}

// A whole model that is named like a shard: somebody joined a set and kept the name.
void WarnOfName(const std::string& path, Shard* shard) {
  const std::optional<ShardName> name = ParseShardName(path);
  if (!name || name->count == 1) return;
  shard->warnings.push_back(shard->name + ": is named as shard " + std::to_string(name->number) + " of " +
                            std::to_string(name->count) + ", but its keys name no split set: taken as a whole model");
}

}  // namespace

StatusOr<std::unique_ptr<GgufFile>> GgufFile::Open(const std::string& path) {
  OpenFiles open;
  MOTLEY_RETURN_IF_ERROR(OpenOne(path, &open));
  MOTLEY_ASSIGN_OR_RETURN(const SplitKeys keys, ReadSplitKeys(open.shards[0].metadata));
  if (keys.count > 1) {
    MOTLEY_ASSIGN_OR_RETURN(open, OpenSet(std::move(open), keys));
  } else {
    WarnOfName(path, &open.shards[0]);
  }
  MOTLEY_RETURN_IF_ERROR(CheckGgufVocabulary(open.shards[0].metadata));

  std::unique_ptr<GgufFile> gguf(new GgufFile());
  gguf->metadata_ = std::move(open.shards[0].metadata);
  for (size_t i = 0; i < open.files.size(); ++i) {
    Shard& shard = open.shards[i];
    gguf->warnings_.insert(gguf->warnings_.end(), shard.warnings.begin(), shard.warnings.end());
    gguf->Adopt(std::move(open.files[i]), std::move(shard.tensors));
  }
  gguf->IndexTensors();
  return gguf;
}

void GgufFile::Adopt(MmapFile file, std::vector<StoredTensor> tensors) {
  for (StoredTensor& tensor : tensors) {
    tensor.file = static_cast<uint32_t>(files_.size());
    tensor.fd = file.fd();
    tensors_.push_back(std::move(tensor));
  }
  paths_.push_back(file.path());
  files_.push_back(std::move(file));
}

void GgufFile::Release(const StoredTensor& tensor) const {
  // Only advice: where the system won't take it, the pages stay in memory a while longer.
  (void)files_[tensor.file].AdviseDontNeed(tensor.offset, tensor.bytes);
}

std::vector<int64_t> GgufDims(const StoredTensor& tensor) { return {tensor.dims.rbegin(), tensor.dims.rend()}; }

}  // namespace motley
