// The tile layer against the definition of its product. In the table avx2 that is the model; on a CPU with AMX the
// kernels on top of it are compared with the others bit for bit (linear_test.cc).
#include <gtest/gtest.h>

#include <random>

#define MOTLEY_CPU_ISA model
#define MOTLEY_CPU_AVX2
#include "plugins/cpu_avx512/kernels/amx_tiles.h"

namespace motley::cpu::model {
namespace {

TEST(TileModel, ProductsAreSumsOfSignedTimesUnsignedBytes) {
  constexpr int kRows = 5, kK = 12, kColumns = 7;  // all unlike each other and unlike the full shape
  std::mt19937 random(3);
  int8_t a[kRows][32];
  uint8_t b[kK / 4][64];
  for (auto& row : a) for (int8_t& v : row) v = static_cast<int8_t>(random());
  for (auto& row : b) for (uint8_t& v : row) v = static_cast<uint8_t>(random());
  a[0][0] = -128, b[0][0] = 255;
  TileShapes shapes;
  shapes.Set(0, kRows, kColumns * 4);
  shapes.Set(1, kRows, kK);
  shapes.Set(2, kK / 4, kColumns * 4);
  Tiles tiles(shapes);
  int32_t c[kRows][kColumns + 1];
  for (auto& row : c) for (int32_t& v : row) v = 1000;
  tiles.Load<0>(c, sizeof c[0]);
  tiles.Load<1>(a, sizeof a[0]);
  tiles.Load<2>(b, sizeof b[0]);
  tiles.Dot<0, 1, 2>();
  tiles.Store<0>(c, sizeof c[0]);
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kColumns; ++n) {
      int32_t expected = 1000;
      for (int k = 0; k < kK; ++k) expected += a[m][k] * b[k / 4][n * 4 + k % 4];
      EXPECT_EQ(c[m][n], expected) << m << " " << n;
    }
    EXPECT_EQ(c[m][kColumns], 1000) << "outside of the shape";
  }
}

// Golden bytes of LDTILECFG's operand, by the manual's table of the configuration.
TEST(TileShapes, LieAsTheInstructionReadsThem) {
  TileShapes shapes;
  shapes.Set(2, 16, 32);
  uint8_t bytes[64];
  std::memcpy(bytes, &shapes, sizeof bytes);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(bytes[i], i == 0 ? 1 : i == 16 + 2 * 2 ? 32 : i == 48 + 2 ? 16 : 0) << i;
}

}  // namespace
}  // namespace motley::cpu::model
