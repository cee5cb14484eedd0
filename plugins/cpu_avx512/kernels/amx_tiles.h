// The tile layer: eight registers of up to 16 rows of 64 bytes, and a product of matrices of bytes between them.
//
// On a CPU with AMX these are its instructions; in the table avx2 a model of them in plain code, with the same shapes
// and the same integers, so that what is built on tiles is tested on any machine. Source of both: Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 1 chapter 18 and volume 2 (LDTILECFG, TILELOADD, TDPBSUD).
#pragma once

#include <cstdint>
#include <cstring>

namespace motley::cpu::MOTLEY_CPU_ISA {
namespace {

constexpr int kTileRegisters = 8;

// LDTILECFG's operand. Registers that are not used stay 0.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void Set(int tile, int tile_rows, int tile_row_bytes) {
    rows[tile] = static_cast<uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<uint16_t>(tile_row_bytes);
  }
};
static_assert(sizeof(TileShapes) == 64);

#ifdef MOTLEY_CPU_AVX2

class Tiles {
 public:
  explicit Tiles(const TileShapes& shapes) : shapes_(shapes) {}

  template <int t>
  void Zero() {
    std::memset(bytes_[t], 0, sizeof bytes_[t]);
  }
  template <int t>
  void Load(const void* from, int64_t stride) {
    Zero<t>();
    for (int r = 0; r < shapes_.rows[t]; ++r) {
      std::memcpy(bytes_[t] + r * 64, static_cast<const uint8_t*>(from) + r * stride, shapes_.row_bytes[t]);
    }
  }
  template <int t>
  void Store(void* to, int64_t stride) const {
    for (int r = 0; r < shapes_.rows[t]; ++r) {
      std::memcpy(static_cast<uint8_t*>(to) + r * stride, bytes_[t] + r * 64, shapes_.row_bytes[t]);
    }
  }
  // c[m][n] += sum over k of a[m][k] * b[k / 4][n][k % 4]: int32, signed, unsigned bytes.
  template <int c, int a, int b>
  void Dot() {
    const auto* signed_bytes = reinterpret_cast<const int8_t*>(bytes_[a]);
    for (int m = 0; m < shapes_.rows[c]; ++m) {
      for (int n = 0; n < shapes_.row_bytes[c] / 4; ++n) {
        int32_t sum;
        std::memcpy(&sum, bytes_[c] + m * 64 + n * 4, 4);
        for (int k = 0; k < shapes_.row_bytes[a]; ++k) {
          sum += signed_bytes[m * 64 + k] * bytes_[b][k / 4 * 64 + n * 4 + k % 4];
        }
        std::memcpy(bytes_[c] + m * 64 + n * 4, &sum, 4);
      }
    }
  }

 private:
  const TileShapes shapes_;
  alignas(64) uint8_t bytes_[kTileRegisters][16 * 64] = {};
};

#else

// In assembly, since g++ 12 may drop the store of a configuration that it sees only an intrinsic read.
class Tiles {
 public:
  explicit Tiles(const TileShapes& shapes) { __asm__ volatile("ldtilecfg %0" ::"m"(shapes)); }
  ~Tiles() { __asm__ volatile("tilerelease"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int t>
  void Zero() {
    __asm__ volatile("tilezero %%tmm%c0" ::"n"(t));
  }
  template <int t>
  void Load(const void* from, int64_t stride) {
    __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"n"(t), "r"(from), "r"(stride) : "memory");
  }
  template <int t>
  void Store(void* to, int64_t stride) const {
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"n"(t), "r"(to), "r"(stride) : "memory");
  }
  template <int c, int a, int b>
  void Dot() {
    __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"n"(c), "n"(a), "n"(b));
  }
};

#endif

}  // namespace
}  // namespace motley::cpu::MOTLEY_CPU_ISA
