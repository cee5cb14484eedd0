// Linear over quantised weights with AMX tiles, for many rows; few rows go the way of linear_vnni.cc. The integers, and
// so all bits, are those of the other kernels.
//
// A panel of two weight tiles, unpacked for all rows, is already what a tile product wants as its second factor
// ([k / 4][16 outputs][4]). For sixteen rows of activations at a time, the integer products of a chunk of k are made
// first, block by block, then each row's chain of f32 runs over them.
#include <iterator>
#include <utility>

#include "plugins/cpu_avx512/kernels/amx_tiles.h"
#include "plugins/cpu_avx512/kernels/functions.h"
#include "plugins/cpu_avx512/kernels/panel.h"

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

constexpr int kTileGroup = 16;  // rows of activations

// Blocks of activations from one block of k to the next, for this row: the rows of its group.
int64_t BlockStep(const LinearCall& c, int64_t row) {
  const int64_t left = c.rows - row / kGroupRows * kGroupRows;
  return left < kGroupRows ? left : kGroupRows;
}

// What one group of rows needs of one chunk. A part of k has scales of its own: a block, or half of one.
struct alignas(64) ChunkWork {
  int8_t rows[kChunkBlocks][kTileGroup][32];                               // activations, by block
  int32_t dots[2 * kChunkBlocks][kPanelTiles][kTileGroup][kTileRows];      // by part
};
static_assert(sizeof(Panel) + kMaxRowsPerCall * kPanelTiles * 16 * 4 + sizeof(ChunkWork) <= kLinearScratchBytes);

template <Product p>
TileShapes ShapesFor() {
  constexpr int kPartBytes = 32 / p.parts;
  TileShapes shapes;
  shapes.Set(0, kTileGroup, 64);
  shapes.Set(1, kTileGroup, 64);
  shapes.Set(2, kTileGroup, kPartBytes);
  shapes.Set(3, kPartBytes / 4, 64);
  shapes.Set(4, kPartBytes / 4, 64);
  return shapes;
}

// The activations of rows [row, row + count), block by block; rows that are not there repeat the last.
void GatherRows(const LinearCall& c, int64_t row, int64_t count, int64_t done, int64_t blocks, ChunkWork* work,
                const ActivationBlock** first) {
  for (int64_t m = 0; m < kTileGroup; ++m) {
    const int64_t r = row + (m < count ? m : count - 1);
    first[m] = c.blocks + ActivationIndex(r, done, c.rows, c.n_in / 32);
    const int64_t step = BlockStep(c, r);
    for (int64_t b = 0; b < blocks; ++b) __builtin_memcpy(work->rows[b][m], first[m][b * step].q, 32);
  }
}

template <Product p>
void MultiplyChunk(Tiles& tiles, const Panel& panel, int64_t blocks, ChunkWork* work) {
  constexpr int kParts = p.parts, kPartBytes = 32 / kParts;
  const uint8_t* w = panel.weights;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int part = 0; part < kParts; ++part, w += kPartBytes / 4 * kPanelTiles * 64) {
      tiles.Zero<0>();
      tiles.Zero<1>();
      tiles.Load<2>(work->rows[b][0] + part * kPartBytes, 32);
      tiles.Load<3>(w, kPanelTiles * 64);
      tiles.Load<4>(w + 64, kPanelTiles * 64);
      tiles.Dot<0, 2, 3>();
      tiles.Dot<1, 2, 4>();
      tiles.Store<0>(work->dots[b * kParts + part][0], 64);
      tiles.Store<1>(work->dots[b * kParts + part][1], 64);
    }
  }
}

