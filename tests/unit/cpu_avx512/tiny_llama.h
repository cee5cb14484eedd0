// A two-layer model as one graph, run step by step through a plugin's bare ABI: what the tests of programs share.
#pragma once

#include <cmath>

#include "tools/conformance/client.h"
#include "tests/unit/cpu_avx512/oracle.h"

namespace motley::cpu::test {

using conformance::Attr;
using conformance::Client;
using conformance::Error;
using conformance::kOut;
using conformance::kSeqs;
using conformance::kStarts;
using conformance::kTokens;
using conformance::OptionMap;
using conformance::Session;
using conformance::TestGraph;

constexpr uint32_t kI32 = 26, kU8 = 256;

struct TinyConfig {
  WeightFormat format = WeightFormat::kF32;
  uint32_t kv_format = 0;  // F32; 1 = F16
  int64_t page_tokens = 16;
};

// Rows of one step: tokens of sequences in turn; the sequence's row in the page table is its index.
struct TinyStep {
  struct Piece {
    int64_t sequence, begin;  // positions [begin, begin + tokens)
    std::vector<int32_t> tokens;
  };
  std::vector<Piece> pieces;
};

class TinyLlama {
 public:
  static constexpr int64_t kHidden = 256, kFfn = 512, kHeads = 4, kKvHeads = 2, kDim = 64, kVocab = 300, kLayers = 2;
  static constexpr int64_t kMaxTokens = 64, kMaxSeqs = 4, kMaxPages = 300, kKvPages = 700, kMaxPositions = 300;

  TinyLlama(const Client& client, size_t device, const TinyConfig& config)
      : config_(config), session_(client, device), kv_plan_(session_.KvPlan(
            config.kv_format, static_cast<uint32_t>(config.page_tokens), kKvHeads, kDim, kDim)) {
    Build();
    Judge();
    program_ = session_.Compile(graph_);
    Bind();
  }

