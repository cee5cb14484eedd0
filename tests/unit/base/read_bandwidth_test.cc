#include "core/base/read_bandwidth.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(ReadBandwidth, IsMeasuredForSmallAndLargeSetsAndAnyNumberOfThreads) {
  for (const uint32_t threads : {1u, 3u}) {
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{64} << 10, uint64_t{24} << 20}) {
      const auto read = MeasureReadBandwidth({bytes, threads, 0.02});
      ASSERT_TRUE(read.ok()) << read.status().ToString();
      EXPECT_EQ(read->threads, threads);
      EXPECT_GE(read->bytes, std::min<uint64_t>(bytes * 3 / 4, 16 << 20));  // whole lines a thread
      EXPECT_GT(read->bytes_per_s.runs, 0u);
      // No machine reads slower than 10 MB/s or faster than 100 TB/s: the passes were really timed.
      EXPECT_GT(read->bytes_per_s.median, 1e7);
      EXPECT_LT(read->best_bytes_per_s, 1e14);
      EXPECT_LE(read->bytes_per_s.low, read->bytes_per_s.median);
      EXPECT_GE(read->best_bytes_per_s, read->bytes_per_s.high);
    }
  }
}

TEST(ReadBandwidth, SaysInWhichPagesTheMemoryWas) {
  const auto read = MeasureReadBandwidth({4 << 20, 1, 0.02, PageKind::kBase});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->pages, PageKind::kBase);
  EXPECT_EQ(read->notice, "");
}

}  // namespace
}  // namespace motley