// The chain of one row over a chunk.
template <Product p>
void AccumulateRow(const Panel& panel, const ChunkWork& work, int64_t blocks, int64_t m, const ActivationBlock* x,
                   int64_t step, bool first_chunk, float* sums) {
  __m512 acc[kPanelTiles];
  for (int t = 0; t < kPanelTiles; ++t) acc[t] = first_chunk ? _mm512_setzero_ps() : _mm512_load_ps(sums + t * 16);
  for (int64_t b = 0; b < blocks; ++b, x += step) {
    for (int half = 0; half < p.parts; ++half) {
      const int64_t part = b * p.parts + half;
      for (int t = 0; t < kPanelTiles; ++t) {
        const __m512i dot = _mm512_add_epi32(Start<p>(*x, half), _mm512_load_si512(work.dots[part][t][m]));
        const Scales s = {_mm512_load_ps(panel.scale + (part * kPanelTiles + t) * 16),
                          p.has_min ? _mm512_load_ps(panel.min + (part * kPanelTiles + t) * 16) : _mm512_setzero_ps()};
        acc[t] = Accumulate<p>(acc[t], dot, *x, half, s);
      }
    }
  }
  for (int t = 0; t < kPanelTiles; ++t) _mm512_store_ps(sums + t * 16, acc[t]);
}

// Two weight tiles for all rows of [row_begin, row_end).
template <F f>
void TilePanel(Tiles& tiles, const LinearCall& c, int64_t tile, int count, int64_t row_begin, int64_t row_end,
               void* scratch) {
  Panel* panel = static_cast<Panel*>(scratch);
  ChunkWork* work = reinterpret_cast<ChunkWork*>(panel + 1);
  float* sums = reinterpret_cast<float*>(work + 1);  // [row][2][16]
  const int64_t blocks = c.n_in / 32, tile_bytes = TileBytes(f, c.n_in), rows = row_end - row_begin;
  const uint8_t* chunk = c.weight + tile * tile_bytes;
  for (int64_t done = 0; done < blocks; done += kChunkBlocks) {
    const int64_t here = blocks - done < kChunkBlocks ? blocks - done : kChunkBlocks;
    UnpackPanel<f>(chunk, tile_bytes, count, here, panel);
    for (int64_t m = 0; m < rows; m += kTileGroup) {
      const int64_t group = rows - m < kTileGroup ? rows - m : kTileGroup;
      const ActivationBlock* x[kTileGroup];
      GatherRows(c, row_begin + m, group, done, here, work, x);
      MultiplyChunk<ProductOf(f)>(tiles, *panel, here, work);
      for (int64_t i = 0; i < group; ++i) {
        AccumulateRow<ProductOf(f)>(*panel, *work, here, i, x[i], BlockStep(c, row_begin + m + i), done == 0,
                         sums + (m + i) * kPanelTiles * 16);
      }
    }
    chunk += ChunkBytes(f, here);
  }
  for (int64_t m = 0; m < rows; ++m) {
    for (int t = 0; t < count; ++t) {
      Finish(c, _mm512_load_ps(sums + (m * kPanelTiles + t) * 16), tile + t, row_begin + m);
    }
  }
}

template <F f>
void LinearTiles(const LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  Tiles tiles(ShapesFor<ProductOf(f)>());
  for (int64_t t = t0; t < t1; t += kPanelTiles) {
    TilePanel<f>(tiles, c, t, t1 - t < kPanelTiles ? 1 : kPanelTiles, r0, r1, scratch);
  }
}

// Finds the format of the call among the rows of the table.
template <size_t... rows>
void LinearAny(std::index_sequence<rows...>, const LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1,
               void* scratch) {
  const auto run_if = [&](auto row) {
    constexpr F kFormat = kFormats[row].format;
    if constexpr (IsQuantised(kFormat)) {
      if (c.format == kFormat) LinearTiles<kFormat>(c, t0, t1, r0, r1, scratch);
    }
  };
  (run_if(std::integral_constant<size_t, rows>{}), ...);
}

}  // namespace

void LinearAmx(const LinearCall& c, int64_t t0, int64_t t1, int64_t r0, int64_t r1, void* scratch) {
  // Fewer rows leave most of a tile empty, and read the weights faster the other way.
  if (r1 - r0 < kTileGroup) return vnni::Linear(c, t0, t1, r0, r1, scratch);
  LinearAny(std::make_index_sequence<std::size(kFormats)>{}, c, t0, t1, r0, r1, scratch);
}

}  // namespace motley::cpu::MOTLEY_CPU_ISA
