#include "core/model/gguf_split.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <set>

#include "core/model/printable.h"

namespace motley {
namespace {

constexpr uint64_t kMaxShards = 4096;
constexpr size_t kDigits = 5;
constexpr std::string_view kSuffix = ".gguf";

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string Folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// The number that `text` ends with: kDigits digits, taken off. nullopt where it doesn't.
std::optional<uint32_t> TakeNumber(std::string_view* text) {
  if (text->size() < kDigits) return std::nullopt;
  const std::string_view digits = text->substr(text->size() - kDigits);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  text->remove_suffix(kDigits);
  return number;
}

bool TakeSuffix(std::string_view* text, std::string_view suffix) {
  if (text->size() < suffix.size() || text->substr(text->size() - suffix.size()) != suffix) return false;
  text->remove_suffix(suffix.size());
  return true;
}

// "blk.12.attn_q.weight" → "blk.*.attn_q.weight": what the tensors of all layers have in common.
std::string RoleOf(std::string_view name) {
  std::string role;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    const bool starts_part = i == 0 || name[i - 1] == '.';
    if (!digit || !starts_part) {
      role += name[i];
      continue;
    }
    role += '*';
    while (i + 1 < name.size() && name[i + 1] >= '0' && name[i + 1] <= '9') ++i;
  }
  return role;
}

using FormatsByRole = std::map<std::string, std::set<Format>>;

// Of matrices alone: norms and biases are F32 in every quantisation.
FormatsByRole CollectFormats(const Shard& shard) {
  FormatsByRole formats;
  for (const StoredTensor& tensor : shard.tensors) {
    if (tensor.dims.size() >= 2) formats[RoleOf(tensor.name)].insert(tensor.format);
  }
  return formats;
}

std::string Join(const std::set<Format>& formats) {
  std::string out;
  for (Format format : formats) out += (out.empty() ? "" : ", ") + std::string(FormatName(format));
  return out;
}

Status CheckKeysAgree(const Shard& first, const Shard& other) {
  for (const MetaEntry& entry : other.metadata.entries()) {
    if (entry.key.substr(0, 6) == "split." || entry.key == "general.alignment") continue;
    const MetaValue* value = first.metadata.Find(entry.key);
    if (value == nullptr || (value->type == entry.value.type && value->bytes == entry.value.bytes)) continue;
    return other.metadata.Error(entry.key, "= " + DescribeValue(entry.value) + ", but " + DescribeValue(*value) + " in " +
                                               first.name + ": shards of different sets");
  }
  return OkStatus();
}

Status CheckNamesUnique(std::span<const Shard> shards) {
  std::vector<std::pair<std::string_view, const Shard*>> names;
  for (const Shard& shard : shards) {
    for (const StoredTensor& tensor : shard.tensors) names.emplace_back(tensor.name, &shard);
  }
  // By name alone: one shard's names are unique already, so twins are of two shards, here in their order.
  std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 1; i < names.size(); ++i) {
    if (names[i - 1].first != names[i].first) continue;
    return InvalidArgumentError(names[i].second->name + ": tensor " + Printable(names[i].first) + " stands twice: in " +
                                names[i - 1].second->name + " and in " + names[i].second->name);
  }
  return OkStatus();
}

// Shards of two quantisations of one model can have the same names and counts. What gives a stranger away: it has
// several roles in common with the rest, and not one format of any of them. (Sound sets mix formats within a role,
// from layer to layer, but not in all roles at one cut.)
Status CheckFormatsAgree(std::span<const Shard> shards) {
  constexpr int kEnoughRoles = 2;
  std::vector<FormatsByRole> formats;
  for (const Shard& shard : shards) formats.push_back(CollectFormats(shard));
  for (size_t i = 0; i < shards.size(); ++i) {
    int shared_roles = 0;
    bool agrees = false;
    std::string example;
    for (const auto& [role, mine] : formats[i]) {
      std::set<Format> others;
      for (size_t j = 0; j < shards.size(); ++j) {
        const auto at = formats[j].find(role);
        if (j != i && at != formats[j].end()) others.insert(at->second.begin(), at->second.end());
      }
      if (others.empty()) continue;
      ++shared_roles;
      for (Format format : mine) agrees |= others.count(format) != 0;
      if (example.empty()) example = role + " is " + Join(mine) + " there and " + Join(others) + " elsewhere";
    }
    if (shared_roles >= kEnoughRoles && !agrees) {
      return InvalidArgumentError(shards[i].name + ": is of another quantisation than the other shards (" + example +
                                  "): fetch all shards of one set");
    }
  }
  return OkStatus();
}

}  // namespace

