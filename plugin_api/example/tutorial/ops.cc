// What docs/vendor.md adds to the skeleton's ops.cc: rms_norm, and linear for every stored format.
#include "device.h"

#include <motley/dequant.hpp>

namespace vendor {
namespace {

// y = a + b, shared out by rows.
Fault Add(const NodeRun& run) {
  const int64_t width = run.Columns(run.node.in[0]);
  const float* a = run.args.As<float>(run.node.in[0]);  // [n_tokens, width]
  const float* b = run.args.As<float>(run.node.in[1]);  // [n_tokens, width]
  float* y = run.args.As<float>(run.node.out[0]);       // [n_tokens, width]
  run.team.Run([&](uint32_t member, uint32_t members) {
    const auto [begin, end] = motley::plugin::Share(run.Rows(run.node.in[0]), member, members);
    for (int64_t i = begin * width; i < end * width; ++i) y[i] = a[i] + b[i];
  });
  return {};
}

// Eight sums side by side, which compilers vectorise, added in one order: that of the columns, whatever the
// batch.
double Dot(const float* x, const float* w, int64_t n) {
  double sum[8] = {};
  for (int64_t i = 0; i + 8 <= n; i += 8) {
    for (int64_t j = 0; j < 8; ++j) sum[j] += static_cast<double>(x[i + j]) * w[i + j];
  }
  for (int64_t i = n / 8 * 8; i < n; ++i) sum[i % 8] += static_cast<double>(x[i]) * w[i];
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

// y = x / sqrt(mean(x^2) + eps) * weight, a row.
Fault RmsNorm(const NodeRun& run) {
  const int64_t width = run.Columns(run.node.in[0]);
  const double eps = run.node.F64("eps");
  const float* x = run.args.As<float>(run.node.in[0]);       // [n_tokens, width]
  const float* weight = run.args.As<float>(run.node.in[1]);  // [width]
  float* y = run.args.As<float>(run.node.out[0]);            // [n_tokens, width]
  for (int64_t t = 0; t < run.Rows(run.node.in[0]); ++t, x += width, y += width) {
    const double scale = 1.0 / std::sqrt(Dot(x, x, width) / static_cast<double>(width) + eps);
    for (int64_t i = 0; i < width; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
  }
  return {};
}

// y = x weight^T + bias. A member has output columns of its own: each weight is read and dequantised once a
// step.
Fault Linear(const NodeRun& run) {
  const auto& weight = run.graph.tensors[run.node.in[1]];
  const int64_t n_tokens = run.Rows(run.node.in[0]), n_out = weight.dims[0], n_in = weight.dims[1];
  const uint64_t row_bytes = motley::plugin::RowBytes(*motley::plugin::FindFormatRow(weight.dtype), n_in);
  const auto dequant = motley::plugin::FindDequant(weight.dtype);
  const float* x = run.args.As<float>(run.node.in[0]);                                 // [n_tokens, n_in]
  const std::byte* w = run.args.As<std::byte>(run.node.in[1]);                         // [n_out, n_in], as stored
  const float* bias = run.node.Has(2) ? run.args.As<float>(run.node.in[2]) : nullptr;  // [n_out]
  float* y = run.args.As<float>(run.node.out[0]);                                      // [n_tokens, n_out]
  run.team.Run([&](uint32_t member, uint32_t members) {
    const auto [begin, end] = motley::plugin::Share(n_out, member, members);
    float* row = reinterpret_cast<float*>(run.args.scratch) + member * n_in;  // scratch: [threads, n_in]
    for (int64_t n = begin; n < end; ++n) {
      dequant(w + static_cast<uint64_t>(n) * row_bytes, n_in, row);
      for (int64_t t = 0; t < n_tokens; ++t) {
        const double dot = Dot(x + t * n_in, row, n_in);
        y[t * n_out + n] = static_cast<float>(bias ? dot + bias[n] : dot);
      }
    }
  });
  return {};
}

}  // namespace

Fault CheckNode(const CheckedGraph& graph, const GraphNode& node) {
  const Op op = node.schema->op;
  if (op != Op::kADD && op != Op::kRMS_NORM && op != Op::kLINEAR) {
    return Fail(MOTLEY_UNIMPLEMENTED, "op %.*s is not supported", MOTLEY_TEXT(node.schema->name));
  }
  for (const uint32_t id : node.in) {
    if (id == MOTLEY_NO_TENSOR || motley::plugin::FindDequant(graph.tensors[id].dtype)) continue;
    return Fail(MOTLEY_UNIMPLEMENTED, "format %u is not supported", graph.tensors[id].dtype);
  }
  return {};
}

uint64_t ScratchBytes(const CheckedGraph& graph, const GraphNode& node, uint32_t threads) {
  if (node.schema->op != Op::kLINEAR) return 0;
  return static_cast<uint64_t>(graph.tensors[node.in[1]].dims[1]) * sizeof(float) * threads;
}

Fault RunNode(const NodeRun& run) {
  switch (run.node.schema->op) {
    case Op::kADD: return Add(run);
    case Op::kRMS_NORM: return RmsNorm(run);
    case Op::kLINEAR: return Linear(run);
    default: return Fail(MOTLEY_INTERNAL, "a node was compiled that CheckNode refuses");
  }
}

}  // namespace vendor
