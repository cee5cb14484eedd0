// attention: per-head norm and rotation of q and k, the write of k and v into the pages, then softmax through
// them.
#include "attention.h"

#include <motley/dequant.hpp>
#include <motley/step_check.hpp>

#include <cmath>
#include <limits>

#include "store.h"

namespace motley::ref {
namespace {

using plugin::Fail;
using plugin::Fault;

// Where the values of one token and head lie in a page, in elements.
struct PageLayout {
  int64_t k_base, k_token, k_head;
  int64_t v_base, v_token, v_head;
  int64_t elements;
};

PageLayout MakeLayout(uint32_t layout, int64_t tokens, int64_t heads, int64_t k_dim, int64_t v_dim) {
  const int64_t k_all = tokens * heads * k_dim, v_all = tokens * heads * v_dim;
  if (layout == kTokensFirst) return {0, heads * k_dim, k_dim, k_all, heads * v_dim, v_dim, k_all + v_all};
  return {v_all, k_dim, tokens * k_dim, 0, v_dim, tokens * v_dim, k_all + v_all};
}

// The attributes and tensors of one node, by their names in the op table.
struct Context {
  int64_t n_heads, n_kv_heads, head_dim, v_dim, rotary_dim, rope_style, page_tokens;
  const plugin::FormatRow* format;  // of cached values
  StoreFn store;
  plugin::DequantFn load;
  double scale, eps;
  const float *q, *k, *v, *q_norm, *k_norm, *rope;
  plugin::AttentionStep step;
  std::byte* kv;
  uint64_t page_bytes;
  PageLayout layout;
  float* y;
};

Context MakeContext(const NodeRun& run) {
  const plugin::GraphNode& node = *run.node;
  Context c{};
  c.n_heads = node.I64("n_heads");
  c.n_kv_heads = node.I64("n_kv_heads");
  c.head_dim = node.I64("head_dim");
  c.v_dim = node.I64("v_dim");
  c.rotary_dim = node.I64("rotary_dim");
  c.rope_style = node.I64("rope_style");
  c.page_tokens = node.I64("page_tokens");
  c.format = plugin::FindFormatRow(static_cast<uint32_t>(node.I64("kv_format")));
  c.store = FindStore(c.format->id);
  c.load = plugin::FindDequant(c.format->id);
  c.scale = node.F64("scale");
  c.eps = node.F64("qk_norm_eps");
  c.q = run.In<float>(0);
  c.k = run.In<float>(1);
  c.v = run.In<float>(2);
  c.q_norm = node.Has(3) ? run.In<float>(3) : nullptr;
  c.k_norm = node.Has(4) ? run.In<float>(4) : nullptr;
  c.rope = run.In<float>(7);
  c.kv = run.In<std::byte>(13);
  c.page_bytes = static_cast<uint64_t>(run.args->Extent(run.Tensor(node.in[13]).dims[1]));
  c.layout = MakeLayout(run.Tensor(node.in[13]).layout, c.page_tokens, c.n_kv_heads, c.head_dim, c.v_dim);
  c.y = run.Out<float>(0);

  plugin::AttentionStep& step = c.step;
  step.n_tokens = run.Rows(node.in[0]);
  step.n_seqs = run.Rows(node.in[9]);
  step.position = run.In<int32_t>(5);
  step.slot = run.In<int32_t>(6);
  step.row_start = run.In<int32_t>(8);
  step.kv_len = run.In<int32_t>(9);
  step.seq_row = run.In<int32_t>(10);
  step.pages = run.In<int32_t>(11);
  step.max_seqs = run.args->Extent(run.Tensor(node.in[11]).dims[0]);
  step.max_pages = run.args->Extent(run.Tensor(node.in[11]).dims[1]);
  step.kv_pages = run.args->Extent(run.Tensor(node.in[13]).dims[0]);
  step.page_tokens = c.page_tokens;
  return c;
}

// One head of q or k to double, normalised where there is a weight, then rotated.
void Prepare(const Context& c, const float* in, const float* norm, const float* rope, double* out) {
  for (int64_t i = 0; i < c.head_dim; ++i) out[i] = in[i];
  if (norm) {
    double squares = 0;
    for (int64_t i = 0; i < c.head_dim; ++i) squares += out[i] * out[i];
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(c.head_dim) + c.eps);
    for (int64_t i = 0; i < c.head_dim; ++i) out[i] *= scale * norm[i];
  }
  const int64_t half = c.rotary_dim / 2;
  for (int64_t i = 0; i < half; ++i) {
    double& a = out[c.rope_style == 0 ? i : 2 * i];
    double& b = out[c.rope_style == 0 ? i + half : 2 * i + 1];
    const double cos = rope[i], sin = rope[half + i], a0 = a, b0 = b;
    a = a0 * cos - b0 * sin;
    b = b0 * cos + a0 * sin;
  }
}

// Where a row of values that begins at `element` of a page lies.
std::byte* RowAt(const Context& c, std::byte* page, int64_t element) {
  return page + plugin::RowBytes(*c.format, element);
}

// Writes k and v of all tokens at their slots.
void WriteCache(const Context& c, double* scratch) {
  float* row = reinterpret_cast<float*>(scratch + c.head_dim);  // [head_dim]
  for (int64_t t = 0; t < c.step.n_tokens; ++t) {
    const int64_t slot = c.step.slot[t];
    if (slot < 0) continue;
    std::byte* page = c.kv + static_cast<uint64_t>(slot / c.page_tokens) * c.page_bytes;
    const int64_t offset = slot % c.page_tokens;
    for (int64_t h = 0; h < c.n_kv_heads; ++h) {
      Prepare(c, c.k + (t * c.n_kv_heads + h) * c.head_dim, c.k_norm, c.rope + t * c.rotary_dim, scratch);
      const int64_t k_at = c.layout.k_base + offset * c.layout.k_token + h * c.layout.k_head;
      for (int64_t i = 0; i < c.head_dim; ++i) row[i] = static_cast<float>(scratch[i]);
      c.store(row, c.head_dim, RowAt(c, page, k_at));
      const float* v = c.v + (t * c.n_kv_heads + h) * c.v_dim;
      const int64_t v_at = c.layout.v_base + offset * c.layout.v_token + h * c.layout.v_head;
      c.store(v, c.v_dim, RowAt(c, page, v_at));
    }
  }
}

// One token and one query head: softmax over positions 0..position in their order.
void Attend(const Context& c, int64_t seq, int64_t t, int64_t head, double* scratch) {
  double* q = scratch;                                   // [head_dim]
  double* sum = q + c.head_dim;                          // [v_dim]
  float* row = reinterpret_cast<float*>(sum + c.v_dim);  // [max(head_dim, v_dim)], one row of the cache
  double* score = sum + c.v_dim + std::max(c.head_dim, c.v_dim);  // [position + 1]
  const int64_t kv_head = head / (c.n_heads / c.n_kv_heads), count = c.step.position[t] + 1;
  const int32_t* pages = c.step.pages + c.step.seq_row[seq] * c.step.max_pages;
  const auto page_of = [&](int64_t p) {
    return c.kv + static_cast<uint64_t>(pages[p / c.page_tokens]) * c.page_bytes;
  };
  Prepare(c, c.q + (t * c.n_heads + head) * c.head_dim, c.q_norm, c.rope + t * c.rotary_dim, q);

  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t p = 0; p < count; ++p) {
    const int64_t at = c.layout.k_base + p % c.page_tokens * c.layout.k_token + kv_head * c.layout.k_head;
    c.load(RowAt(c, page_of(p), at), c.head_dim, row);
    double dot = 0;
    for (int64_t i = 0; i < c.head_dim; ++i) dot += q[i] * row[i];
    score[p] = dot * c.scale;
    largest = std::max(largest, score[p]);
  }
  double total = 0;
  for (int64_t i = 0; i < c.v_dim; ++i) sum[i] = 0;
  for (int64_t p = 0; p < count; ++p) {
    const double weight = std::exp(score[p] - largest);
    const int64_t at = c.layout.v_base + p % c.page_tokens * c.layout.v_token + kv_head * c.layout.v_head;
    c.load(RowAt(c, page_of(p), at), c.v_dim, row);
    total += weight;
    for (int64_t i = 0; i < c.v_dim; ++i) sum[i] += weight * row[i];
  }
  float* y = c.y + (t * c.n_heads + head) * c.v_dim;
  for (int64_t i = 0; i < c.v_dim; ++i) y[i] = static_cast<float>(sum[i] / total);
}

}  // namespace

