// Every format of weights, bit for bit the gguf package's values (tests/golden/dequant).
#include <gtest/gtest.h>
#include <motley/dequant.hpp>

#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/support/counter_random.h"
#include "tests/support/npy.h"
#include "tests/support/random_blocks.h"

namespace motley::test {
namespace {

constexpr uint64_t kSeed = 3;  // tests/golden/dequant.py's

struct Sum {
  std::string format;
  int64_t n_blocks;
  uint64_t blocks, values;
};

std::string Folder() {
  return std::string(MOTLEY_SOURCE_DIR) + "/tests/golden/dequant/";
}

std::vector<Sum> ReadSums() {
  std::vector<Sum> sums;
  std::ifstream file(Folder() + "sums.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    Sum sum;
    fields >> sum.format >> sum.n_blocks >> std::hex >> sum.blocks >> sum.values;
    sums.push_back(sum);
  }
  return sums;
}

TEST(Dequant, EqualsTheGgufPackageBitForBit) {
  std::vector<std::string> checked;
  for (const Sum& sum : ReadSums()) {
    const std::optional<Format> format = FormatFromName(sum.format);
    ASSERT_TRUE(format) << sum.format;
    const plugin::DequantFn dequant = plugin::FindDequant(static_cast<uint32_t>(*format));
    ASSERT_TRUE(dequant) << sum.format;
    const auto blocks = RandomBlocks(*format, sum.n_blocks, CounterRandom(kSeed, sum.format));
    ASSERT_TRUE(blocks.ok());
    ASSERT_EQ(Checksum(*blocks), sum.blocks) << sum.format << ": other block bytes than the golden ones";
    std::vector<float> values(static_cast<size_t>(sum.n_blocks) * FindFormat(*format)->block_elems);
    dequant(reinterpret_cast<const std::byte*>(blocks->data()), static_cast<int64_t>(values.size()),
            values.data());

    const auto golden = ReadNpy(Folder() + sum.format + ".npy");
    ASSERT_TRUE(golden.ok());
    for (size_t i = 0; i < golden->values.size(); ++i) {
      ASSERT_EQ(values[i], static_cast<float>(golden->values[i])) << sum.format << " value " << i;
    }
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    EXPECT_EQ(Checksum({bytes, values.size() * sizeof(float)}), sum.values) << sum.format;
    checked.push_back(sum.format);
  }
  EXPECT_EQ(checked.size(), 23u) << "every format of weights but F32";
}

}  // namespace
}  // namespace motley::test
