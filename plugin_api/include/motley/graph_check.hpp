// A motley_graph, checked and copied: ids in range, known ops, formats, roles and attributes, shapes by the
// op table, every TEMP and OUTPUT written once, before it is read. Garbage becomes a Fault, never a crash.
//
//   CheckedGraph graph;
//   MOTLEY_TRY(CheckGraph(abi_graph, &graph));      // structure; node.fault says what is wrong with one node
//   MOTLEY_TRY(graph.FirstFault());                 // compile: all nodes must be right
#pragma once

#include <motley/formats.hpp>
#include <motley/op_schema.hpp>
#include <motley/plugin.hpp>

#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace motley::plugin {

struct GraphTensor {
  std::string name;
  uint32_t dtype = 0, role = 0, layout = 0;
  std::vector<int64_t> dims;  // < 0 is the symbol ~dim
};

struct GraphAttr {
  std::string name;
  uint32_t type = 0;
  int64_t i = 0;
  double f = 0;
};

struct GraphNode {
  uint32_t op = 0;
  const OpSchema* schema = nullptr;  // nullptr where the op is unknown
  std::vector<uint32_t> in, out;     // tensor ids; MOTLEY_NO_TENSOR = absent
  std::vector<GraphAttr> attrs;
  Fault fault;  // not ok: an unknown op, a wrong shape, ...; the rest of the graph may be right

  bool Has(size_t operand) const { return in[operand] != MOTLEY_NO_TENSOR; }
  // Only for attributes of the op's row, on a node without a fault.
  int64_t I64(std::string_view attr) const {
    for (const GraphAttr& a : attrs) {
      if (a.name == attr) return a.i;
    }
    return 0;
  }
  double F64(std::string_view attr) const {
    for (const GraphAttr& a : attrs) {
      if (a.name == attr) return a.f;
    }
    return 0;
  }
};

struct GraphDim {
  std::string name;
  int64_t min = 0, max = 0;
};

struct CheckedGraph {
  std::vector<GraphTensor> tensors;
  std::vector<GraphNode> nodes;
  std::vector<GraphDim> dims;

  static int64_t Extent(int64_t dim, std::span<const int64_t> at) {
    return dim >= 0 ? dim : at[static_cast<size_t>(~dim)];
  }
  // Bytes as stored, at these values of the symbols (each at most its max: then it fits).
  uint64_t Bytes(uint32_t tensor, std::span<const int64_t> at) const {
    const GraphTensor& t = tensors[tensor];
    const FormatRow& row = *FindFormatRow(t.dtype);
    uint64_t bytes = RowBytes(row, Extent(t.dims.back(), at));
    for (size_t i = 0; i + 1 < t.dims.size(); ++i) bytes *= static_cast<uint64_t>(Extent(t.dims[i], at));
    return bytes;
  }
  std::vector<int64_t> MaxDims() const {
    std::vector<int64_t> at;
    for (const GraphDim& dim : dims) at.push_back(dim.max);
    return at;
  }
  // The values that a host gives for the symbols, held against their ranges.
  Fault CheckDims(const int64_t* at, uint64_t n) const {
    if (n != dims.size()) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%llu dims given, the graph has %zu",
                  static_cast<unsigned long long>(n), dims.size());
    }
    if (!at) return Fail(MOTLEY_INVALID_ARGUMENT, "dims is NULL");
    for (size_t i = 0; i < n; ++i) {
      if (at[i] < dims[i].min || at[i] > dims[i].max) {
        return Fail(MOTLEY_INVALID_ARGUMENT, "dim %s = %lld: must be %lld..%lld", dims[i].name.c_str(),
                    static_cast<long long>(at[i]), static_cast<long long>(dims[i].min),
                    static_cast<long long>(dims[i].max));
      }
    }
    return {};
  }
  Fault FirstFault() const {
    for (const GraphNode& node : nodes) {
      if (!node.fault.ok()) return node.fault;
    }
    return {};
  }
};

inline Fault CheckGraph(const motley_graph* graph, CheckedGraph* out);

// ---- below: how
// ---------------------------------------------------------------------------------------------

