// A model: hyper-parameters read from a weights file, and the graph that an architecture makes of them.
//
// Each architecture is one file, arch_NAME.cc, and one row of Architectures().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/graph/builder.h"
#include "core/graph/graph.h"
#include "core/model/rope.h"
#include "core/model/weights_file.h"

namespace motley {

// What every decoder of this kind has. Sizes are in elements.
struct HyperParameters {
  std::string arch;
  int64_t n_layers = 0;
  int64_t hidden = 0;
  int64_t n_heads = 0, n_kv_heads = 0;
  int64_t head_dim = 0, v_dim = 0;  // of a key, of a value
  int64_t ffn = 0;                  // of the feed-forward block
  int64_t vocab_rows = 0;           // rows of the embedding; may exceed the tokenizer's tokens
  int64_t context_length = 0;       // tokens for which the model was trained
  int64_t rotary_dim = 0;
  double rms_eps = 0;
};

// The step data that a graph asks for, by tensor. Shapes: plugin_api's op table.
struct StepTensors {
  TensorId counts = kNoTensor, token = kNoTensor, position = kNoTensor, slot = kNoTensor, row_start = kNoTensor,
           kv_len = kNoTensor, seq_row = kNoTensor, out_row = kNoTensor, rope = kNoTensor, pages = kNoTensor;
};

// One layer's cache.
struct KvLayer {
  TensorId state = kNoTensor;  // [kv_pages, page_bytes]: the last dim is the device's to say
  int32_t layer = 0;
  uint32_t kind = MOTLEY_KV_GQA;
  int64_t n_kv_heads = 0, k_dim = 0, v_dim = 0;
};

// The limits within which steps stay; they size buffers and workspaces.
struct GraphLimits {
  int64_t max_tokens = 512;   // a step, of all sequences
  int64_t max_seqs = 1;       // at once
  int64_t max_outputs = 1;    // rows of logits a step
  int64_t max_pages = 1;      // a sequence
  int64_t kv_pages = 1;       // of all sequences
  uint32_t page_tokens = 64;
  Format kv_format = Format::kF16;

  SymbolValues Max() const { return {max_tokens, max_seqs, max_outputs, max_pages, max_seqs + 1}; }
};

// Weights carry the names of the file's tensors.
struct ModelGraph {
  Graph graph;
  StepTensors step;
  std::vector<KvLayer> kv;
  TensorId logits = kNoTensor;  // [n_out, vocab_rows]
};

struct Architecture {
  std::string_view name;  // general.architecture
  StatusOr<HyperParameters> (*read)(const WeightsFile& file);
  StatusOr<ModelGraph> (*build)(const WeightsFile& file, const HyperParameters& params, const GraphLimits& limits);
};

std::span<const Architecture> Architectures();

class Model {
 public:
  // The file must outlive the model. UNIMPLEMENTED names an architecture that is not known, and those that are.
  static StatusOr<Model> Read(const WeightsFile& file);

  const HyperParameters& params() const { return params_; }
  const RopeTable& rope() const { return rope_; }
  PartList Parts() const;
  StatusOr<ModelGraph> BuildGraph(const GraphLimits& limits) const;

  // Tensors of the file that `graph` does not use: a warning's worth.
  std::vector<std::string> UnusedTensors(const Graph& graph) const;

 private:
  Model(const WeightsFile& file, const Architecture& architecture, HyperParameters params, RopeTable rope)
      : file_(&file), architecture_(&architecture), params_(std::move(params)), rope_(std::move(rope)) {}

  const WeightsFile* file_;
  const Architecture* architecture_;
  HyperParameters params_;
  RopeTable rope_;
};

}  // namespace motley
