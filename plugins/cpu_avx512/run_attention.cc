// A stage of attention: keys and values written, then rows and heads handed out to the threads.
#include <algorithm>
#include <utility>

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

// Rows an item: as many as one call takes, unless that leaves too few items for the threads.
int64_t RowsAnItem(const Sequences& seqs, int64_t heads, int64_t per_row, int64_t threads) {
  constexpr int64_t kItemsAThread = 4;
  int64_t rows = std::max<int64_t>(1, kMaxQueries / heads);
  while (rows > 1 && rows * heads > kQueryGroup && CountItems(seqs, rows) * per_row < kItemsAThread * threads) rows = (rows + 1) / 2;
  return rows;
}

// `total` items cut for the threads: each round hands out half of what is left in a piece a thread. So pieces are long
// at first (queries are prepared once, keys fetched ahead) and single at the end, where threads wait for each other.
struct Pieces {
  int64_t total, threads;

  int64_t Count() const {
    int64_t count = 0, left = total;
    for (int64_t size; (size = left / (2 * threads)) > 1; left -= size * threads) count += threads;
    return count + left;
  }
  std::pair<int64_t, int64_t> operator[](int64_t index) const {
    int64_t begin = 0;
    for (int64_t size; (size = (total - begin) / (2 * threads)) > 1; begin += size * threads, index -= threads) {
      if (index < threads) return {begin + index * size, begin + (index + 1) * size};
    }
    return {begin + index, begin + index + 1};
  }
};

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
  if (tokens > stage.split_rows || longest < kKeyChunk) {
    const int64_t rows = RowsAnItem(seqs, heads, per_row, m.n);
    PhaseOf(args, index, 1).Run(CountItems(seqs, rows) * per_row, 1, [&](int64_t i, int64_t) {
      const Item item = FindItem(seqs, i / per_row, rows);
      kernels.attend(call, seqs.PagesOf(item.sequence), item.first, item.count, i % per_row * heads, heads, m.own);
    });
    return;
  }

  // Few rows with many keys: threads share a row by chunks, which are merged in order.
  float* parts = reinterpret_cast<float*>(args.scratch + layout_.parts);
  const int64_t head_floats = stage.max_chunks * (call.v_dim + 2);
  const int64_t chunks = longest / kKeyChunk + 1, items = tokens * per_row;
  const Pieces pieces{items * chunks, m.n};
  PhaseOf(args, index, 1).Run(pieces.Count(), 1, [&](int64_t piece, int64_t) {
    auto [i, end] = pieces[piece];
    while (i < end) {
      const int64_t item = i / chunks, chunk = i % chunks, token = item / per_row;
      const int64_t stop = std::min(chunk + end - i, chunks);
      const int64_t there = std::min<int64_t>(stop, call.position[token] / kKeyChunk + 1);
      i += stop - chunk;
      if (chunk >= there) continue;
      int64_t s = 0;
      while (token >= seqs.row_start[s + 1]) ++s;
      kernels.attend_chunks(call, seqs.PagesOf(s), token, item % per_row * heads, heads, chunk, there,
                            parts + item * heads * head_floats, head_floats, m.own);
    }
  });
  const int64_t merges = tokens * call.n_heads;
  PhaseOf(args, index, 2).Run(merges, std::max<int64_t>(1, merges / (m.n * 8)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      kernels.merge_chunks(call, i / call.n_heads, i % call.n_heads, parts + i * head_floats);
    }
  });
}

}  // namespace motley::cpu
