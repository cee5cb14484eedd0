#include "core/graph/builder.h"

#include "core/base/checked.h"

namespace motley {
namespace {

// "" or why `tensor` cannot be the operand.
std::string CheckKind(const OperandSchema& operand, const Tensor& tensor) {
  switch (operand.kind) {
    case OperandKind::kF32: return tensor.format == Format::kF32 ? "" : "must be F32";
    case OperandKind::kI32: return tensor.format == Format::kI32 ? "" : "must be I32";
    case OperandKind::kWEIGHT: return tensor.role == Role::kWeight ? "" : "must be a weight";
    case OperandKind::kVECTOR:
      if (tensor.role != Role::kWeight) return "must be a weight";
      return tensor.dims.size() == 1 ? "" : "must be a vector";
    case OperandKind::kSTATE: return tensor.role == Role::kState ? "" : "must be a state";
  }
  return "has an unknown kind";
}

// Elements at the symbols' largest values; an overflow is a mistake of the model's file.
bool SizeFits(const Tensor& tensor, const SymbolValues& max) {
  uint64_t bytes = 8;  // no element is larger
  for (int64_t dim : tensor.dims) {
    const int64_t extent = Extent(dim, max);
    if (extent < 0 || !CheckedMul(bytes, static_cast<uint64_t>(extent), &bytes)) return false;
  }
  return (bytes >> 63) == 0;
}

}  // namespace

GraphBuilder::GraphBuilder(const SymbolValues& max) { graph_.max = max; }

TensorId GraphBuilder::Weight(const std::string& name, Format format, std::vector<int64_t> dims) {
  return Named(name, format, Role::kWeight, std::move(dims));
}
TensorId GraphBuilder::Step(const std::string& name, Format format, std::vector<int64_t> dims) {
  return Named(name, format, Role::kStep, std::move(dims));
}
TensorId GraphBuilder::State(const std::string& name, std::vector<int64_t> dims) {
  return Named(name, Format::kU8, Role::kState, std::move(dims));
}
TensorId GraphBuilder::Input(const std::string& name, std::vector<int64_t> dims) {
  return Named(name, Format::kF32, Role::kInput, std::move(dims));
}

TensorId GraphBuilder::Named(const std::string& name, Format format, Role role, std::vector<int64_t> dims) {
  if (auto found = by_name_.find(name); found != by_name_.end()) {
    const Tensor& known = graph_.tensors[found->second];
    if (known.format == format && known.role == role && known.dims == dims) return found->second;
    Fail(InvalidArgumentError("tensor " + name + " is used with two shapes or formats"));
    return kNoTensor;
  }
  Tensor tensor{name, format, role, std::move(dims)};
  if (!SizeFits(tensor, graph_.max)) {
    Fail(InvalidArgumentError("tensor " + name + " is larger than 63 bits can count"));
    return kNoTensor;
  }
  const TensorId id = static_cast<TensorId>(graph_.tensors.size());
  graph_.tensors.push_back(std::move(tensor));
  by_name_.emplace(name, id);
  return id;
}

void GraphBuilder::SetPart(const Part& part, std::string prefix) {
  part_ = part;
  prefix_ = std::move(prefix);
}

TensorId GraphBuilder::Add(Op op, std::string_view name, std::initializer_list<TensorId> inputs,
                           std::initializer_list<Attr> attrs) {
  if (!status_.ok()) return kNoTensor;
  const OpSchema& schema = *FindOp(static_cast<uint32_t>(op));
  Node node{op, inputs, {}, attrs, part_, prefix_ + "." + std::string(name)};
  auto fail = [&](const std::string& what) {
    Fail(InvalidArgumentError(node.name + " (" + std::string(schema.name) + "): " + what));
    return kNoTensor;
  };

  ShapeBinding binding;
  if (node.attrs.size() != schema.attrs.size()) return fail("wrong number of attributes");
  for (size_t i = 0; i < node.attrs.size(); ++i) {
    const bool is_int = std::holds_alternative<int64_t>(node.attrs[i].value);
    if (node.attrs[i].name != schema.attrs[i].name || is_int != (schema.attrs[i].type == MOTLEY_TYPE_I64)) {
      return fail("attribute " + std::string(schema.attrs[i].name) + " is missing");
    }
    if (is_int) binding.BindName(schema.attrs[i].name, std::get<int64_t>(node.attrs[i].value));
  }
  if (node.in.size() != schema.inputs.size()) return fail("wrong number of operands");
  for (size_t i = 0; i < node.in.size(); ++i) {
    const OperandSchema& operand = schema.inputs[i];
    if (node.in[i] == kNoTensor) {
      if (operand.optional) continue;
      return fail("operand " + std::string(operand.name) + " is missing");
    }
    const Tensor& tensor = graph_.tensors[node.in[i]];
    std::string wrong = CheckKind(operand, tensor);
    if (wrong.empty()) wrong = binding.Bind(operand.shape, tensor.dims);
    if (!wrong.empty()) return fail(tensor.name + ": " + wrong);
  }
  for (const OperandSchema& output : schema.outputs) {
    Tensor tensor{node.name, output.kind == OperandKind::kI32 ? Format::kI32 : Format::kF32, Role::kTemp, {}};
    if (!binding.Infer(output.shape, &tensor.dims) || !SizeFits(tensor, graph_.max)) {
      return fail("the shape of its output [" + std::string(output.shape) + "] can't be had");
    }
    node.out.push_back(static_cast<TensorId>(graph_.tensors.size()));
    graph_.tensors.push_back(std::move(tensor));
  }
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().out[0];
}

void GraphBuilder::MarkOutput(TensorId tensor) {
  if (tensor != kNoTensor) graph_.tensors[tensor].role = Role::kOutput;
}

void GraphBuilder::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

StatusOr<Graph> GraphBuilder::Finish() && {
  if (!status_.ok()) return status_;
  return std::move(graph_);
}

}  // namespace motley