namespace graph_check {

inline Fault CopyDims(motley_span span, CheckedGraph* out) {
  MOTLEY_TRY(CheckSpan<motley_dim>(span, "graph.dims", 4096));
  if (span.count < MOTLEY_DIM_COUNT) {
    return Fail(MOTLEY_INVALID_ARGUMENT,
                "graph.dims has %llu symbols: the first %u are the same in every graph",
                static_cast<unsigned long long>(span.count), MOTLEY_DIM_COUNT);
  }
  for (const motley_dim dim : SpanView<motley_dim>(span)) {
    if (dim.min < 0 || dim.max < dim.min || dim.max > (1ll << 40)) {
      return Fail(MOTLEY_INVALID_ARGUMENT,
                  "graph.dims[%zu]: the range %lld..%lld is empty, negative or too large", out->dims.size(),
                  static_cast<long long>(dim.min), static_cast<long long>(dim.max));
    }
    out->dims.push_back({std::string(View(dim.name)), dim.min, dim.max});
  }
  return {};
}

inline Fault CheckStrides(const motley_tensor& t, size_t id) {
  int64_t dense = 1;
  for (int32_t i = t.rank - 1; i >= 0; --i) {
    if (t.strides[i] != 0 && t.strides[i] != dense) {
      return Fail(MOTLEY_UNIMPLEMENTED, "tensor %zu: stride %lld in dim %d: only dense tensors", id,
                  static_cast<long long>(t.strides[i]), i);
    }
    // Behind a symbol only "0 = dense" can be said.
    if (t.dims[i] < 0 || __builtin_mul_overflow(dense, t.dims[i], &dense)) dense = 0;
  }
  return {};
}

inline Fault CopyTensor(const motley_tensor& t, CheckedGraph* out) {
  const size_t id = out->tensors.size();
  const FormatRow* row = FindFormatRow(t.dtype);
  if (!row) return Fail(MOTLEY_UNIMPLEMENTED, "tensor %zu: format %u is unknown", id, t.dtype);
  if (t.role < MOTLEY_ROLE_INPUT || t.role > MOTLEY_ROLE_TEMP) {
    return Fail(MOTLEY_UNIMPLEMENTED, "tensor %zu: role %u is unknown", id, t.role);
  }
  if (t.rank < 1 || t.rank > MOTLEY_MAX_RANK) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "tensor %zu: rank %d: must be 1..%d", id, t.rank, MOTLEY_MAX_RANK);
  }
  GraphTensor copy{std::string(View(t.name)), t.dtype, t.role, t.layout, {}};
  std::vector<int64_t> largest;
  for (int32_t i = 0; i < t.rank; ++i) {
    const int64_t dim = t.dims[i];
    if (dim == 0 || (dim < 0 && static_cast<uint64_t>(~dim) >= out->dims.size())) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "tensor %zu: dim %d is %lld: neither an extent nor a known symbol",
                  id, i, static_cast<long long>(dim));
    }
    copy.dims.push_back(dim);
    largest.push_back(dim > 0 ? dim : out->dims[static_cast<size_t>(~dim)].max);
  }
  if (row->block_elems > 1 && copy.dims.back() < 0) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "tensor %zu: a symbol cannot be the last dim of format %s", id,
                row->name);
  }
  MOTLEY_TRY(CheckStrides(t, id));
  uint64_t bytes = 0;
  if (Fault fault = TensorBytes(t.dtype, largest.data(), static_cast<uint32_t>(t.rank), &bytes);
      !fault.ok()) {
    return Fail(fault.code, "tensor %zu (%s): %s", id, copy.name.c_str(), fault.text.c_str());
  }
  out->tensors.push_back(std::move(copy));
  return {};
}

inline Fault CopyRefs(const motley_graph& graph, uint32_t begin, uint32_t count, size_t node,
                      const char* what, size_t n_tensors, std::vector<uint32_t>* out) {
  if (static_cast<uint64_t>(begin) + count > graph.refs.count) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "node %zu: %s [%u, +%u) is outside graph.refs (%llu)", node, what,
                begin, count, static_cast<unsigned long long>(graph.refs.count));
  }
  const SpanView<uint32_t> refs(graph.refs);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t id = refs[begin + i];
    if (id != MOTLEY_NO_TENSOR && id >= n_tensors) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "node %zu: %s %u is tensor %u, the graph has %zu", node, what, i,
                  id, n_tensors);
    }
    out->push_back(id);
  }
  return {};
}

