// embed: rows of the embedding, dequantised.
#include <motley/dequant.hpp>
#include <motley/step_check.hpp>

#include "ops.h"
#include "weights.h"

namespace motley::ref {

plugin::Fault Embed(const NodeRun& run) {
  const plugin::GraphTensor& weight = run.Tensor(run.node->in[1]);  // [V, K]
  const int64_t n_tokens = run.Rows(run.node->in[0]), n_rows = weight.dims[0], width = weight.dims[1];
  const int32_t* token = run.In<int32_t>(0);
  MOTLEY_TRY(plugin::CheckIndices("token", token, n_tokens, n_rows));
  const plugin::DequantFn dequant = plugin::FindDequant(weight.dtype);
  const uint64_t row_bytes = plugin::RowBytes(*plugin::FindFormatRow(weight.dtype), width);
  const std::byte* w = run.In<std::byte>(1);
  const float factor = WeightFactor(weight.layout, w, n_rows, row_bytes);
  for (int64_t t = 0; t < n_tokens; ++t) {
    float* y = run.Out<float>(0) + t * width;
    dequant(w + static_cast<uint64_t>(token[t]) * row_bytes, width, y);
    for (int64_t i = 0; factor != 1 && i < width; ++i) y[i] *= factor;
  }
  return {};
}

}  // namespace motley::ref
