// Graph: the model for one step, nodes of the op table over tensors with named dims. Built once a model by
// GraphBuilder, then immutable; any thread may read it.
#pragma once

#include <motley/op_schema.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/graph/part.h"
#include "core/tensor/format.h"

namespace motley {

using TensorId = uint32_t;
inline constexpr TensorId kNoTensor = MOTLEY_NO_TENSOR;

enum class Role : uint32_t {
  kInput = MOTLEY_ROLE_INPUT,
  kOutput = MOTLEY_ROLE_OUTPUT,
  kWeight = MOTLEY_ROLE_WEIGHT,
  kState = MOTLEY_ROLE_STATE,
  kStep = MOTLEY_ROLE_STEP,
  kTemp = MOTLEY_ROLE_TEMP,
};

// Dims that change from step to step; a tensor's dim < 0 is the symbol ~dim, as in motley_tensor.
enum class Symbol : uint32_t {
  kTokens = MOTLEY_DIM_N_TOKENS,
  kSeqs = MOTLEY_DIM_N_SEQS,
  kOut = MOTLEY_DIM_N_OUT,
  kPages = MOTLEY_DIM_N_PAGES,
  kStarts = MOTLEY_DIM_N_STARTS,
};
inline constexpr uint32_t kSymbolCount = MOTLEY_DIM_COUNT;
using SymbolValues = std::array<int64_t, kSymbolCount>;  // one step's extents

constexpr int64_t DimOf(Symbol symbol) { return ~static_cast<int64_t>(symbol); }
std::string_view SymbolName(Symbol symbol);

// The extent of a dim, its symbol replaced by its value.
constexpr int64_t Extent(int64_t dim, const SymbolValues& values) {
  return dim >= 0 ? dim : values[static_cast<size_t>(~dim)];
}

struct Tensor {
  std::string name;
  Format format = Format::kF32;  // activations F32, ids I32, STATE U8
  Role role = Role::kTemp;
  std::vector<int64_t> dims;     // outermost first
};

// Elements of `tensor` with its symbols replaced. Dims are positive and their product was checked when it was built.
int64_t ElementCount(const Tensor& tensor, const SymbolValues& values);

struct Attr {
  std::string_view name;  // of the op table: static
  std::variant<int64_t, double> value;
};

struct Node {
  Op op = Op::kADD;
  std::vector<TensorId> in, out;  // in the op table's order; absent = kNoTensor
  std::vector<Attr> attrs;
  Part part;
  std::string name;               // "layers.3.attention.q"
};

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;        // in an order in which they can run
  SymbolValues max{};             // the largest extent of each symbol
};

// One line a node: "%7 f32[n_tokens, 576] = linear(%5, @blk.0.attn_q.weight Q4_1[576, 576])".
std::string Print(const Graph& graph);

}  // namespace motley