inline Fault CopyNode(const motley_graph& graph, const motley_node& in, CheckedGraph* out) {
  const size_t id = out->nodes.size();
  GraphNode node;
  node.op = in.op;
  node.schema = FindOp(in.op);
  MOTLEY_TRY(CopyRefs(graph, in.in, in.in_count, id, "input", out->tensors.size(), &node.in));
  MOTLEY_TRY(CopyRefs(graph, in.out, in.out_count, id, "output", out->tensors.size(), &node.out));
  if (static_cast<uint64_t>(in.attr) + in.attr_count > graph.attrs.count) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "node %zu: attrs [%u, +%u) are outside graph.attrs (%llu)", id,
                in.attr, in.attr_count, static_cast<unsigned long long>(graph.attrs.count));
  }
  const SpanView<motley_value> attrs(graph.attrs);
  for (uint32_t i = 0; i < in.attr_count; ++i) {
    const motley_value value = attrs[in.attr + i];
    if (value.reserved != 0)
      return Fail(MOTLEY_INVALID_ARGUMENT, "node %zu: attr %u: reserved is not 0", id, i);
    GraphAttr attr{std::string(View(value.name)), value.type, 0, 0};
    if (value.type == MOTLEY_TYPE_I64 || value.type == MOTLEY_TYPE_BOOL) attr.i = value.u.i;
    if (value.type == MOTLEY_TYPE_F64) attr.f = value.u.f;
    node.attrs.push_back(std::move(attr));
  }
  if (!node.schema) {
    node.fault = Fail(MOTLEY_UNIMPLEMENTED, "op %u is unknown", in.op);
  } else if (node.schema->version != in.version) {
    node.fault = Fail(MOTLEY_UNIMPLEMENTED, "%.*s version %u: this plugin has %u",
                      MOTLEY_TEXT(node.schema->name), in.version, node.schema->version);
  }
  node.fault.node = static_cast<int64_t>(id);
  out->nodes.push_back(std::move(node));
  return {};
}

// Written once, before it is read, and only TEMP and OUTPUT.
inline Fault CheckFlow(const CheckedGraph& graph) {
  std::vector<char> written(graph.tensors.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const uint32_t id : graph.nodes[n].in) {
      if (id == MOTLEY_NO_TENSOR) continue;
      const GraphTensor& t = graph.tensors[id];
      if ((t.role == MOTLEY_ROLE_TEMP || t.role == MOTLEY_ROLE_OUTPUT) && !written[id]) {
        return Fail(MOTLEY_INVALID_ARGUMENT, "node %zu reads tensor %u (%s), which nothing has written", n,
                    id, t.name.c_str());
      }
    }
    for (const uint32_t id : graph.nodes[n].out) {
      if (id == MOTLEY_NO_TENSOR) continue;
      const GraphTensor& t = graph.tensors[id];
      if (t.role != MOTLEY_ROLE_TEMP && t.role != MOTLEY_ROLE_OUTPUT) {
        return Fail(MOTLEY_INVALID_ARGUMENT, "node %zu writes tensor %u (%s), whose role is %u", n, id,
                    t.name.c_str(), t.role);
      }
      if (written[id]) {
        return Fail(MOTLEY_INVALID_ARGUMENT, "node %zu writes tensor %u (%s) a second time", n, id,
                    t.name.c_str());
      }
      written[id] = 1;
    }
  }
  for (size_t id = 0; id < written.size(); ++id) {
    if (graph.tensors[id].role == MOTLEY_ROLE_OUTPUT && !written[id]) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "tensor %zu (%s) is an output that nothing writes", id,
                  graph.tensors[id].name.c_str());
    }
  }
  return {};
}