  // Logits of every row; the code and text of a fault. `break_step` may spoil the step data first.
  template <class Break>
  motley_status Run(const TinyStep& step, std::vector<float>* logits, std::string* text, Break&& break_step) {
    StepData d = Data(step);
    break_step(d);
    const auto write = [&](uint32_t id, const auto& values) {
      if (values.empty()) return;
      session_.Write({slices_[id].buffer, 0, values.size() * sizeof(values[0])}, values.data());
    };
    write(token_, d.token), write(position_, d.position), write(slot_, d.slot), write(row_start_, d.row_start);
    write(kv_len_, d.kv_len), write(seq_row_, d.seq_row), write(out_row_, d.out_row), write(rope_, d.rope);
    write(pages_, d.pages), write(counts_, d.counts);
    const motley_status status = session_.Run(program_, slices_, d.dims, text);
    if (status != MOTLEY_OK) return status;
    logits->resize(d.token.size() * kVocab);
    session_.Read(logits->data(), {slices_[logits_].buffer, 0, logits->size() * sizeof(float)});
    return status;
  }
  std::vector<float> Run(const TinyStep& step) {
    std::vector<float> logits;
    std::string text;
    EXPECT_EQ(Run(step, &logits, &text, [](auto&) {}), MOTLEY_OK) << text;
    return logits;
  }
  // One sequence in steps of `step` tokens.
  std::vector<float> RunPrompt(const std::vector<int32_t>& tokens, int64_t step, int64_t sequence = 0) {
    std::vector<float> all;
    for (size_t i = 0; i < tokens.size(); i += static_cast<size_t>(step)) {
      const size_t end = std::min(tokens.size(), i + static_cast<size_t>(step));
      const auto part = Run({{{sequence, static_cast<int64_t>(i), {tokens.begin() + static_cast<long>(i),
                                                                    tokens.begin() + static_cast<long>(end)}}}});
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  struct StepData {
    std::vector<int32_t> token, position, slot, row_start, kv_len, seq_row, out_row, pages, counts;
    std::vector<float> rope;
    std::vector<int64_t> dims;
  };

  Session& session() { return session_; }
  std::vector<uint8_t> Cache(int64_t layer) {
    return session_.Download<uint8_t>(slices_[kv_[static_cast<size_t>(layer)]]);
  }
  std::vector<float> RawLogits() { return session_.Download<float>(slices_[logits_]); }
  std::vector<motley_verdict> verdicts;

 private:
  uint32_t Temp(int64_t width) { return graph_.Tensor(MOTLEY_ROLE_TEMP, 0, {kTokens, width}, 0, "temp"); }
  uint32_t Weight(int64_t n, int64_t k) {
    const uint32_t id = graph_.Tensor(MOTLEY_ROLE_WEIGHT, static_cast<uint32_t>(config_.format), {n, k}, 0, "weight");
    weights_.push_back({id, RandomStored(config_.format, n, k, 1000 + id), {n, k}});
    return id;
  }
  uint32_t Vector(int64_t n) {
    const uint32_t id = graph_.Tensor(MOTLEY_ROLE_WEIGHT, 0, {n}, MOTLEY_LAYOUT_F32, "vector");
    weights_.push_back({id, RandomStored(WeightFormat::kF32, n, 1, 1000 + id), {n}});
    return id;
  }
  uint32_t Step(uint32_t dtype, std::vector<int64_t> dims, const char* name) {
    return graph_.Tensor(MOTLEY_ROLE_STEP, dtype, std::move(dims), 0, name);
  }
  uint32_t Linear(uint32_t x, int64_t n, int64_t k, bool bias = false) {
    const uint32_t w = Weight(n, k), b = bias ? Vector(n) : MOTLEY_NO_TENSOR, y = Temp(n);
    graph_.Node(Op::kLINEAR, {x, w, b}, {y});
    return y;
  }
  uint32_t Norm(uint32_t x, int64_t symbol = kTokens) {
    const uint32_t y = graph_.Tensor(MOTLEY_ROLE_TEMP, 0, {symbol, kHidden}, 0, "norm");
    graph_.Node(Op::kRMS_NORM, {x, Vector(kHidden)}, {y}, {{"eps", 1e-5}});
    return y;
  }
  uint32_t Add(uint32_t a, uint32_t b) {
    const uint32_t y = Temp(kHidden);
    graph_.Node(Op::kADD, {a, b}, {y});
    return y;
  }

  void Build() {
    graph_.dims[MOTLEY_DIM_N_TOKENS].max = graph_.dims[MOTLEY_DIM_N_OUT].max = kMaxTokens;
    token_ = Step(kI32, {kTokens}, "token");
    position_ = Step(kI32, {kTokens}, "position");
    slot_ = Step(kI32, {kTokens}, "slot");
    rope_ = Step(0, {kTokens, 2, kDim / 2}, "rope");
    row_start_ = Step(kI32, {kStarts}, "row_start");
    kv_len_ = Step(kI32, {kSeqs}, "kv_len");
    seq_row_ = Step(kI32, {kSeqs}, "seq_row");
    pages_ = Step(kI32, {kMaxSeqs, kMaxPages}, "pages");
    counts_ = Step(kI32, {16}, "counts");
    out_row_ = Step(kI32, {kOut}, "out_row");
    const uint32_t embedding = Weight(kVocab, kHidden);
    uint32_t x = Temp(kHidden);
    graph_.Node(Op::kEMBED, {token_, embedding}, {x});
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      const uint32_t n1 = Norm(x);
      const uint32_t q = Linear(n1, kHeads * kDim, kHidden), k = Linear(n1, kKvHeads * kDim, kHidden, true);
      const uint32_t v = Linear(n1, kKvHeads * kDim, kHidden);
      kv_.push_back(graph_.Tensor(MOTLEY_ROLE_STATE, kU8, {kKvPages, static_cast<int64_t>(kv_plan_.page_bytes)},
                                  kv_plan_.layout, "kv"));
      const uint32_t a = Temp(kHeads * kDim);
      graph_.Node(Op::kATTENTION,
                  {q, k, v, Vector(kDim), Vector(kDim), position_, slot_, rope_, row_start_, kv_len_, seq_row_, pages_,
                   counts_, kv_.back()},
                  {a},
                  {{"n_heads", kHeads}, {"n_kv_heads", kKvHeads}, {"head_dim", kDim}, {"v_dim", kDim},
                   {"rotary_dim", kDim}, {"rope_style", int64_t{0}}, {"page_tokens", config_.page_tokens},
                   {"kv_format", static_cast<int64_t>(config_.kv_format)}, {"scale", 0.05}, {"qk_norm_eps", 1e-6}});
      const uint32_t x1 = Add(x, Linear(a, kHidden, kHeads * kDim));
      const uint32_t n2 = Norm(x1);
      const uint32_t gate = Linear(n2, kFfn, kHidden), up = Linear(n2, kFfn, kHidden), s = Temp(kFfn);
      graph_.Node(Op::kSWIGLU, {gate, up}, {s});
      x = Add(Linear(s, kHidden, kFfn), x1);
    }
    const uint32_t rows = graph_.Tensor(MOTLEY_ROLE_TEMP, 0, {kOut, kHidden}, 0, "rows");
    graph_.Node(Op::kGATHER_ROWS, {x, out_row_}, {rows});
    logits_ = graph_.Tensor(MOTLEY_ROLE_OUTPUT, 0, {kOut, kVocab}, 0, "logits");
    graph_.Node(Op::kLINEAR, {Norm(rows, kOut), embedding, MOTLEY_NO_TENSOR}, {logits_});
  }

  // Asks for verdicts, and takes the layouts that they name.
  void Judge() {
    verdicts.resize(graph_.nodes.size());
    const std::vector<int64_t> at = {1, 1, 1, 1, 2};
    Error err;
    ASSERT_EQ(session_.api->supports(session_.device, graph_.Abi(), at.data(), at.size(),
                                     {verdicts.data(), verdicts.size(), sizeof(motley_verdict), 0}, &err),
              MOTLEY_OK)
        << err.Text();
    for (const motley_verdict& v : verdicts) ASSERT_EQ(v.ok, 1u) << v.text;
    for (Loaded& w : weights_) {
      if (w.dims.size() == 2) graph_.tensors[w.id].layout = verdicts[0].layouts[0];
    }
  }

  void Bind() {
    slices_.resize(graph_.tensors.size());
    for (size_t id = 0; id < graph_.tensors.size(); ++id) {
      const motley_tensor& t = graph_.tensors[id];
      if (t.role == MOTLEY_ROLE_TEMP || t.role == MOTLEY_ROLE_WEIGHT) continue;
      uint64_t bytes = t.dtype == kU8 ? 1 : 4;
      for (int32_t d = 0; d < t.rank; ++d) {
        bytes *= static_cast<uint64_t>(t.dims[d] < 0 ? graph_.dims[static_cast<size_t>(~t.dims[d])].max : t.dims[d]);
      }
      slices_[id] = session_.Upload(std::vector<uint8_t>(bytes, 0xff), MOTLEY_USAGE_WORK);
    }
    for (const Loaded& w : weights_) {
      const motley_tensor& t = graph_.tensors[w.id];
      slices_[w.id] = session_.LoadWeight(w.bytes, t.dtype, w.dims, t.layout);
    }
  }

  StepData Data(const TinyStep& step) const {
    StepData d;
    d.pages.assign(kMaxSeqs * kMaxPages, -1);
    const int64_t per_sequence = (kMaxPositions + config_.page_tokens - 1) / config_.page_tokens;
    for (int64_t s = 0; s < 2; ++s) {  // two sequences, their pages interleaved and backwards
      for (int64_t p = 0; p < per_sequence; ++p) {
        d.pages[static_cast<size_t>(s * kMaxPages + p)] = static_cast<int32_t>(2 * (per_sequence - 1 - p) + s);
      }
    }
    d.row_start.push_back(0);
    for (const TinyStep::Piece& piece : step.pieces) {
      for (size_t i = 0; i < piece.tokens.size(); ++i) {
        const int64_t p = piece.begin + static_cast<int64_t>(i);
        d.token.push_back(piece.tokens[i]);
        d.position.push_back(static_cast<int32_t>(p));
        const int32_t page = d.pages[static_cast<size_t>(piece.sequence * kMaxPages + p / config_.page_tokens)];
        d.slot.push_back(static_cast<int32_t>(page * config_.page_tokens + p % config_.page_tokens));
        d.out_row.push_back(static_cast<int32_t>(d.out_row.size()));
        for (const bool sine : {false, true}) {
          for (int64_t j = 0; j < kDim / 2; ++j) {
            const double angle = static_cast<double>(p) * std::pow(1e4, -2.0 * static_cast<double>(j) / kDim);
            d.rope.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
          }
        }
      }
      d.row_start.push_back(static_cast<int32_t>(d.token.size()));
      d.kv_len.push_back(static_cast<int32_t>(piece.begin + static_cast<int64_t>(piece.tokens.size())));
      d.seq_row.push_back(static_cast<int32_t>(piece.sequence));
    }
    const int64_t n = static_cast<int64_t>(d.token.size()), seqs = static_cast<int64_t>(step.pieces.size());
    d.dims = {n, seqs, n, 1, seqs + 1};
    d.counts.assign(16, 0);
    for (size_t i = 0; i < d.dims.size(); ++i) d.counts[i] = static_cast<int32_t>(d.dims[i]);
    return d;
  }

  struct Loaded {
    uint32_t id;
    std::vector<uint8_t> bytes;
    std::vector<int64_t> dims;
  };

  const TinyConfig config_;
  Session session_;
  const motley_kv_plan kv_plan_;
  TestGraph graph_;
  std::vector<Loaded> weights_;
  std::vector<uint32_t> kv_;
  uint32_t token_, position_, slot_, rope_, row_start_, kv_len_, seq_row_, pages_, counts_, out_row_, logits_;
  motley_program* program_ = nullptr;
  std::vector<motley_slice> slices_;
};

inline std::vector<int32_t> Prompt(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(random() % TinyLlama::kVocab));
  return tokens;
}

}  // namespace motley::cpu::test
