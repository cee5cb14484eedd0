// One attention node with its cache and pages on a device; and the same in plain double
// arithmetic.
#pragma once

#include "tools/conformance/client.h"

#include <cmath>
#include <vector>

namespace motley::conformance {

struct AttentionConfig {
  int64_t n_heads = 2, n_kv_heads = 1, head_dim = 4, v_dim = 4, rotary_dim = 4, rope_style = 0;
  int64_t page_tokens = 2;
  uint32_t kv_format = kF32;
  double scale = 0.5, eps = 1e-6;
  std::vector<float> q_norm, k_norm;  // empty = absent
  int64_t max_seqs = 4, max_pages = 16, kv_pages = 32;
};

struct AttentionStepData {
  std::vector<float> q, k, v;
  std::vector<int32_t> position, slot, row_start, kv_len, seq_row;
  std::vector<float> rope;  // empty = angle position * 10000^(-2i/rotary_dim)
};

inline std::vector<float> RopeTable(const std::vector<int32_t>& position, int64_t rotary_dim) {
  std::vector<float> table;
  for (const int32_t p : position) {
    for (int part = 0; part < 2; ++part) {
      for (int64_t i = 0; i < rotary_dim / 2; ++i) {
        const double angle =
            p * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(rotary_dim));
        table.push_back(static_cast<float>(part == 0 ? std::cos(angle) : std::sin(angle)));
      }
    }
  }
  return table;
}

// One attention node with all that it reads, kv last of its inputs, and its output last.
inline TestGraph AttentionGraph(const AttentionConfig& c, const motley_kv_plan& plan) {
  TestGraph graph;
  const uint32_t step = MOTLEY_ROLE_STEP, in = MOTLEY_ROLE_INPUT;
  std::vector<uint32_t> ids = {
      graph.Tensor(in, kF32, {kTokens, c.n_heads * c.head_dim}, 0, "q"),
      graph.Tensor(in, kF32, {kTokens, c.n_kv_heads * c.head_dim}, 0, "k"),
      graph.Tensor(in, kF32, {kTokens, c.n_kv_heads * c.v_dim}, 0, "v"),
      c.q_norm.empty() ? MOTLEY_NO_TENSOR
                       : graph.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {c.head_dim}, MOTLEY_LAYOUT_F32, "q_norm"),
      c.k_norm.empty() ? MOTLEY_NO_TENSOR
                       : graph.Tensor(MOTLEY_ROLE_WEIGHT, kF32, {c.head_dim}, MOTLEY_LAYOUT_F32, "k_norm"),
      graph.Tensor(step, kI32, {kTokens}, 0, "position"),
      graph.Tensor(step, kI32, {kTokens}, 0, "slot"),
      graph.Tensor(step, kF32, {kTokens, 2, std::max<int64_t>(c.rotary_dim / 2, 1)}, 0, "rope"),
      graph.Tensor(step, kI32, {kStarts}, 0, "row_start"),
      graph.Tensor(step, kI32, {kSeqs}, 0, "kv_len"),
      graph.Tensor(step, kI32, {kSeqs}, 0, "seq_row"),
      graph.Tensor(step, kI32, {c.max_seqs, c.max_pages}, 0, "pages"),
      graph.Tensor(step, kI32, {16}, 0, "counts"),
      graph.Tensor(MOTLEY_ROLE_STATE, kU8, {c.kv_pages, static_cast<int64_t>(plan.page_bytes)}, plan.layout,
                   "kv"),
  };
  const uint32_t y = graph.Tensor(MOTLEY_ROLE_OUTPUT, kF32, {kTokens, c.n_heads * c.v_dim}, 0, "y");
  graph.Node(Op::kATTENTION, ids, {y},
             {{"n_heads", c.n_heads},
              {"n_kv_heads", c.n_kv_heads},
              {"head_dim", c.head_dim},
              {"v_dim", c.v_dim},
              {"rotary_dim", c.rotary_dim},
              {"rope_style", c.rope_style},
              {"page_tokens", c.page_tokens},
              {"kv_format", static_cast<int64_t>(c.kv_format)},
              {"scale", c.scale},
              {"qk_norm_eps", c.eps}});
  return graph;
}

