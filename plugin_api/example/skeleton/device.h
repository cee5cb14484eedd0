// What the plugin's files share: the device (device.cc) and the ops that it runs (ops.cc).
//
// An output row is a function of its own row and the weights alone, bit for bit: whatever the batch and the
// threads.
#pragma once

#include <motley/host_device.hpp>

namespace vendor {

using motley::Op;
using motley::OperandKind;
using motley::plugin::CheckedGraph;
using motley::plugin::Fail;
using motley::plugin::Fault;
using motley::plugin::GraphNode;
using motley::plugin::Team;

// A device with `threads` of the host's threads; RESOURCE_EXHAUSTED where the host has fewer.
Fault OpenDevice(const motley_host* host, uint32_t threads, std::unique_ptr<motley::plugin::HostDevice>* out);

// A node and what it runs on: dense tensors, row-major.
struct NodeRun {
  const CheckedGraph& graph;
  const GraphNode& node;
  const motley::plugin::RunArgs& args;
  Team& team;

  int64_t Rows(uint32_t tensor) const { return args.Extent(graph.tensors[tensor].dims[0]); }  // of this step
  int64_t Columns(uint32_t tensor) const { return graph.tensors[tensor].dims.back(); }
};

// UNIMPLEMENTED, with the text that is printed, where the device does not run the node.
Fault CheckNode(const CheckedGraph& graph, const GraphNode& node);
// Bytes that the node needs besides its tensors, with a team of `threads`.
uint64_t ScratchBytes(const CheckedGraph& graph, const GraphNode& node, uint32_t threads);
// A fault poisons the step.
Fault RunNode(const NodeRun& run);

}  // namespace vendor
