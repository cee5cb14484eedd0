#include <gtest/gtest.h>

#include "tests/unit/cpu_avx512/oracle.h"

namespace motley::cpu::test {
namespace {

class PackKernels : public WithKernels {};
MOTLEY_TEST_KERNELS(PackKernels);

// Values of the stored formats have at most 22 bits but for those with a minimum, which round once: so float(double) is it.
TEST_P(PackKernels, UnpackedRowsAreTheStoredValuesBitForBit) {
  for (const WeightFormat f : kAllFormats) {
    for (const int64_t n : {1, 15, 16, 17, 40}) {
      for (const int64_t units : {1, 2, 9, 18}) {
        const int64_t k = IsQuantised(f) ? units * BlockElems(f) : units * 7;
        const auto stored = RandomStored(f, n, k, static_cast<uint32_t>(n * 100 + units));
        const auto packed = Pack(f, stored, n, k);
        const auto expected = StoredValues(f, stored, n, k);
        std::vector<float> row(static_cast<size_t>(k));
        for (int64_t r = 0; r < n; ++r) {
          K().unpack_row(f, packed.data(), k, r, row.data());
          for (int64_t e = 0; e < k; ++e) {
            ASSERT_EQ(row[static_cast<size_t>(e)], static_cast<float>(expected[static_cast<size_t>(r * k + e)]))
                << Name(f) << " n " << n << " k " << k << " row " << r << " element " << e;
          }
        }
      }
    }
  }
}

// Scales of one byte: all of them, NaN codes and the ends of the range too.
TEST_P(PackKernels, EveryScaleByteUnpacksBitForBit) {
  for (const WeightFormat f : {WeightFormat::kMXFP4, WeightFormat::kNVFP4}) {
    const int64_t k = 256 * BlockElems(f), scales = f == WeightFormat::kNVFP4 ? 4 : 1;
    auto stored = RandomStored(f, 1, k, 3);
    for (size_t i = 0; i < 256; ++i) {
      for (int64_t j = 0; j < scales; ++j) {
        stored[i * static_cast<size_t>(StoredBlockOf(f).bytes) + static_cast<size_t>(j)] = static_cast<uint8_t>(i + 64 * static_cast<size_t>(j));
      }
    }
    std::vector<float> expected(static_cast<size_t>(k)), row(expected);
    plugin::FindDequant(static_cast<uint32_t>(f))(reinterpret_cast<const std::byte*>(stored.data()), k, expected.data());
    const auto packed = Pack(f, stored, 1, k);
    K().unpack_row(f, packed.data(), k, 0, row.data());
    EXPECT_EQ(std::memcmp(row.data(), expected.data(), row.size() * sizeof(float)), 0) << Name(f);
  }
}

TEST_P(PackKernels, GoldenBytesOfOneTileOfQ4_0) {
  // One row: d = 1.0 (0x3c00), element i = nibble i % 16. Stored byte j: low = element j, high = element j + 16.
  std::vector<uint8_t> stored(18);
  stored[0] = 0x00, stored[1] = 0x3c;
  for (int j = 0; j < 16; ++j) stored[static_cast<size_t>(2 + j)] = static_cast<uint8_t>(j | j << 4);
  const auto packed = Pack(WeightFormat::kQ4_0, stored, 1, 32);
  ASSERT_EQ(packed.size(), 64u + 256u);
  EXPECT_EQ(packed[0], 0x00);
  EXPECT_EQ(packed[1], 0x3c);
  const uint8_t* data = packed.data() + 64;
  // Group pairs (0,1), (2,3), (0,1), (2,3) of k: low nibble k = 8 i + j, high k = 8 i + 4 + j.
  const uint8_t expected[4][4] = {{0x40, 0x51, 0x62, 0x73}, {0xc8, 0xd9, 0xea, 0xfb}, {0x40, 0x51, 0x62, 0x73},
                                  {0xc8, 0xd9, 0xea, 0xfb}};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 64; ++j) EXPECT_EQ(data[i * 64 + j], j < 4 ? expected[i][j] : 0) << i << " " << j;
  }
}

TEST_P(PackKernels, PackedBytesAreAtMostFivePercentAboveStored) {
  for (const WeightFormat f : kAllFormats) {
    for (const int64_t k : {256, 576, 1536, 2048, 4096, 14336}) {
      if (k % BlockElems(f) != 0) continue;
      EXPECT_LE(static_cast<double>(PackedBytes(f, 4096, k)), 1.05 * 4096.0 * static_cast<double>(StoredRowBytes(f, k)))
          << Name(f) << " k " << k;
    }
  }
  EXPECT_LE(static_cast<double>(PackedBytes(WeightFormat::kQ4_K, 4096, 4096)), 4.75 / 8 * 4096 * 4096);
}

TEST_P(PackKernels, TilesPackedOneByOneAreTheSame) {
  for (const WeightFormat f : kAllFormats) {
    const int64_t n = 50, k = 512;
    const auto stored = RandomStored(f, n, k, 7);
    const auto whole = Pack(f, stored, n, k);
    Aligned<uint8_t> parts(whole.size());
    for (int64_t t = 0; t < Tiles(n); ++t) {
      K().pack_tiles(f, stored.data() + t * kTileRows * StoredRowBytes(f, k), n, k, t, t + 1, parts.data());
    }
    EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size()), 0) << Name(f);
  }
}

}  // namespace
}  // namespace motley::cpu::test