// Whether the device has such pages and runs such attention.
inline Refusal AttentionRefusal(Session& session, const AttentionConfig& c) {
  motley_kv_plan plan;
  Refusal refusal;
  refusal.code = session.TryKvPlan(c.kv_format, static_cast<uint32_t>(c.page_tokens),
                                   static_cast<uint32_t>(c.n_kv_heads), static_cast<uint32_t>(c.head_dim),
                                   static_cast<uint32_t>(c.v_dim), &plan, &refusal.text);
  if (refusal.code != MOTLEY_OK) return refusal;
  TestGraph graph = AttentionGraph(c, plan);
  return session.Settle(graph);
}
#define MOTLEY_ATTENTION(config)                                                              \
  if (const Refusal refusal = AttentionRefusal(session, config); refusal.code != MOTLEY_OK) { \
    ASSERT_EQ(refusal.code, MOTLEY_UNIMPLEMENTED) << refusal.text;                            \
    ASSERT_FALSE(refusal.text.empty()) << "a refusal has a reason";                           \
    MOTLEY_UNSUPPORTED(refusal.text);                                                         \
  }

class AttentionRig {
 public:
  AttentionRig(Session& session, AttentionConfig config) : session_(session), c(std::move(config)) {
    const motley_kv_plan plan = session_.KvPlan(
        c.kv_format, static_cast<uint32_t>(c.page_tokens), static_cast<uint32_t>(c.n_kv_heads),
        static_cast<uint32_t>(c.head_dim), static_cast<uint32_t>(c.v_dim));
    page_bytes = plan.page_bytes;
    // Unwritten cache bytes are NaN.
    kv = session_.Upload(std::vector<uint8_t>(static_cast<size_t>(c.kv_pages) * page_bytes, 0xff),
                         MOTLEY_USAGE_KV);
    page_table.assign(static_cast<size_t>(c.max_seqs * c.max_pages), -1);
    pages = session_.Upload(page_table);

    graph = AttentionGraph(c, plan);
    program = session_.Compile(graph);
    if (!c.q_norm.empty()) q_norm_ = session_.Upload(c.q_norm);
    if (!c.k_norm.empty()) k_norm_ = session_.Upload(c.k_norm);
  }

  // Slots of positions [begin, end) of a sequence in `row` of the page table, which the caller has filled.
  std::vector<int32_t> Slots(int64_t row, int64_t begin, int64_t end) const {
    std::vector<int32_t> slots;
    for (int64_t p = begin; p < end; ++p) {
      const int32_t page = page_table[static_cast<size_t>(row * c.max_pages + p / c.page_tokens)];
      slots.push_back(static_cast<int32_t>(page * c.page_tokens + p % c.page_tokens));
    }
    return slots;
  }
  // Page i of `row` is first + i * stride.
  void MapPages(int64_t row, int32_t first, int32_t stride = 1) {
    for (int64_t i = 0; i < c.max_pages; ++i) {
      const int64_t page = first + i * stride;
      page_table[static_cast<size_t>(row * c.max_pages + i)] =
          page < c.kv_pages ? static_cast<int32_t>(page) : -1;
    }
    session_.Write(pages, page_table.data());
  }

  // A step's data on the device, with the output last.
  struct Bound {
    std::vector<motley_slice> slices;
    std::vector<int64_t> dims;
  };
  Bound Bind(const AttentionStepData& d) {
    const int64_t n_tokens = static_cast<int64_t>(d.position.size()),
                  n_seqs = static_cast<int64_t>(d.kv_len.size());
    std::vector<int32_t> counts(16, 0);
    Bound bound;
    bound.dims = {n_tokens, n_seqs, 0, 1, n_seqs + 1};
    std::copy(bound.dims.begin(), bound.dims.end(), counts.begin());
    std::vector<float> rope = d.rope.empty() ? RopeTable(d.position, c.rotary_dim) : d.rope;
    if (rope.empty()) rope.assign(static_cast<size_t>(2 * n_tokens), 0);
    std::vector<motley_slice>& slices = bound.slices;
    slices = {session_.Upload(d.q), session_.Upload(d.k), session_.Upload(d.v)};
    if (!c.q_norm.empty()) slices.push_back(q_norm_);
    if (!c.k_norm.empty()) slices.push_back(k_norm_);
    for (const motley_slice slice :
         {session_.Upload(d.position), session_.Upload(d.slot), session_.Upload(rope),
          session_.Upload(d.row_start), session_.Upload(d.kv_len), session_.Upload(d.seq_row), pages,
          session_.Upload(counts), kv}) {
      slices.push_back(slice);
    }
    slices.push_back(session_.Alloc(static_cast<uint64_t>(64 * c.n_heads * c.v_dim) * sizeof(float)));
    slices = PadToMax(slices);
    return bound;
  }

