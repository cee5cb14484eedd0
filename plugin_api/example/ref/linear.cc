// linear: y = x weight^T + bias, for every format that motley/dequant.hpp reads.
#include <motley/dequant.hpp>

#include "ops.h"
#include "weights.h"

namespace motley::ref {
namespace {

// Eight sums side by side, which compilers vectorise, added in a fixed order.
double Dot(const float* x, const float* w, int64_t n) {
  double sum[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int j = 0; j < 8; ++j) sum[j] += static_cast<double>(x[i + j]) * w[i + j];
  }
  for (int j = 0; i < n; ++i, ++j) sum[j] += static_cast<double>(x[i]) * w[i];
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

}  // namespace

plugin::Fault Linear(const NodeRun& run) {
  const plugin::GraphTensor& weight = run.Tensor(run.node->in[1]);
  const int64_t n_tokens = run.Rows(run.node->in[0]), n_out = weight.dims[0], n_in = weight.dims[1];
  const plugin::DequantFn dequant = plugin::FindDequant(weight.dtype);
  const uint64_t row_bytes = plugin::RowBytes(*plugin::FindFormatRow(weight.dtype), n_in);
  const float* x = run.In<float>(0);                                  // [n_tokens, n_in]
  const std::byte* w = run.In<std::byte>(1);                          // [n_out, n_in]
  const float* bias = run.node->Has(2) ? run.In<float>(2) : nullptr;  // [n_out]
  const double factor = WeightFactor(weight.layout, w, n_out, row_bytes);
  float* y = run.Out<float>(0);                                       // [n_tokens, n_out]
  float* scratch = reinterpret_cast<float*>(run.args->scratch);       // [threads, n_in]
  // Each member has output columns of its own, and reads each of their weights once.
  run.team->Run([&](uint32_t member, uint32_t members) {
    const auto [begin, end] = plugin::Share(n_out, member, members);
    float* row = scratch + member * n_in;
    for (int64_t n = begin; n < end; ++n) {
      dequant(w + static_cast<uint64_t>(n) * row_bytes, n_in, row);
      for (int64_t t = 0; t < n_tokens; ++t) {
        const double dot = Dot(x + t * n_in, row, n_in) * factor;
        y[t * n_out + n] = static_cast<float>(bias ? dot + bias[n] : dot);
      }
    }
  });
  return {};
}

}  // namespace motley::ref
