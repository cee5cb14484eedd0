// CompiledGraph: a placed graph as programs, and the transfers between them. Made once a model, before any weight is
// loaded, so that what it will take is known first. Immutable; any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/backend/device.h"
#include "core/base/status.h"
#include "core/graph/segment_graph.h"
#include "core/plan/segments.h"

namespace motley {

struct PlacedGraph {
  const Graph* graph = nullptr;                    // outlives the compiled graph
  std::vector<Device*> devices;                    // those that are used
  std::vector<std::vector<TensorDetail>> details;  // a device, a tensor; may be empty
  std::vector<uint32_t> node_device;               // a node: index in devices
};

struct CompiledSegment {
  uint32_t device = 0;
  SegmentGraph graph;
  Program program;
  ProgramInfo info;
  std::vector<uint32_t> nodes;  // indices in the graph, ascending
};

// `tensor` goes from the device that makes it to one that reads it, right after segment `after` has made it.
struct Transfer {
  TensorId tensor = kNoTensor;
  uint32_t after = 0;
  uint32_t from = 0, to = 0;  // devices
};

class CompiledGraph {
 public:
  static StatusOr<CompiledGraph> Compile(const PlacedGraph& placed);

  const Graph& graph() const { return *graph_; }
  const std::vector<Device*>& devices() const { return devices_; }
  const std::vector<CompiledSegment>& segments() const { return segments_; }  // in an order in which they can run
  const std::vector<Transfer>& transfers() const { return transfers_; }       // in the order of `after`

  // Tensors that pass between programs or to the host, and so need memory of the host's planning on `device`.
  const std::vector<TensorId>& boundary_tensors(uint32_t device) const { return boundary_[device]; }

  // Bytes of `tensor` at the symbols' values. Elements are four bytes: f32 or i32.
  uint64_t TensorBytes(TensorId tensor, const SymbolValues& values) const;

  // For a set of slices that the programs have not been bound to before. Any thread.
  uint64_t NewBindId() const { return ++*bind_ids_; }

  // Workspace of the programs and boundary tensors of a device, at the limits.
  uint64_t work_bytes(uint32_t device) const;
  // Of the host's memory, at the limits: the outputs that are read after a step, and what goes from plugin to plugin.
  uint64_t host_bytes() const;
  uint64_t workspace_bytes(uint32_t device) const { return workspace_[device]; }
  uint64_t workspace_alignment(uint32_t device) const { return workspace_alignment_[device]; }

 private:
  const Graph* graph_ = nullptr;
  std::vector<Device*> devices_;
  std::vector<CompiledSegment> segments_;
  std::vector<Transfer> transfers_;
  std::vector<std::vector<TensorId>> boundary_;
  std::vector<uint64_t> workspace_, workspace_alignment_;
  std::unique_ptr<std::atomic<uint64_t>> bind_ids_ = std::make_unique<std::atomic<uint64_t>>(0);
};

}  // namespace motley
