#include "core/model/model.h"

#include <unordered_set>

#include "core/model/arch.h"
#include "core/model/printable.h"
#include "core/model/weight_scale.h"

namespace motley {
namespace {

constexpr Architecture kArchitectures[] = {
    {"llama", ReadLlama, BuildLlama},
    {"qwen3", ReadQwen3, BuildQwen3},
};

const Architecture* FindArchitecture(std::string_view name) {
  for (const Architecture& row : kArchitectures) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string KnownNames() {
  std::string names;
  for (const Architecture& row : kArchitectures) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace

std::span<const Architecture> Architectures() { return kArchitectures; }

StatusOr<Model> Model::Read(const WeightsFile& file) {
  const Metadata& metadata = file.metadata();
  MOTLEY_ASSIGN_OR_RETURN(const std::string_view name, metadata.GetString("general.architecture"));
  const Architecture* architecture = FindArchitecture(name);
  if (architecture == nullptr) {
    return UnimplementedError(metadata.origin() + ": general.architecture = \"" + Printable(name) +
                              "\" is not known; known are " + KnownNames());
  }
  MOTLEY_ASSIGN_OR_RETURN(HyperParameters params, architecture->read(file));
  MOTLEY_ASSIGN_OR_RETURN(RopeTable rope, RopeTable::Create(file, params.arch, params.rotary_dim));
  return Model(file, *architecture, std::move(params), std::move(rope));
}

PartList Model::Parts() const {
  PartList parts = {{PartKind::kEmbed}};
  for (int32_t layer = 0; layer < params_.n_layers; ++layer) {
    parts.push_back({PartKind::kAttention, layer});
    parts.push_back({PartKind::kKv, layer});
    parts.push_back({PartKind::kFfn, layer});
  }
  parts.push_back({PartKind::kHead});
  return parts;
}

StatusOr<ModelGraph> Model::BuildGraph(const GraphLimits& limits) const {
  return architecture_->build(*file_, params_, limits);
}

std::vector<std::string> Model::UnusedTensors(const Graph& graph) const {
  std::unordered_set<std::string_view> used = {"rope_freqs.weight"};  // read by the RopeTable
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.role == Role::kWeight) used.insert(tensor.name);
  }
  std::vector<std::string> unused;
  for (const StoredTensor& stored : file_->tensors()) {
    if (IsScaleOfAWeight(*file_, stored.name)) continue;
    if (!used.contains(stored.name)) unused.emplace_back(stored.name);
  }
  return unused;
}

}  // namespace motley