inline Fault CheckKind(const GraphTensor& t, const OperandSchema& operand) {
  const auto wrong = [&](const char* needs) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "%.*s: needs %s, has format %s and role %u",
                MOTLEY_TEXT(operand.name), needs, FindFormatRow(t.dtype)->name, t.role);
  };
  const bool data = t.role != MOTLEY_ROLE_WEIGHT && t.role != MOTLEY_ROLE_STATE;
  switch (operand.kind) {
    case OperandKind::kF32: return data && t.dtype == format_id::kF32 ? Fault() : wrong("F32 data");
    case OperandKind::kI32: return data && t.dtype == format_id::kI32 ? Fault() : wrong("I32 data");
    case OperandKind::kWEIGHT: return t.role == MOTLEY_ROLE_WEIGHT ? Fault() : wrong("a weight");
    case OperandKind::kVECTOR: return t.role == MOTLEY_ROLE_WEIGHT ? Fault() : wrong("a weight of rank 1");
    case OperandKind::kSTATE:
      return t.role == MOTLEY_ROLE_STATE && t.dtype == format_id::kU8 ? Fault() : wrong("U8 state");
  }
  return Fault();
}

inline Fault CheckAttrs(const GraphNode& node, ShapeBinding* binding) {
  for (size_t i = 0; i < node.attrs.size(); ++i) {
    const GraphAttr& attr = node.attrs[i];
    const AttrSchema* row = nullptr;
    for (const AttrSchema& a : node.schema->attrs) {
      if (a.name == attr.name) row = &a;
    }
    if (!row) return Fail(MOTLEY_UNIMPLEMENTED, "attribute %s is unknown", attr.name.c_str());
    for (size_t j = 0; j < i; ++j) {
      if (node.attrs[j].name == attr.name)
        return Fail(MOTLEY_INVALID_ARGUMENT, "attribute %s twice", attr.name.c_str());
    }
    if (attr.type != row->type) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "attribute %s has type %u, must have %u", attr.name.c_str(),
                  attr.type, row->type);
    }
    if (attr.type == MOTLEY_TYPE_F64 && !std::isfinite(attr.f)) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "attribute %s is not finite", attr.name.c_str());
    }
    if (attr.type == MOTLEY_TYPE_I64) {
      if (attr.i < 0 || attr.i > (1ll << 40)) {
        return Fail(MOTLEY_INVALID_ARGUMENT, "attribute %s = %lld: negative or too large", attr.name.c_str(),
                    static_cast<long long>(attr.i));
      }
      binding->BindName(row->name, attr.i);
    }
  }
  if (node.attrs.size() == node.schema->attrs.size()) return {};
  for (const AttrSchema& row : node.schema->attrs) {
    bool found = false;
    for (const GraphAttr& attr : node.attrs) found = found || attr.name == row.name;
    if (!found) return Fail(MOTLEY_INVALID_ARGUMENT, "attribute %.*s is missing", MOTLEY_TEXT(row.name));
  }
  return {};
}

inline Fault CheckOperands(const CheckedGraph& graph, const std::vector<uint32_t>& ids,
                           const std::vector<OperandSchema>& rows, const char* what, ShapeBinding* binding) {
  if (ids.size() != rows.size()) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "%zu %ss, needs %zu", ids.size(), what, rows.size());
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (ids[i] == MOTLEY_NO_TENSOR) {
      if (rows[i].optional) continue;
      return Fail(MOTLEY_INVALID_ARGUMENT, "%s %.*s is missing", what, MOTLEY_TEXT(rows[i].name));
    }
    const GraphTensor& t = graph.tensors[ids[i]];
    MOTLEY_TRY(CheckKind(t, rows[i]));
    const std::string wrong = binding->Bind(rows[i].shape, t.dims);
    if (!wrong.empty()) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "%.*s: %s", MOTLEY_TEXT(rows[i].name), wrong.c_str());
    }
  }
  return {};
}

