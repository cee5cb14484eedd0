// The ops of motley/op_table.inc, one function each: scalar, portable, accumulated in double.
//
// Every output row is a function of its own row, the weights and its own cache alone, bitwise: sums run in
// one fixed order, whatever the batch and the number of threads.
#pragma once

#include <motley/graph_check.hpp>
#include <motley/run_args.hpp>

namespace motley::ref {

// Layouts of KV pages, values of the cache's format. Page bytes are rounded up to kPageAlignment.
//   kTokensFirst: K [page_tokens, n_kv_heads, k_dim], then V [page_tokens, n_kv_heads, v_dim]
//   kHeadsFirst:  V [n_kv_heads, page_tokens, v_dim], then K [n_kv_heads, page_tokens, k_dim] (for tests:
//   unlike ref's)
inline constexpr uint32_t kTokensFirst = 1, kHeadsFirst = 2;
inline constexpr uint64_t kPageAlignment = 64;

// Everything that a node runs on. The step data are not checked yet: each op does so before it uses them.
struct NodeRun {
  const plugin::CheckedGraph* graph;
  const plugin::GraphNode* node;
  const plugin::RunArgs* args;
  plugin::Team* team;

  int64_t Rows(uint32_t tensor) const { return args->Extent(graph->tensors[tensor].dims[0]); }
  int64_t Columns(uint32_t tensor) const { return graph->tensors[tensor].dims.back(); }
  const plugin::GraphTensor& Tensor(uint32_t id) const { return graph->tensors[id]; }
  template <class T>
  T* In(size_t operand) const {
    return args->As<T>(node->in[operand]);
  }
  template <class T>
  T* Out(size_t operand) const {
    return args->As<T>(node->out[operand]);
  }
};

plugin::Fault Embed(const NodeRun& run);
plugin::Fault RmsNorm(const NodeRun& run);
plugin::Fault Linear(const NodeRun& run);
plugin::Fault Attention(const NodeRun& run);
plugin::Fault Swiglu(const NodeRun& run);
plugin::Fault Add(const NodeRun& run);
plugin::Fault GatherRows(const NodeRun& run);

// Runs one node by its op.
plugin::Fault RunNode(const NodeRun& run);

// Whether these ops read the node's formats; the fault's text is the verdict's.
plugin::Fault CheckFormats(const plugin::CheckedGraph& graph, const plugin::GraphNode& node);
// For compile: weights of rank >= 2 as stored or scaled, vectors in F32, pages in `kv_layout`.
plugin::Fault CheckLayouts(const plugin::CheckedGraph& graph, const plugin::GraphNode& node,
                           uint32_t kv_layout);

// Bytes of scratch at the dims' max, for a team of `threads`.
uint64_t ScratchBytes(const plugin::CheckedGraph& graph, const plugin::GraphNode& node, uint32_t threads);
// Bytes of weights and cache that the node reads at these dims.
uint64_t ReadBytes(const plugin::CheckedGraph& graph, const plugin::GraphNode& node, const int64_t* at);

plugin::Fault PlanKv(const motley_kv_desc& desc, uint32_t layout, motley_kv_plan* plan);

}  // namespace motley::ref
