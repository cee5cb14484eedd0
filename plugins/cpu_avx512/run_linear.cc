// A stage of linears: activations prepared (norm or swiglu, rounding), then tiles handed out to the threads.
#include <algorithm>

#include "plugins/cpu_avx512/program.h"

namespace motley::cpu {
namespace {

int64_t Units(const LinearPart& part, int64_t unit_tiles) {
  return (Tiles(part.n_out) + unit_tiles - 1) / unit_tiles;
}

// Tiles are handed out in fours, which the kernels read as four streams; in twos where that would leave so few
// pieces that some thread waits for the last.
int64_t UnitTiles(const Stage& stage, int64_t rows, int64_t threads) {
  if (rows > kGroupRows) return 4;  // panels of four tiles
  int64_t units = 0;
  for (const LinearPart& part : stage.parts) units += Units(part, 4);
  return units < 16 * threads ? 2 : 4;
}

}  // namespace

void CpuProgram::PrepareRows(const Stage& stage, const Member& m, int64_t rows, int64_t begin, int64_t end,
                             ActivationBlock* blocks, float* floats) const {
  const int64_t k = stage.width;
  const float* a = m.args->As<float>(stage.a);
  float* own = reinterpret_cast<float*>(m.own + layout_.own_floats);
  for (int64_t r = begin; r < end; ++r) {
    const float* row = a + r * k;
    if (stage.before != Stage::Before::kNothing) {
      float* to = stage.floats ? floats + r * k : own;
      if (stage.before == Stage::Before::kRmsNorm) {
        kernels_->table->rms_norm_row(row, m.args->As<float>(stage.b), k, stage.eps, to);
      } else {
        kernels_->table->swiglu_row(row, m.args->As<float>(stage.b) + r * k, k, to);
      }
      row = to;
    }
    if (stage.quantised) kernels_->table->quantise_rows(row, 0, rows, k, r, r + 1, blocks);
  }
}

void CpuProgram::RunLinear(size_t index, const Member& m) const {
  const Stage& stage = stages_[index];
  const plugin::RunArgs& args = *m.args;
  const int64_t rows = Rows(args, stage.a), k = stage.width;
  if (rows == 0) return;

  const bool own = rows <= kOwnRows;
  auto* blocks = reinterpret_cast<ActivationBlock*>(own ? m.own + layout_.own_blocks : args.scratch + layout_.blocks);
  auto* floats = reinterpret_cast<float*>(own ? m.own + layout_.own_floats : args.scratch + layout_.floats);
  if (!own && (stage.quantised || stage.before != Stage::Before::kNothing)) {
    PhaseOf(args, index, 0).Run(rows, std::max<int64_t>(1, rows / (m.n * 4)), [&](int64_t begin, int64_t end) {
      PrepareRows(stage, m, rows, begin, end, blocks, floats);
    });
  }

  const int64_t unit_tiles = UnitTiles(stage, rows, m.n);
  int64_t units = 0;
  for (const LinearPart& part : stage.parts) units += Units(part, unit_tiles);
  // Floats take four bytes a value, not two.
  const int64_t rows_at_once = RowsPerCall(stage.floats ? 2 * k : k);
  const int64_t items = units * ((rows + rows_at_once - 1) / rows_at_once);
  // Small enough pieces that the last one does not keep the others waiting, large enough to be long streams.
  const int64_t piece = std::max<int64_t>(1, items / (m.n * 32));
  bool prepared = !own;
  PhaseOf(args, index, 1).Run(items, piece, [&](int64_t item, int64_t end) {
    if (!prepared) PrepareRows(stage, m, rows, 0, rows, blocks, floats);
    prepared = true;
    while (item < end) {
      // As many units of one part and one cut of rows as there are.
      int64_t unit = item % units;
      const int64_t row = item / units * rows_at_once;
      size_t p = 0;
      while (unit >= Units(stage.parts[p], unit_tiles)) unit -= Units(stage.parts[p++], unit_tiles);
      const LinearPart& part = stage.parts[p];
      const int64_t count = std::min(end - item, Units(part, unit_tiles) - unit);
      LinearCall call{};
      call.format = part.format;
      call.weight = args.As<uint8_t>(part.weight);
      call.n_out = part.n_out;
      call.n_in = k;
      call.x = stage.before == Stage::Before::kNothing ? args.As<float>(stage.a) : floats;
      call.x_stride = k;
      call.blocks = blocks;
      call.rows = rows;
      call.y = args.As<float>(part.y);
      call.y_stride = part.n_out;
      call.bias = part.bias == kNone ? nullptr : args.As<float>(part.bias);
      call.residual = part.residual == kNone ? nullptr : args.As<float>(part.residual);
      call.residual_stride = part.n_out;
      call.factor = FactorOf(args, part.weight);
      const LinearFn run = IsQuantised(part.format) ? kernels_->quantised : kernels_->table->linear_float;
      run(call, unit * unit_tiles, std::min((unit + count) * unit_tiles, Tiles(part.n_out)), row,
          std::min(row + rows_at_once, rows), m.own);
      item += count;
    }
  });
}

}  // namespace motley::cpu