// What the shapes of attention's row cannot say.
inline Fault CheckAttention(const CheckedGraph& graph, const GraphNode& node) {
  const int64_t n_heads = node.I64("n_heads"), n_kv_heads = node.I64("n_kv_heads");
  const int64_t head_dim = node.I64("head_dim"), rotary_dim = node.I64("rotary_dim");
  if (n_heads < 1 || n_kv_heads < 1 || n_heads % n_kv_heads != 0) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "n_heads = %lld is no multiple of n_kv_heads = %lld",
                static_cast<long long>(n_heads), static_cast<long long>(n_kv_heads));
  }
  if (rotary_dim % 2 != 0 || rotary_dim > head_dim) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "rotary_dim = %lld: must be even and at most head_dim = %lld",
                static_cast<long long>(rotary_dim), static_cast<long long>(head_dim));
  }
  const int64_t rope_columns = graph.tensors[node.in[7]].dims[2];
  // A rope of no columns cannot be told as a dim; with rotary_dim 0 its contents are not read.
  if (rope_columns != rotary_dim / 2 && rotary_dim != 0) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "rope has %lld columns, rotary_dim / 2 = %lld",
                static_cast<long long>(rope_columns), static_cast<long long>(rotary_dim / 2));
  }
  if (node.I64("rope_style") > 1) {
    return Fail(MOTLEY_UNIMPLEMENTED, "rope_style %lld is unknown",
                static_cast<long long>(node.I64("rope_style")));
  }
  if (node.I64("page_tokens") < 1 || node.I64("page_tokens") > (1 << 20)) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "page_tokens = %lld: must be 1..%d",
                static_cast<long long>(node.I64("page_tokens")), 1 << 20);
  }
  const auto largest = [&](size_t operand, size_t axis) {
    const int64_t dim = graph.tensors[node.in[operand]].dims[axis];
    return dim >= 0 ? dim : graph.dims[static_cast<size_t>(~dim)].max;
  };
  const int64_t page_limit = 0x7fffffff / node.I64("page_tokens");
  if (largest(11, 1) > page_limit || largest(13, 0) > page_limit) {
    return Fail(MOTLEY_INVALID_ARGUMENT,
                "%lld pages a sequence, %lld in all, of %lld tokens: positions and slots are i32",
                static_cast<long long>(largest(11, 1)), static_cast<long long>(largest(13, 0)),
                static_cast<long long>(node.I64("page_tokens")));
  }
  if (!FindFormatRow(static_cast<uint32_t>(node.I64("kv_format")))) {
    return Fail(MOTLEY_UNIMPLEMENTED, "kv_format %lld is unknown",
                static_cast<long long>(node.I64("kv_format")));
  }
  return {};
}

inline Fault CheckNode(const CheckedGraph& graph, const GraphNode& node) {
  ShapeBinding binding;
  MOTLEY_TRY(CheckAttrs(node, &binding));
  MOTLEY_TRY(CheckOperands(graph, node.in, node.schema->inputs, "input", &binding));
  MOTLEY_TRY(CheckOperands(graph, node.out, node.schema->outputs, "output", &binding));
  if (node.schema->op == Op::kATTENTION) MOTLEY_TRY(CheckAttention(graph, node));
  return {};
}

}  // namespace graph_check

inline Fault CheckGraph(const motley_graph* abi, CheckedGraph* out) {
  *out = {};
  motley_graph graph{};
  MOTLEY_TRY(ReadStruct(abi, "motley_graph", &graph));
  if (graph.reserved != 0)
    return Fail(MOTLEY_INVALID_ARGUMENT, "motley_graph.reserved = %u: must be 0", graph.reserved);
  MOTLEY_TRY(CheckSpan<motley_tensor>(graph.tensors, "graph.tensors"));
  MOTLEY_TRY(CheckSpan<motley_node>(graph.nodes, "graph.nodes"));
  MOTLEY_TRY(CheckSpan<uint32_t>(graph.refs, "graph.refs"));
  MOTLEY_TRY(CheckSpan<motley_value>(graph.attrs, "graph.attrs"));
  MOTLEY_TRY(graph_check::CopyDims(graph.dims, out));
  for (const motley_tensor t : SpanView<motley_tensor>(graph.tensors))
    MOTLEY_TRY(graph_check::CopyTensor(t, out));
  for (const motley_node n : SpanView<motley_node>(graph.nodes))
    MOTLEY_TRY(graph_check::CopyNode(graph, n, out));
  MOTLEY_TRY(graph_check::CheckFlow(*out));
  for (size_t i = 0; i < out->nodes.size(); ++i) {
    GraphNode& node = out->nodes[i];
    if (!node.fault.ok()) continue;
    Fault fault = graph_check::CheckNode(*out, node);
    if (fault.ok()) continue;
    node.fault = Fail(fault.code, "%.*s: %s", MOTLEY_TEXT(node.schema->name), fault.text.c_str());
    node.fault.node = static_cast<int64_t>(i);
  }
  return {};
}

}  // namespace motley::plugin