plugin::Fault Attention(const NodeRun& run) {
  const Context c = MakeContext(run);
  MOTLEY_TRY(plugin::CheckCounts(run.In<int32_t>(12), run.args->dims, run.args->dim_count));
  MOTLEY_TRY(plugin::CheckAttentionStep(c.step));
  double* scratch = reinterpret_cast<double*>(run.args->scratch);
  const int64_t doubles = static_cast<int64_t>(AttentionScratchDoubles(*run.graph, *run.node));
  WriteCache(c, scratch);  // all of it, before anybody reads
  run.team->Run([&](uint32_t member, uint32_t members) {
    for (int64_t s = 0; s < c.step.n_seqs; ++s) {
      const int64_t first = c.step.row_start[s], rows = c.step.row_start[s + 1] - first;
      const auto [begin, end] = plugin::Share(rows * c.n_heads, member, members);
      for (int64_t i = begin; i < end; ++i) {
        Attend(c, s, first + i / c.n_heads, i % c.n_heads, scratch + member * doubles);
      }
    }
  });
  return {};
}

plugin::Fault CheckKvFormat(uint32_t format) {
  if (FindStore(format)) return {};
  return Fail(MOTLEY_UNIMPLEMENTED, "KV pages in %s are not supported: F32, F16, BF16, Q8_0 and Q4_0 are",
              plugin::FindFormatRow(format)->name);
}

