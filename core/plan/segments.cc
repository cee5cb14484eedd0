#include "core/plan/segments.h"

#include <algorithm>

namespace motley {
namespace {

constexpr uint32_t kNone = ~0u;

// Segments while they grow. before[s]: the segments whose outputs s reads.
struct Cutter {
  std::vector<Segment> segments;
  std::vector<std::vector<uint32_t>> before;

  // Does `later` read, through any chain, what `earlier` makes?
  bool DependsOn(uint32_t later, uint32_t earlier) const {
    std::vector<bool> seen(segments.size(), false);
    std::vector<uint32_t> open = {later};
    while (!open.empty()) {
      const uint32_t s = open.back();
      open.pop_back();
      if (s == earlier) return true;
      if (seen[s]) continue;
      seen[s] = true;
      open.insert(open.end(), before[s].begin(), before[s].end());
    }
    return false;
  }

  // A node that reads `sources` may join s unless one of them depends on s: then s would wait for itself.
  bool MayJoin(uint32_t s, std::span<const uint32_t> sources) const {
    return std::none_of(sources.begin(), sources.end(),
                        [&](uint32_t source) { return source != s && DependsOn(source, s); });
  }
};

std::vector<uint32_t> TopologicalOrder(const Cutter& cutter) {
  std::vector<uint32_t> order;
  std::vector<bool> done(cutter.segments.size(), false);
  while (order.size() < cutter.segments.size()) {
    for (uint32_t s = 0; s < cutter.segments.size(); ++s) {
      const auto& before = cutter.before[s];
      if (done[s] || !std::all_of(before.begin(), before.end(), [&](uint32_t b) { return done[b]; })) continue;
      done[s] = true;
      order.push_back(s);
    }
  }
  return order;
}

}  // namespace

std::vector<Segment> CutSegments(const Graph& graph, std::span<const uint32_t> node_device) {
  Cutter cutter;
  std::vector<uint32_t> made_in(graph.tensors.size(), kNone);  // segment that makes a tensor
  std::vector<uint32_t> last_of;                               // a device's newest segment
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const uint32_t device = node_device[n];
    if (device >= last_of.size()) last_of.resize(device + 1, kNone);

    std::vector<uint32_t> sources;
    for (TensorId id : graph.nodes[n].in) {
      if (id != kNoTensor && made_in[id] != kNone) sources.push_back(made_in[id]);
    }
    uint32_t s = last_of[device];
    if (s == kNone || !cutter.MayJoin(s, sources)) {
      s = static_cast<uint32_t>(cutter.segments.size());
      cutter.segments.push_back({device, {}});
      cutter.before.emplace_back();
      last_of[device] = s;
    }
    cutter.segments[s].nodes.push_back(n);
    for (uint32_t source : sources) {
      auto& before = cutter.before[s];
      if (source != s && std::find(before.begin(), before.end(), source) == before.end()) before.push_back(source);
    }
    for (TensorId id : graph.nodes[n].out) made_in[id] = s;
  }

  std::vector<Segment> ordered;
  for (uint32_t s : TopologicalOrder(cutter)) ordered.push_back(std::move(cutter.segments[s]));
  return ordered;
}

}  // namespace motley
