// swiglu, add, gather_rows: no row knows of another.
#include <motley/step_check.hpp>

#include "ops.h"

namespace motley::ref {

plugin::Fault Swiglu(const NodeRun& run) {
  const int64_t count = run.Rows(run.node->in[0]) * run.Columns(run.node->in[0]);
  const float *gate = run.In<float>(0), *up = run.In<float>(1);
  float* y = run.Out<float>(0);
  for (int64_t i = 0; i < count; ++i) {
    const double g = gate[i];
    y[i] = static_cast<float>(g / (1.0 + std::exp(-g)) * up[i]);
  }
  return {};
}

plugin::Fault Add(const NodeRun& run) {
  const int64_t count = run.Rows(run.node->in[0]) * run.Columns(run.node->in[0]);
  const float *a = run.In<float>(0), *b = run.In<float>(1);
  float* y = run.Out<float>(0);
  for (int64_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
  return {};
}

plugin::Fault GatherRows(const NodeRun& run) {
  const int64_t n_rows = run.Rows(run.node->in[0]), width = run.Columns(run.node->in[0]);
  const int64_t n_out = run.Rows(run.node->in[1]);
  const int32_t* row = run.In<int32_t>(1);
  MOTLEY_TRY(plugin::CheckIndices("row", row, n_out, n_rows));
  for (int64_t i = 0; i < n_out; ++i) {
    std::memcpy(run.Out<float>(0) + i * width, run.In<float>(0) + row[i] * width,
                static_cast<size_t>(width) * sizeof(float));
  }
  return {};
}

}  // namespace motley::ref
