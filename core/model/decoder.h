// What the architecture files share: reading the usual keys, and the blocks of a pre-norm decoder.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"

namespace motley {

// The rotation's pairs, as the op table numbers them.
enum class RopeStyle : int64_t { kHalves = 0, kAdjacent = 1 };

// ARCH.block_count, embedding_length, attention.*, feed_forward_length, context_length, ... with every value checked.
StatusOr<HyperParameters> ReadDecoderKeys(const WeightsFile& file, const std::string& arch);

// Builds a decoder's graph block by block. Mistakes stay in the GraphBuilder and come back from Finish().
class DecoderBuilder {
 public:
  DecoderBuilder(const WeightsFile& file, const HyperParameters& params, const GraphLimits& limits);

  // A key of the file, without "ARCH.", and its value: why a tensor has the shape that it must have.
  struct Reason {
    std::string_view key;
    int64_t value;
  };
  using Reasons = std::initializer_list<Reason>;

  // The weight of that name in the file; missing, or of another shape: a mistake. Optional: kNoTensor where it is
  // missing. dims: outermost first.
  TensorId Weight(const std::string& name, const std::vector<int64_t>& dims, Reasons reasons);
  TensorId OptionalWeight(const std::string& name, const std::vector<int64_t>& dims, Reasons reasons);

  TensorId Embed();                                                     // [n_tokens, hidden]
  // x + o(attention(norm(x))), with q_norm and k_norm where the file has them.
  TensorId AttentionBlock(int64_t layer, TensorId x, RopeStyle style);
  // x + down(swiglu(gate(norm(x)), up(norm(x)))).
  TensorId FfnBlock(int64_t layer, TensorId x);
  // The output rows, the final norm, the projection to the vocabulary (the embedding where it is tied).
  TensorId Head(TensorId x);

  StatusOr<ModelGraph> Finish(TensorId logits) &&;

 private:
  // A matrix [n_out, n_in] and, where the file has one, a bias [n_out].
  TensorId Linear(std::string_view name, TensorId x, const std::string& tensor, int64_t n_out, int64_t n_in,
                  Reasons reasons);

  const WeightsFile& file_;
  const HyperParameters& params_;
  const GraphLimits& limits_;
  GraphBuilder builder_;
  ModelGraph model_;
};

}  // namespace motley
