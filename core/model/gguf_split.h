// Split sets: STEM-00001-of-00003.gguf, STEM-00002-of-00003.gguf, …
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/model/metadata.h"
#include "core/model/weights_file.h"

namespace motley {

struct ShardName {
  std::string stem;    // with its folder
  uint32_t number = 0;  // from 1, as names count
  uint32_t count = 0;
};

// nullopt where the name is not of that form, or its numbers make no sense.
std::optional<ShardName> ParseShardName(const std::string& path);
// The path of shard `number` (from 1).
std::string ShardPath(const ShardName& name, uint32_t number);

// What a shard's metadata says of its set.
struct SplitKeys {
  uint64_t number = 0;         // from 0, as keys count
  uint64_t count = 1;          // 1 = a whole file
  uint64_t tensors_count = 0;  // of the set; 0 = not said
};
StatusOr<SplitKeys> ReadSplitKeys(const Metadata& metadata);

// The paths of all shards of the set that `path` is in, of `keys.count` in number. Looks that each is there, and
// names every one that is not, before any is opened.
StatusOr<std::vector<std::string>> FindShards(const std::string& path, const Metadata& metadata, const SplitKeys& keys);

// One opened shard.
struct Shard {
  std::string name;  // base name, for messages
  Metadata metadata;
  std::vector<StoredTensor> tensors;
  std::vector<std::string> warnings;
};

// Whether these are the shards of one set, in order: numbers and counts, shared keys, the number of tensors, unique
// names, and formats that go together.
Status CheckShards(std::span<const Shard> shards);

}  // namespace motley
