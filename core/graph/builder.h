// GraphBuilder: makes a Graph node by node. Shapes follow from the op table; the first mistake is kept and comes
// back from Finish(), so that a model reads top to bottom without a check a line.
// One thread. Formats of weights are whatever the file has; shapes are held against the table.
#pragma once

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/status.h"
#include "core/graph/graph.h"

namespace motley {

class GraphBuilder {
 public:
  // max: the largest extent of each symbol.
  explicit GraphBuilder(const SymbolValues& max);

  // Tensors that come from outside of the graph. A name stands for one tensor: asked for again with the same
  // description, the same id comes back.
  TensorId Weight(const std::string& name, Format format, std::vector<int64_t> dims);
  TensorId Step(const std::string& name, Format format, std::vector<int64_t> dims);
  TensorId State(const std::string& name, std::vector<int64_t> dims);
  TensorId Input(const std::string& name, std::vector<int64_t> dims);  // F32

  // The part and the name's prefix of the nodes that follow: "layers.3.attention".
  void SetPart(const Part& part, std::string prefix);

  // Adds a node and returns its first output, kNoTensor after a mistake. inputs in the op table's order,
  // kNoTensor where an optional one is absent.
  TensorId Add(Op op, std::string_view name, std::initializer_list<TensorId> inputs,
               std::initializer_list<Attr> attrs = {});

  // Makes a node's output readable from outside.
  void MarkOutput(TensorId tensor);

  // For what the caller finds wrong while building; the first one is kept.
  void Fail(Status status);

  StatusOr<Graph> Finish() &&;

 private:
  TensorId Named(const std::string& name, Format format, Role role, std::vector<int64_t> dims);

  Graph graph_;
  std::unordered_map<std::string, TensorId> by_name_;
  Part part_;
  std::string prefix_;
  Status status_;
};

}  // namespace motley