  motley_status Step(const AttentionStepData& d, std::vector<float>* y, std::string* text = nullptr) {
    const Bound bound = Bind(d);
    const motley_status status = session_.Run(program, bound.slices, bound.dims, text);
    if (status != MOTLEY_OK) return status;
    y->resize(static_cast<size_t>(bound.dims[0] * c.n_heads * c.v_dim));
    session_.Read(y->data(), {bound.slices.back().buffer, 0, y->size() * sizeof(float)});
    return status;
  }

  Session& session_;
  AttentionConfig c;
  TestGraph graph;
  motley_program* program = nullptr;
  motley_slice kv{}, pages{};
  uint64_t page_bytes = 0;
  std::vector<int32_t> page_table;

 private:
  // Slices with room for the dims' max: what was uploaded is the beginning of a larger one.
  std::vector<motley_slice> PadToMax(std::vector<motley_slice> slices) {
    for (size_t i = 0; i < slices.size(); ++i) {
      const motley_tensor& t = graph.tensors[i];
      uint64_t bytes = t.dtype == kU8 ? 1 : 4;
      for (int32_t d = 0; d < t.rank; ++d) {
        bytes *= static_cast<uint64_t>(t.dims[d] < 0 ? graph.dims[static_cast<size_t>(~t.dims[d])].max
                                                     : t.dims[d]);
      }
      if (slices[i].bytes >= bytes) continue;
      std::vector<uint8_t> data = session_.Download<uint8_t>(slices[i]);
      data.resize(bytes, 0xee);
      slices[i] = session_.Upload(data);
    }
    return slices;
  }

  motley_slice q_norm_{}, k_norm_{};
};

// q or k of one head, as the op table says, in double.
inline std::vector<double> PreparedHead(const AttentionConfig& c, const float* in,
                                        const std::vector<float>& norm, int32_t position) {
  std::vector<double> x(in, in + c.head_dim);
  if (!norm.empty()) {
    double mean = 0;
    for (const double v : x) mean += v * v / static_cast<double>(c.head_dim);
    for (size_t i = 0; i < x.size(); ++i) x[i] = x[i] / std::sqrt(mean + c.eps) * norm[i];
  }
  const std::vector<float> rope = RopeTable({position}, c.rotary_dim);
  const std::vector<double> before = x;
  for (int64_t i = 0; i < c.rotary_dim / 2; ++i) {
    const size_t a = static_cast<size_t>(c.rope_style == 0 ? i : 2 * i);
    const size_t b = static_cast<size_t>(c.rope_style == 0 ? i + c.rotary_dim / 2 : 2 * i + 1);
    const double cos = rope[static_cast<size_t>(i)], sin = rope[static_cast<size_t>(i + c.rotary_dim / 2)];
    x[a] = before[a] * cos - before[b] * sin;
    x[b] = before[b] * cos + before[a] * sin;
  }
  return x;
}

// One sequence of positions 0..n-1 with no cache at all: softmax over the whole matrix.
inline std::vector<double> PlainAttention(const AttentionConfig& c, const std::vector<float>& q,
                                          const std::vector<float>& k, const std::vector<float>& v,
                                          int64_t n) {
  std::vector<double> y;
  for (int64_t t = 0; t < n; ++t) {
    for (int64_t h = 0; h < c.n_heads; ++h) {
      const int64_t kv_head = h * c.n_kv_heads / c.n_heads;
      const std::vector<double> qh =
          PreparedHead(c, q.data() + (t * c.n_heads + h) * c.head_dim, c.q_norm, static_cast<int32_t>(t));
      std::vector<double> weight;
      double total = 0;
      for (int64_t p = 0; p <= t; ++p) {
        const std::vector<double> kh = PreparedHead(c, k.data() + (p * c.n_kv_heads + kv_head) * c.head_dim,
                                                    c.k_norm, static_cast<int32_t>(p));
        double dot = 0;
        for (size_t i = 0; i < qh.size(); ++i) dot += qh[i] * kh[i];
        weight.push_back(std::exp(dot * c.scale));
        total += weight.back();
      }
      for (int64_t i = 0; i < c.v_dim; ++i) {
        double sum = 0;
        for (int64_t p = 0; p <= t; ++p) {
          sum += weight[static_cast<size_t>(p)] / total *
                 static_cast<double>(v[static_cast<size_t>((p * c.n_kv_heads + kv_head) * c.v_dim + i)]);
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

}  // namespace motley::conformance
