// SummarizePlacement: a placement written as few selectors.
#include <algorithm>
#include <map>
#include <set>

#include "core/plan/selector.h"

namespace motley {
namespace {

// One layer's parts in order: a part's name behind the layer ("experts.0-31", "attention") and its device.
struct LayerLines {
  int32_t layer = 0;
  std::string base;                           // device of the line "layers.N"
  std::map<std::string, std::string> others;  // part name -> device, where it isn't the base's
  std::set<std::string> kinds;                // every part's kind, by name
};

std::string NameInLayer(const Part& part, bool split) {
  std::string name(PartKindName(part.kind));
  if (part.kind == PartKind::kExperts && split)
    name += "." + std::to_string(part.expert_begin) + "-" + std::to_string(part.expert_end - 1);
  return name;
}

// The layers of `parts`, in order; each layer's device is that of its first part.
std::vector<LayerLines> LayersOf(std::span<const PlacedPart> parts) {
  std::map<int32_t, std::vector<const PlacedPart*>> by_layer;
  for (const PlacedPart& placed : parts) {
    if (placed.part.layer >= 0) by_layer[placed.part.layer].push_back(&placed);
  }
  std::vector<LayerLines> layers;
  for (const auto& [number, placed] : by_layer) {
    LayerLines lines{number, placed[0]->device, {}, {}};
    const auto is_experts = [](const PlacedPart* p) { return p->part.kind == PartKind::kExperts; };
    const bool split = std::count_if(placed.begin(), placed.end(), is_experts) > 1;
    for (const PlacedPart* p : placed) {
      const bool piece = split && is_experts(p);
      lines.kinds.insert(std::string(PartKindName(p->part.kind)));
      if (piece || p->device != lines.base) lines.others[NameInLayer(p->part, split)] = p->device;
    }
    layers.push_back(std::move(lines));
  }
  return layers;
}

// "layers.*" where the layers outside [first, last] have no part `name` ("" = any part) that it could hit.
std::string LayersSelector(const std::vector<LayerLines>& layers, size_t first, size_t last,
                           const std::string& name) {
  const std::string kind = name.substr(0, name.find('.'));
  const auto hit = [&](const LayerLines& layer) { return name.empty() || layer.kinds.count(kind) != 0; };
  if (std::none_of(layers.begin(), layers.begin() + static_cast<ptrdiff_t>(first), hit) &&
      std::none_of(layers.begin() + static_cast<ptrdiff_t>(last) + 1, layers.end(), hit)) {
    return "layers.*";
  }
  const std::string text = "layers." + std::to_string(layers[first].layer);
  return first == last ? text : text + "-" + std::to_string(layers[last].layer);
}

}  // namespace

std::vector<PlacementLine> SummarizePlacement(std::span<const PlacedPart> parts) {
  std::vector<PlacementLine> lines;
  for (const PlacedPart& placed : parts) {
    if (placed.part.kind == PartKind::kEmbed) lines.push_back({"embed", placed.device});
  }
  const std::vector<LayerLines> layers = LayersOf(parts);
  for (size_t first = 0, last; first < layers.size(); first = last + 1) {
    for (last = first; last + 1 < layers.size() && layers[last + 1].base == layers[first].base;) ++last;
    lines.push_back({LayersSelector(layers, first, last, ""), layers[first].base});
  }
  // What differs from the layers' own lines, in runs of layers that differ in the same way.
  std::vector<std::string> names;
  for (const LayerLines& layer : layers) {
    for (const auto& [name, device] : layer.others) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    const auto device_of = [&](size_t i) {
      const auto found = layers[i].others.find(name);
      return found == layers[i].others.end() ? std::string() : found->second;
    };
    for (size_t first = 0, last; first < layers.size(); first = last + 1) {
      last = first;
      const std::string device = device_of(first);
      if (device.empty()) continue;
      while (last + 1 < layers.size() && device_of(last + 1) == device) ++last;
      lines.push_back({LayersSelector(layers, first, last, name) + "." + name, device});
    }
  }
  for (const PlacedPart& placed : parts) {
    if (placed.part.kind == PartKind::kHead) lines.push_back({"head", placed.device});
  }
  return lines;
}

}  // namespace motley
