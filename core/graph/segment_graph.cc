#include "core/graph/segment_graph.h"

namespace motley {
namespace {

motley_str ToAbi(std::string_view text) { return {text.data(), text.size()}; }

template <typename T>
motley_span ToAbi(const std::vector<T>& items) {
  return {items.data(), items.size(), static_cast<uint32_t>(sizeof(T)), 0};
}

motley_value ToAbi(const Attr& attr) {
  motley_value value{ToAbi(attr.name), MOTLEY_TYPE_I64, 0, {}};
  if (const double* real = std::get_if<double>(&attr.value)) {
    value.type = MOTLEY_TYPE_F64;
    value.u.f = *real;
  } else {
    value.u.i = std::get<int64_t>(attr.value);
  }
  return value;
}

// For each tensor: how many nodes of `graph` read it.
std::vector<uint32_t> CountReaders(const Graph& graph, std::span<const uint32_t> nodes) {
  std::vector<uint32_t> readers(graph.tensors.size(), 0);
  for (uint32_t n : nodes) {
    for (TensorId id : graph.nodes[n].in) {
      if (id != kNoTensor) ++readers[id];
    }
  }
  return readers;
}

}  // namespace

SegmentGraph::SegmentGraph(const Graph& graph, std::span<const uint32_t> nodes,
                           std::span<const TensorDetail> details)
    : local_of_(graph.tensors.size(), MOTLEY_NO_TENSOR) {
  std::vector<uint32_t> all(graph.nodes.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  const std::vector<uint32_t> readers = CountReaders(graph, all);
  const std::vector<uint32_t> readers_here = CountReaders(graph, nodes);
  std::vector<bool> made_here(graph.tensors.size(), false);
  for (uint32_t n : nodes) {
    for (TensorId id : graph.nodes[n].out) made_here[id] = true;
  }

  names_.reserve(graph.tensors.size());
  auto append_ref = [&](TensorId id) {
    refs_.push_back(id == kNoTensor ? MOTLEY_NO_TENSOR : LocalTensor(graph, id, details));
  };
  for (uint32_t n : nodes) {
    const Node& node = graph.nodes[n];
    motley_node flat{};
    flat.op = static_cast<uint32_t>(node.op);
    flat.version = FindOp(flat.op)->version;
    flat.in = static_cast<uint32_t>(refs_.size());
    flat.in_count = static_cast<uint32_t>(node.in.size());
    for (TensorId id : node.in) append_ref(id);
    flat.out = static_cast<uint32_t>(refs_.size());
    flat.out_count = static_cast<uint32_t>(node.out.size());
    for (TensorId id : node.out) append_ref(id);
    flat.attr = static_cast<uint32_t>(attrs_.size());
    flat.attr_count = static_cast<uint32_t>(node.attrs.size());
    for (const Attr& attr : node.attrs) attrs_.push_back(ToAbi(attr));
    nodes_.push_back(flat);
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorId id = tensor_ids_[i];
    const Role role = graph.tensors[id].role;
    if (role != Role::kTemp && role != Role::kOutput) continue;
    Role here = Role::kTemp;
    if (!made_here[id]) here = Role::kInput;
    else if (role == Role::kOutput || readers[id] != readers_here[id]) here = Role::kOutput;
    tensors_[i].role = static_cast<uint32_t>(here);
  }
  for (uint32_t s = 0; s < kSymbolCount; ++s) {
    dims_.push_back({ToAbi(SymbolName(static_cast<Symbol>(s))), 0, graph.max[s]});
  }
  view_ = {sizeof(motley_graph), 0, ToAbi(tensors_), ToAbi(nodes_), ToAbi(refs_), ToAbi(attrs_), ToAbi(dims_)};
}

uint32_t SegmentGraph::LocalTensor(const Graph& graph, TensorId id, std::span<const TensorDetail> details) {
  if (local_of_[id] != MOTLEY_NO_TENSOR) return local_of_[id];
  const Tensor& tensor = graph.tensors[id];
  names_.push_back(tensor.name);
  motley_tensor flat{};
  flat.dtype = static_cast<uint32_t>(tensor.format);
  flat.role = static_cast<uint32_t>(tensor.role);
  flat.rank = static_cast<int32_t>(tensor.dims.size());
  for (size_t d = 0; d < tensor.dims.size(); ++d) flat.dims[d] = tensor.dims[d];
  flat.name = ToAbi(names_.back());
  if (!details.empty()) {
    flat.layout = details[id].layout;
    if (tensor.role == Role::kState && details[id].state_page_bytes > 0) {
      flat.dims[tensor.dims.size() - 1] = details[id].state_page_bytes;
    }
  }
  local_of_[id] = static_cast<uint32_t>(tensors_.size());
  tensors_.push_back(flat);
  tensor_ids_.push_back(id);
  return local_of_[id];
}

}  // namespace motley
