// A stage of attention: keys and values written, then rows and heads handed out to the threads.
#include <algorithm>

#include "plugins/cpu_avx512/program.h"

namespace motley::cpu {
namespace {

// The sequences of a step, as attention needs them.
struct Sequences {
  const int32_t *row_start, *seq_row, *pages;
  int64_t n_seqs, max_pages;

  const int32_t* PagesOf(int64_t s) const { return pages + seq_row[s] * max_pages; }
};

// Rows of one sequence that one item takes, cut at the sequence's first row.
struct Item {
  int64_t sequence, first, count;
};

int64_t CountItems(const Sequences& seqs, int64_t rows) {
  int64_t items = 0;
  for (int64_t s = 0; s < seqs.n_seqs; ++s) items += (seqs.row_start[s + 1] - seqs.row_start[s] + rows - 1) / rows;
  return items;
}

// Item `index` of them.
Item FindItem(const Sequences& seqs, int64_t index, int64_t rows) {
  for (int64_t s = 0; s < seqs.n_seqs; ++s) {
    const int64_t begin = seqs.row_start[s], end = seqs.row_start[s + 1];
    const int64_t items = (end - begin + rows - 1) / rows;
    if (index < items) {
      // The last rows see the most keys: they come first, so that no thread starts them when the others are done.
      const int64_t first = begin + (items - 1 - index) * rows;
      return {s, first, std::min(rows, end - first)};
    }
    index -= items;
  }
  return {0, 0, 0};
}

}  // namespace

void CpuProgram::RunAttention(size_t index, const Member& m) const {
  const AttentionStage& stage = attention_[index];
  const plugin::GraphNode& node = graph().nodes[stage.node];
  const plugin::RunArgs& args = *m.args;
  const auto floats = [&](size_t operand) {
    return node.Has(operand) ? args.As<const float>(node.in[operand]) : nullptr;
  };
  const auto& kernels = *kernels_->table;
  AttentionCall call = stage.call;
  call.q = floats(0);
  call.k = floats(1);
  call.v = floats(2);
  call.q_norm = floats(3);
  call.k_norm = floats(4);
  call.rope = floats(7);
  call.position = args.As<int32_t>(node.in[5]);
  call.slot = args.As<int32_t>(node.in[6]);
  call.kv = args.As<uint8_t>(node.in[13]);
  call.page_bytes = args.Extent(graph().tensors[node.in[13]].dims[1]);
  call.y = args.As<float>(node.out[0]);
  const Sequences seqs = {args.As<int32_t>(node.in[8]), args.As<int32_t>(node.in[10]), args.As<int32_t>(node.in[11]),
                          Rows(args, node.in[9]), args.Extent(graph().tensors[node.in[11]].dims[1])};
  const int64_t tokens = Rows(args, node.in[0]), heads = stage.heads_per_item, per_row = stage.items_per_row;

  const int64_t writes = tokens * call.n_kv_heads;
  PhaseOf(args, index, 0).Run(writes, std::max<int64_t>(1, writes / (m.n * 4)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) kernels.write_kv(call, i / call.n_kv_heads, i % call.n_kv_heads, m.own);
  });

  int32_t longest = 0;
  for (int64_t t = 0; t < tokens; ++t) longest = std::max(longest, call.position[t]);
  if (tokens > stage.split_rows || longest < kKeyChunk || m.n == 1) {
    const int64_t rows = std::max<int64_t>(1, kMaxQueries / heads);
    PhaseOf(args, index, 1).Run(CountItems(seqs, rows) * per_row, 1, [&](int64_t i, int64_t) {
      const Item item = FindItem(seqs, i / per_row, rows);
      kernels.attend(call, seqs.PagesOf(item.sequence), item.first, item.count, i % per_row * heads, heads, m.own);
    });
    return;
  }

  // Few rows with many keys: threads share a row by chunks, which are merged in order.
  float* parts = reinterpret_cast<float*>(args.scratch + layout_.parts);
  const int64_t item_floats = stage.max_chunks * heads * (call.v_dim + 2);
  const int64_t chunks = longest / kKeyChunk + 1, items = tokens * per_row;
  PhaseOf(args, index, 1).Run(items * chunks, 1, [&](int64_t i, int64_t) {
    const int64_t item = i / chunks, chunk = i % chunks, token = item / per_row;
    if (chunk * kKeyChunk > call.position[token]) return;
    int64_t s = 0;
    while (token >= seqs.row_start[s + 1]) ++s;
    kernels.attend_chunk(call, seqs.PagesOf(s), token, item % per_row * heads, heads, chunk, parts + item * item_floats, m.own);
  });
  PhaseOf(args, index, 2).Run(items, 1, [&](int64_t item, int64_t) {
    kernels.merge_chunks(call, item / per_row, item % per_row * heads, heads, parts + item * item_floats);
  });
}

}  // namespace motley::cpu