plugin::Fault PlanKv(const motley_kv_desc& desc, uint32_t layout, motley_kv_plan* plan) {
  if (desc.kind != MOTLEY_KV_GQA)
    return Fail(MOTLEY_UNIMPLEMENTED, "KV kind %u is not supported: GQA is", desc.kind);
  MOTLEY_TRY(CheckKvFormat(desc.dtype));
  const plugin::FormatRow& format = *plugin::FindFormatRow(desc.dtype);
  if (desc.k_dim % format.block_elems != 0 || desc.v_dim % format.block_elems != 0) {
    return Fail(MOTLEY_UNIMPLEMENTED, "KV pages in %s need head dims in multiples of %u, not %u and %u",
                format.name, format.block_elems, desc.k_dim, desc.v_dim);
  }
  uint64_t bytes = (static_cast<uint64_t>(desc.k_dim) + desc.v_dim) / format.block_elems;
  for (const uint64_t factor : {desc.page_tokens, desc.n_kv_heads, format.block_bytes}) {
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > (1ull << 48)) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "a KV page of %u tokens, %u heads, %u + %u values is too large",
                  desc.page_tokens, desc.n_kv_heads, desc.k_dim, desc.v_dim);
    }
  }
  plan->layout = layout;
  plan->page_bytes = (bytes + kPageAlignment - 1) / kPageAlignment * kPageAlignment;
  return {};
}

plugin::Fault CheckPageBytes(const plugin::CheckedGraph& graph, const plugin::GraphNode& node,
                             uint32_t layout) {
  motley_kv_desc desc{};
  desc.kind = MOTLEY_KV_GQA;
  desc.dtype = static_cast<uint32_t>(node.I64("kv_format"));
  desc.page_tokens = static_cast<uint32_t>(node.I64("page_tokens"));
  desc.n_kv_heads = static_cast<uint32_t>(node.I64("n_kv_heads"));
  desc.k_dim = static_cast<uint32_t>(node.I64("head_dim"));
  desc.v_dim = static_cast<uint32_t>(node.I64("v_dim"));
  motley_kv_plan plan{};
  MOTLEY_TRY(PlanKv(desc, layout, &plan));
  const int64_t page_bytes = graph.tensors[node.in[13]].dims[1];
  if (page_bytes != static_cast<int64_t>(plan.page_bytes)) {
    return Fail(MOTLEY_INVALID_ARGUMENT, "attention: page_bytes = %lld, kv_plan says %llu",
                static_cast<long long>(page_bytes), static_cast<unsigned long long>(plan.page_bytes));
  }
  return {};
}

uint64_t AttentionScratchDoubles(const plugin::CheckedGraph& graph, const plugin::GraphNode& node) {
  // Called by each execute too: no vector of all max dims.
  const int64_t dim = graph.tensors[node.in[11]].dims[1];
  const int64_t max_pages = dim >= 0 ? dim : graph.dims[static_cast<size_t>(~dim)].max;
  const int64_t head_dim = node.I64("head_dim"), v_dim = node.I64("v_dim");
  return static_cast<uint64_t>(head_dim + v_dim + std::max(head_dim, v_dim) +
                               max_pages * node.I64("page_tokens"));
}

}  // namespace motley::ref
