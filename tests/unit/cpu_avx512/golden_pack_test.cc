// Packed and unpacked again, every format has the gguf package's values, bit for bit (tests/golden/dequant).
#include <gtest/gtest.h>

#include "tests/support/golden_case.h"
#include "tests/unit/cpu_avx512/oracle.h"

namespace motley::cpu::test {
namespace {

class GoldenPackKernels : public WithKernels {};
MOTLEY_TEST_KERNELS(GoldenPackKernels);

void ExpectValuesOfPackedBlocks(const ::motley::test::GoldenDequant& golden) {
  const auto f = static_cast<WeightFormat>(golden.format);
  ASSERT_TRUE(IsSupported(static_cast<uint32_t>(f))) << FormatName(golden.format);
  const int64_t k = 2048, n = golden.n_elems / k;
  ASSERT_EQ(n * k, golden.n_elems);
  const auto packed = Pack(f, golden.blocks, n, k);
  std::vector<float> values(static_cast<size_t>(golden.n_elems));
  for (int64_t r = 0; r < n; ++r) K().unpack_row(f, packed.data(), k, r, values.data() + r * k);
  const Status same = ::motley::test::CheckDequant(golden, values);
  EXPECT_TRUE(same.ok()) << same.ToString();
}

TEST_P(GoldenPackKernels, UnpackedRowsAreTheGgufPackagesValues) {
  const auto formats = ::motley::test::GoldenDequantFormats();
  ASSERT_TRUE(formats.ok()) << formats.status().ToString();
  for (const Format format : *formats) {
    const auto golden = ::motley::test::LoadGoldenDequant(format);
    ASSERT_TRUE(golden.ok()) << golden.status().ToString();
    ExpectValuesOfPackedBlocks(*golden);
    // Scales that are NaN, infinite and subnormal.
    const auto raw = ::motley::test::LoadRawGoldenDequant(format);
    ASSERT_TRUE(raw.ok()) << raw.status().ToString();
    ExpectValuesOfPackedBlocks(*raw);
  }
  EXPECT_EQ(formats->size() + 1, std::size(kFormats)) << "every format but F32 has golden values";
}

}  // namespace
}  // namespace motley::cpu::test
