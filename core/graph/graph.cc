#include "core/graph/graph.h"

namespace motley {
namespace {

std::string DimsText(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims[i] >= 0 ? std::to_string(dims[i]) : std::string(SymbolName(static_cast<Symbol>(~dims[i])));
  }
  return text + "]";
}

// Where a tensor is named: weights and step data by name, what nodes make by number.
std::string Reference(const Graph& graph, TensorId id) {
  if (id == kNoTensor) return "-";
  const Tensor& tensor = graph.tensors[id];
  if (tensor.role == Role::kTemp || tensor.role == Role::kOutput) return "%" + std::to_string(id);
  std::string text = "@" + tensor.name;
  if (tensor.role == Role::kWeight) text += " " + std::string(FormatName(tensor.format)) + DimsText(tensor.dims);
  return text;
}

std::string AttrText(const Attr& attr) {
  const std::string value = std::holds_alternative<int64_t>(attr.value)
                                ? std::to_string(std::get<int64_t>(attr.value))
                                : std::to_string(std::get<double>(attr.value));
  return std::string(attr.name) + "=" + value;
}

std::string NodeLine(const Graph& graph, const Node& node) {
  std::string line;
  for (TensorId id : node.out) {
    line += "%" + std::to_string(id) + " " + std::string(FormatName(graph.tensors[id].format)) +
            DimsText(graph.tensors[id].dims) + " ";
  }
  line += "= " + std::string(FindOp(static_cast<uint32_t>(node.op))->name) + "(";
  for (size_t i = 0; i < node.in.size(); ++i) line += (i > 0 ? ", " : "") + Reference(graph, node.in[i]);
  line += ")";
  for (const Attr& attr : node.attrs) line += " " + AttrText(attr);
  return line + "  # " + node.name + "\n";
}

}  // namespace

std::string_view SymbolName(Symbol symbol) {
  switch (symbol) {
    case Symbol::kTokens: return "n_tokens";
    case Symbol::kSeqs: return "n_seqs";
    case Symbol::kOut: return "n_out";
    case Symbol::kPages: return "n_pages";
    case Symbol::kStarts: return "n_starts";
  }
  return "?";
}

int64_t ElementCount(const Tensor& tensor, const SymbolValues& values) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims) count *= Extent(dim, values);
  return count;
}

std::string Print(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += NodeLine(graph, node);
  return text;
}

}  // namespace motley