std::optional<ShardName> ParseShardName(const std::string& path) {
  std::string_view rest = path;
  if (!TakeSuffix(&rest, kSuffix)) return std::nullopt;
  const std::optional<uint32_t> count = TakeNumber(&rest);
  if (!count || !TakeSuffix(&rest, "-of-")) return std::nullopt;
  const std::optional<uint32_t> number = TakeNumber(&rest);
  if (!number || !TakeSuffix(&rest, "-")) return std::nullopt;
  if (*number < 1 || *number > *count) return std::nullopt;
  return ShardName{std::string(rest), *number, *count};
}

std::string ShardPath(const ShardName& name, uint32_t number) {
  char suffix[40];
  std::snprintf(suffix, sizeof suffix, "-%05u-of-%05u.gguf", number, name.count);
  return name.stem + suffix;
}

StatusOr<SplitKeys> ReadSplitKeys(const Metadata& metadata) {
  SplitKeys keys;
  MOTLEY_ASSIGN_OR_RETURN(const std::optional<uint64_t> count, metadata.FindU64("split.count"));
  MOTLEY_ASSIGN_OR_RETURN(const std::optional<uint64_t> number, metadata.FindU64("split.no"));
  MOTLEY_ASSIGN_OR_RETURN(const std::optional<uint64_t> tensors, metadata.FindU64("split.tensors.count"));
  keys.count = std::max<uint64_t>(1, count.value_or(1));  // 0 is how some writers say "not split"
  keys.number = number.value_or(0);
  keys.tensors_count = tensors.value_or(0);
  if (keys.count > kMaxShards) {
    return metadata.Error("split.count", "= " + std::to_string(keys.count) + ": at most " +
                                             std::to_string(kMaxShards) + " make sense");
  }
  if (keys.count > 1 && !number) return metadata.Error("split.no", "is missing, though split.count is there");
  if (keys.number >= keys.count) {
    return metadata.Error("split.no", "= " + std::to_string(keys.number) + ": must be less than split.count, " +
                                          std::to_string(keys.count));
  }
  return keys;
}

StatusOr<std::vector<std::string>> FindShards(const std::string& path, const Metadata& metadata, const SplitKeys& keys) {
  const std::optional<ShardName> name = ParseShardName(path);
  if (!name || name->number != keys.number + 1 || name->count != keys.count) {
    const ShardName right{"NAME", 0, static_cast<uint32_t>(keys.count)};
    return InvalidArgumentError(BaseName(path) + ": is shard " + std::to_string(keys.number + 1) + " of " +
                                std::to_string(keys.count) + " by its keys split.no and split.count, so it must be named " +
                                ShardPath(right, static_cast<uint32_t>(keys.number + 1)) +
                                " for the others to be found");
  }
  std::vector<std::string> paths;
  std::string missing;
  uint64_t n_missing = 0;
  for (uint32_t number = 1; number <= name->count; ++number) {
    paths.push_back(ShardPath(*name, number));
    struct stat info;
    if (stat(paths.back().c_str(), &info) == 0) continue;
    missing += (missing.empty() ? "" : ", ") + BaseName(paths.back());
    ++n_missing;
  }
  if (n_missing > 0) {
    return NotFoundError(metadata.origin() + ": " + std::to_string(n_missing) + " of the " +
                         std::to_string(name->count) + " shards of this model are missing in " + Folder(path) + ": " +
                         missing);
  }
  return paths;
}

Status CheckShards(std::span<const Shard> shards) {
  uint64_t n_tensors = 0;
  uint64_t expected = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const Metadata& metadata = shards[i].metadata;
    MOTLEY_ASSIGN_OR_RETURN(const SplitKeys keys, ReadSplitKeys(metadata));
    if (keys.count != shards.size() || keys.number != i) {
      return metadata.Error("split.no", "says that this is shard " + std::to_string(keys.number + 1) + " of " +
                                            std::to_string(keys.count) + ", but by its name it is " +
                                            std::to_string(i + 1) + " of " + std::to_string(shards.size()));
    }
    if (keys.tensors_count != 0 && expected != 0 && keys.tensors_count != expected) {
      return metadata.Error("split.tensors.count", "= " + std::to_string(keys.tensors_count) + ", but " +
                                                       std::to_string(expected) + " in " + shards[0].name +
                                                       ": shards of different sets");
    }
    expected = std::max(expected, keys.tensors_count);
    n_tensors += shards[i].tensors.size();
    if (i > 0) MOTLEY_RETURN_IF_ERROR(CheckKeysAgree(shards[0], shards[i]));
  }
  MOTLEY_RETURN_IF_ERROR(CheckNamesUnique(shards));
  if (expected != 0 && n_tensors != expected) {
    return shards[0].metadata.Error("split.tensors.count", "= " + std::to_string(expected) + ", but the " +
                                                               std::to_string(shards.size()) + " shards have " +
                                                               std::to_string(n_tensors) +
                                                               " tensors together: shards of different sets");
  }
  return CheckFormatsAgree(shards);
}

}  // namespace motley
