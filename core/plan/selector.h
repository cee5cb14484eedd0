// Selectors: how pins name parts of a model.
//
//   embed   head   layers.7   layers.10-19 (inclusive)   layers.*
//   and behind a layer: .attention .ffn .router .shared_experts .experts .experts.0-31 .kv
//
// A selector is no pattern over text: layers.1 is layer 1, never layers 10 to 19. A selector that matches
// nothing, a range that is partly outside the model and an unknown device are errors, each with a suggestion.
// Pure functions over plain data, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/graph/part.h"

namespace motley {

struct Selector {
  enum class Scope : uint32_t { kEmbed, kHead, kLayers };
  struct Range {  // inclusive
    uint32_t first = 0;
    uint32_t last = 0;
  };

  Scope scope = Scope::kEmbed;
  std::optional<Range> layers;   // kLayers: absent means every layer
  std::optional<PartKind> part;  // kLayers: absent means every part of the layer
  std::optional<Range> experts;  // part kExperts: absent means every expert
};

StatusOr<Selector> ParseSelector(std::string_view text);
std::string ToString(const Selector& selector);

// The parts of `model` that the selector touches, as indices. Errors: nothing matches; a range partly
// outside.
StatusOr<std::vector<uint32_t>> MatchSelector(const Selector& selector, const PartList& model);

// A wish of the operator: what goes where.
struct Pin {
  std::string selector;
  std::string device;
  std::string origin;      // where it was written, for messages: "motley.toml:12:8", "--pin"
  bool from_flag = false;  // every pin of the command line beats every pin of the file
};

struct PinnedPart {
  Part part;
  int32_t pin = -1;  // index in the list of pins, -1 = free
};

struct PinnedModel {
  std::vector<PinnedPart> parts;   // the model's parts in order, experts cut where pins cut them
  std::vector<uint32_t> matches;   // a pin: how many of the model's parts its selector touches
  std::vector<uint32_t> deciding;  // a pin: in how many of them it wins (0: later pins override all of it)
};

// Which pin decides each part. Flags beat the file; then the pin that names more parts of a layer wins
// (layers.*.experts over layers.7, for experts), then the one with fewer layers, then the later one.
// `devices` are the names that exist.
StatusOr<PinnedModel> ApplyPins(std::span<const Pin> pins, const PartList& model,
                                std::span<const std::string> devices);

// INVALID_ARGUMENT with a suggestion where `device` is none of `devices`.
Status CheckDeviceName(std::string_view device, std::span<const std::string> devices);

// A placement in as few lines as selectors allow: the other way round from ApplyPins. Pinning these lines
// gives the same placement again.
struct PlacedPart {
  Part part;
  std::string device;
};
struct PlacementLine {
  std::string selector;
  std::string device;
};
std::vector<PlacementLine> SummarizePlacement(std::span<const PlacedPart> parts);

}  // namespace motley
