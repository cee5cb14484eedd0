// rms_norm: y = x / sqrt(mean(x^2) + eps) * weight, a row.
#include "ops.h"

namespace motley::ref {

plugin::Fault RmsNorm(const NodeRun& run) {
  const int64_t n_rows = run.Rows(run.node->in[0]), width = run.Columns(run.node->in[0]);
  const float* weight = run.In<float>(1);
  const double eps = run.node->F64("eps");
  for (int64_t t = 0; t < n_rows; ++t) {
    const float* x = run.In<float>(0) + t * width;
    float* y = run.Out<float>(0) + t * width;
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) squares += static_cast<double>(x[i]) * x[i];
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(width) + eps);
    for (int64_t i = 0; i < width; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
  }
  return {};
}

}  // namespace motley::ref
