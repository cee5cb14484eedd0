// Part: the units of placement. A model is a list of parts; the planner gives each a device.
// Plain data; the graph tags each node with its part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace motley {

enum class PartKind : uint32_t {
  kEmbed = 0,          // token embedding
  kHead = 1,           // final norm and output projection
  kAttention = 2,      // a layer's attention with its norms
  kFfn = 3,            // a dense layer's feed-forward block with its norm
  kRouter = 4,         // a sparse layer's router with its norm
  kSharedExperts = 5,  // experts that every token passes through
  kExperts = 6,        // routed experts, all of a layer's or a range of them
  kKv = 7,             // a layer's cache of keys and values
};

struct Part {
  PartKind kind = PartKind::kEmbed;
  int32_t layer = -1;        // -1: of the whole model (embed, head)
  uint32_t expert_begin = 0;  // kExperts: experts [expert_begin, expert_end)
  uint32_t expert_end = 0;

  friend bool operator==(const Part&, const Part&) = default;
};

// The parts of one model, in the order of the layers. Before placement each sparse layer has one kExperts part
// that holds all its experts.
using PartList = std::vector<Part>;

// "attention", "shared_experts": the word that selectors use.
std::string_view PartKindName(PartKind kind);

// "embed", "layers.7.attention", "layers.7.experts.0-31": a selector that names just this part.
std::string ToString(const Part& part);

}  // namespace motley
