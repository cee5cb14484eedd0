#include "core/plan/selector.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/suggest.h"

namespace motley {
namespace {

constexpr std::array<PartKind, 6> kLayerKinds{PartKind::kAttention,     PartKind::kFfn,     PartKind::kRouter,
                                              PartKind::kSharedExperts, PartKind::kExperts, PartKind::kKv};
constexpr std::string_view kForms =
    "embed, head, layers.7, layers.10-19 or layers.*, then optionally "
    ".attention, .ffn, .router, .shared_experts, .experts, .experts.0-31 or .kv";

// A text from outside may be long; its beginning is enough to find it.
std::string Quote(std::string_view text) {
  return text.size() > 80 ? "\"" + std::string(text.substr(0, 80)) + "...\""
                          : "\"" + std::string(text) + "\"";
}

Status BadSelector(std::string_view text, const std::string& why) {
  return InvalidArgumentError("selector " + Quote(text) + ": " + why);
}

std::vector<std::string> Split(std::string_view text, size_t most) {
  std::vector<std::string> words;
  while (words.size() < most) {
    const size_t dot = text.find('.');
    words.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return words;
    text.remove_prefix(dot + 1);
  }
  words.emplace_back(text);  // more words than any selector has
  return words;
}

std::optional<uint32_t> ReadNumber(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;  // nine digits fit in 32 bits
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  uint32_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return value;
}

// "7" or "10-19".
StatusOr<Selector::Range> ReadRange(std::string_view whole, std::string_view text, std::string_view noun) {
  const size_t dash = text.find('-');
  const auto first = ReadNumber(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ReadNumber(text.substr(dash + 1));
  if (!first || !last) {
    return BadSelector(whole, Quote(text) + " is no " + std::string(noun) +
                                  ": write a number (7), a range (10-19, both ends included)" +
                                  (noun == "layer" ? " or *" : " or leave it out for all"));
  }
  if (*first > *last) {
    return BadSelector(whole, "the range " + std::string(text) + " ends before it begins: write " +
                                  std::to_string(*last) + "-" + std::to_string(*first));
  }
  return Selector::Range{*first, *last};
}

std::string UnknownStart(const std::string& word) {
  const std::array<std::string, 3> known{"embed", "head", "layers"};
  std::string why = "starts with " + Quote(word) + ", no part of a model";
  if (word.rfind("blk", 0) == 0 || word.rfind("model", 0) == 0) {
    why += " (selectors are no tensor names and no patterns); did you mean \"layers\"?";
  } else {
    why += DidYouMean(word, known);
  }
  return why + (why.back() == '?' ? " Write " : ": write ") + std::string(kForms);
}

std::vector<std::string> LayerKindNames() {
  std::vector<std::string> names;
  for (PartKind kind : kLayerKinds) names.emplace_back(PartKindName(kind));
  return names;
}

StatusOr<PartKind> ReadKind(std::string_view whole, std::string_view word) {
  for (PartKind kind : kLayerKinds) {
    if (word == PartKindName(kind)) return kind;
  }
  const std::vector<std::string> names = LayerKindNames();
  std::string suggestion = DidYouMean(word, names);
  if (suggestion.empty()) suggestion = ": a layer has " + ListNames(names);
  return BadSelector(whole, "no part " + Quote(word) + suggestion);
}

// How many layers the model has: one more than the highest number.
uint32_t LayerCount(const PartList& model) {
  int32_t highest = -1;
  for (const Part& part : model) highest = std::max(highest, part.layer);
  return static_cast<uint32_t>(highest + 1);
}

bool Contains(const std::optional<Selector::Range>& range, uint32_t value) {
  return !range || (value >= range->first && value <= range->last);
}

// Whether the selector touches the part, all of it or (experts) some of it.
bool Touches(const Selector& selector, const Part& part) {
  switch (selector.scope) {
    case Selector::Scope::kEmbed: return part.kind == PartKind::kEmbed;
    case Selector::Scope::kHead: return part.kind == PartKind::kHead;
    case Selector::Scope::kLayers: break;
  }
  if (part.layer < 0 || !Contains(selector.layers, static_cast<uint32_t>(part.layer))) return false;
  if (selector.part && *selector.part != part.kind) return false;
  if (!selector.experts) return true;
  return selector.experts->first < part.expert_end && selector.experts->last >= part.expert_begin;
}

// Whether the selector covers expert `expert` of a kExperts part that it touches.
bool CoversExpert(const Selector& selector, uint32_t expert) {
  return Contains(selector.experts, expert);
}

Status CheckRanges(const Selector& selector, const PartList& model) {
  if (selector.layers) {
    const uint32_t count = LayerCount(model);
    if (count == 0) return BadSelector(ToString(selector), "the model has no layers");
    if (selector.layers->last >= count) {
      const bool apart = selector.layers->first >= count;
      return BadSelector(ToString(selector),
                         std::string(apart ? "outside the model" : "partly outside the model") +
                             ", whose layers are 0-" + std::to_string(count - 1));
    }
  }
  if (selector.experts) {
    for (const Part& part : model) {
      if (part.kind != PartKind::kExperts || !Contains(selector.layers, static_cast<uint32_t>(part.layer)))
        continue;
      if (selector.experts->last < part.expert_end) continue;
      const bool apart = selector.experts->first >= part.expert_end;
      return BadSelector(ToString(selector), std::string(apart ? "" : "partly ") +
                                                 "outside the experts of layer " +
                                                 std::to_string(part.layer) + ", which are 0-" +
                                                 std::to_string(part.expert_end - 1));
    }
  }
  return OkStatus();
}

// Why nothing matched, and what would: the parts that the chosen layers do have, and where the wanted part
// is.
Status NothingMatches(const Selector& selector, const PartList& model) {
  std::vector<std::string> there;
  int32_t elsewhere = -1;
  for (const Part& part : model) {
    if (selector.part && part.kind == *selector.part && elsewhere < 0) elsewhere = part.layer;
    const std::string name(PartKindName(part.kind));
    const bool chosen = part.layer >= 0 && Contains(selector.layers, static_cast<uint32_t>(part.layer));
    if (chosen && std::find(there.begin(), there.end(), name) == there.end()) there.push_back(name);
  }
  const std::string wanted = selector.part ? std::string(PartKindName(*selector.part)) : ToString(selector);
  std::string why = "matches nothing: ";
  if (selector.scope != Selector::Scope::kLayers) {
    why += "the model has no such part";
  } else if (elsewhere >= 0) {
    why += "these layers have no " + wanted + ", they have " + ListNames(there) + "; did you mean \"layers." +
           std::to_string(elsewhere) + "." + wanted + "\"?";
  } else if (there.empty()) {
    why += "the model has no layers";
  } else {
    why += "the model has no " + wanted + "; its layers have " + ListNames(there);
    const bool sparse = selector.part == PartKind::kExperts || selector.part == PartKind::kRouter ||
                        selector.part == PartKind::kSharedExperts;
    if (sparse && std::find(there.begin(), there.end(), "ffn") != there.end())
      why += "; did you mean \"" + std::string("layers.*.ffn") + "\"?";
  }
  return BadSelector(ToString(selector), why);
}

// The order in which pins win: the greater key beats the lesser.
struct Rank {
  bool from_flag;
  uint32_t words;         // how far into a layer the selector names
  uint32_t fewer_layers;  // greater where fewer layers are named
  size_t index;
};

Rank RankOf(const Pin& pin, const Selector& selector, uint32_t layer_count, size_t index) {
  const uint32_t words = 1 + (selector.part ? 1 : 0) + (selector.experts ? 1 : 0);
  const uint32_t layers = selector.layers ? selector.layers->last - selector.layers->first + 1 : layer_count;
  return {pin.from_flag, words, std::numeric_limits<uint32_t>::max() - layers, index};
}

bool Beats(const Rank& a, const Rank& b) {
  if (a.from_flag != b.from_flag) return a.from_flag;
  if (a.words != b.words) return a.words > b.words;
  if (a.fewer_layers != b.fewer_layers) return a.fewer_layers > b.fewer_layers;
  return a.index > b.index;
}

struct RankedPin {
  Selector selector;
  Rank rank;
};

// The winner for one expert (or for a whole part where `expert` is absent); -1 = no pin.
int32_t Winner(const std::vector<RankedPin>& pins, const Part& part, std::optional<uint32_t> expert) {
  int32_t winner = -1;
  for (size_t i = 0; i < pins.size(); ++i) {
    if (!Touches(pins[i].selector, part)) continue;
    if (expert && !CoversExpert(pins[i].selector, *expert)) continue;
    if (winner < 0 || Beats(pins[i].rank, pins[static_cast<size_t>(winner)].rank))
      winner = static_cast<int32_t>(i);
  }
  return winner;
}

// Experts are cut at the ends of the pins' ranges, so that each piece has one winner.
void AppendExperts(const std::vector<RankedPin>& pins, const Part& part, std::vector<PinnedPart>* out) {
  std::vector<uint32_t> cuts{part.expert_begin};
  for (const RankedPin& pin : pins) {
    if (!pin.selector.experts || !Touches(pin.selector, part)) continue;
    cuts.push_back(std::max(pin.selector.experts->first, part.expert_begin));
    cuts.push_back(std::min(pin.selector.experts->last + 1, part.expert_end));
  }
  cuts.push_back(part.expert_end);
  std::sort(cuts.begin(), cuts.end());
  const size_t first_piece = out->size();
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    if (cuts[i] == cuts[i + 1]) continue;
    PinnedPart piece{part, Winner(pins, part, cuts[i])};
    piece.part.expert_begin = cuts[i];
    piece.part.expert_end = cuts[i + 1];
    if (out->size() > first_piece && out->back().pin == piece.pin) {
      out->back().part.expert_end = piece.part.expert_end;
    } else {
      out->push_back(piece);
    }
  }
}

std::string Described(const Pin& pin) {
  return (pin.origin.empty() ? "" : pin.origin + ": ") + "pin " + pin.selector + " = " + pin.device;
}

}  // namespace

StatusOr<Selector> ParseSelector(std::string_view text) {
  const std::vector<std::string> words = Split(text, 4);
  Selector selector;
  if (words[0] == "embed" || words[0] == "head") {
    if (words.size() > 1) return BadSelector(text, words[0] + " has no parts: write " + words[0]);
    selector.scope = words[0] == "embed" ? Selector::Scope::kEmbed : Selector::Scope::kHead;
    return selector;
  }
  if (words[0] != "layers") {
    return BadSelector(text, UnknownStart(words[0]));
  }
  if (words.size() < 2 || words[1].empty())
    return BadSelector(text, "which layers? Write layers.7, layers.10-19 or layers.*");
  selector.scope = Selector::Scope::kLayers;
  if (words[1] != "*") {
    MOTLEY_ASSIGN_OR_RETURN(selector.layers, ReadRange(text, words[1], "layer"));
  }
  if (words.size() == 2) return selector;
  MOTLEY_ASSIGN_OR_RETURN(selector.part, ReadKind(text, words[2]));
  if (words.size() == 3) return selector;
  if (*selector.part != PartKind::kExperts || words.size() > 4) {
    return BadSelector(text, "nothing stands behind \"" + words[2] + "\"" +
                                 (selector.part == PartKind::kExperts ? " and its range" : "") + ": write " +
                                 std::string(kForms));
  }
  if (words[3] != "*") {
    MOTLEY_ASSIGN_OR_RETURN(selector.experts, ReadRange(text, words[3], "expert"));
  }
  return selector;
}

std::string ToString(const Selector& selector) {
  const auto range = [](const Selector::Range& r) {
    return r.first == r.last ? std::to_string(r.first)
                             : std::to_string(r.first) + "-" + std::to_string(r.last);
  };
  if (selector.scope == Selector::Scope::kEmbed) return "embed";
  if (selector.scope == Selector::Scope::kHead) return "head";
  std::string text = "layers." + (selector.layers ? range(*selector.layers) : "*");
  if (selector.part) text += "." + std::string(PartKindName(*selector.part));
  if (selector.experts) text += "." + range(*selector.experts);
  return text;
}

StatusOr<std::vector<uint32_t>> MatchSelector(const Selector& selector, const PartList& model) {
  MOTLEY_RETURN_IF_ERROR(CheckRanges(selector, model));
  std::vector<uint32_t> matches;
  for (size_t i = 0; i < model.size(); ++i) {
    if (Touches(selector, model[i])) matches.push_back(static_cast<uint32_t>(i));
  }
  if (matches.empty()) return NothingMatches(selector, model);
  return matches;
}

Status CheckDeviceName(std::string_view device, std::span<const std::string> devices) {
  if (std::find(devices.begin(), devices.end(), device) != devices.end()) return OkStatus();
  std::string message = "no device " + Quote(device);
  if (devices.empty()) return NotFoundError(message + ": no device was found; motley devices says why");
  const std::string suggestion = DidYouMean(device, devices);
  if (!suggestion.empty()) return NotFoundError(message + suggestion);
  return NotFoundError(message + ": the devices are " + ListNames(devices) + "; did you mean \"" +
                       devices[0] + "\"?");
}

StatusOr<PinnedModel> ApplyPins(std::span<const Pin> pins, const PartList& model,
                                std::span<const std::string> devices) {
  PinnedModel result;
  std::vector<RankedPin> ranked;
  const uint32_t layer_count = LayerCount(model);
  for (size_t i = 0; i < pins.size(); ++i) {
    const auto selector = ParseSelector(pins[i].selector);
    if (!selector.ok()) return selector.status().WithPrefix(Described(pins[i]));
    if (Status s = CheckDeviceName(pins[i].device, devices); !s.ok()) return s.WithPrefix(Described(pins[i]));
    const auto matches = MatchSelector(*selector, model);
    if (!matches.ok()) return matches.status().WithPrefix(Described(pins[i]));
    result.matches.push_back(static_cast<uint32_t>(matches->size()));
    ranked.push_back({*selector, RankOf(pins[i], *selector, layer_count, i)});
  }
  for (const Part& part : model) {
    if (part.kind == PartKind::kExperts) {
      AppendExperts(ranked, part, &result.parts);
    } else {
      result.parts.push_back({part, Winner(ranked, part, std::nullopt)});
    }
  }
  result.deciding.assign(pins.size(), 0);
  for (const PinnedPart& part : result.parts) {
    if (part.pin >= 0) ++result.deciding[static_cast<size_t>(part.pin)];
  }
  return result;
}

}  // namespace motley
