#include "core/base/units.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(ParseSize, ReadsPlainBytesAndBinaryUnits) {
  const std::pair<const char*, uint64_t> rows[] = {{"0", 0},
                                                   {"4096", 4096},
                                                   {"1 KiB", 1024},
                                                   {"1KiB", 1024},
                                                   {" 512 MiB ", 536870912},
                                                   {"2 GiB", 2147483648},
                                                   {"1.5 GiB", 1610612736},
                                                   {"0.5 KiB", 512},
                                                   {"3 TiB", 3298534883328},
                                                   {"9223372036854775807", 9223372036854775807}};
  for (const auto& [text, bytes] : rows) {
    const auto parsed = ParseSize(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status().ToString();
    EXPECT_EQ(*parsed, bytes) << text;
  }
}

TEST(ParseSize, RefusesWhatIsNoSizeAndSaysWhatToWrite) {
  for (const char* text :
       {"",          " ",   "MiB",     "-1",     "-1 MiB", "1.",      "1. MiB",        ".5 MiB",
        "1.2.3 MiB", "1e6", "0x10",    "512 MB", "512M",   "512 mib", "512 MiB extra", "1.5",
        "0.3 KiB",   "nan", "1 KiB\n", "１ KiB"}) {
    const auto parsed = ParseSize(text);
    ASSERT_FALSE(parsed.ok()) << text << " = " << *parsed;
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
    EXPECT_NE(parsed.status().message().find("\"" + std::string(text) + "\""), std::string::npos)
        << parsed.status().message();
    EXPECT_NE(parsed.status().message().find("KiB, MiB, GiB"), std::string::npos)
        << parsed.status().message();
  }
}

TEST(ParseSize, OverflowIsAnErrorNotASmallNumber) {
  for (const char* text :
       {"9223372036854775808", "18446744073709551616", "18014398509481984 KiB", "17179869184 GiB",
        "99999999999999999999999 GiB", "8388608 TiB", "0.00000000000000000000000000001 GiB"}) {
    const auto parsed = ParseSize(text);
    ASSERT_FALSE(parsed.ok()) << text << " = " << *parsed;
    EXPECT_NE(parsed.status().message().find("too large"), std::string::npos) << parsed.status().message();
  }
}

TEST(ParseSize, LongTextIsCutInTheMessage) {
  const auto parsed = ParseSize(std::string(1 << 20, 'x'));
  ASSERT_FALSE(parsed.ok());
  EXPECT_LT(parsed.status().message().size(), 300u);
}

TEST(ParseTime, ReadsUnitsAndRefusesNumbersWithoutOne) {
  EXPECT_EQ(*ParseTimeNs("250 us"), 250000u);
  EXPECT_EQ(*ParseTimeNs("20ms"), 20000000u);
  EXPECT_EQ(*ParseTimeNs("1.5 s"), 1500000000u);
  for (const char* text : {"20", "20 ns", "20 m", "s", "", "9223372037 s", "0.0001 us"})
    EXPECT_FALSE(ParseTimeNs(text).ok()) << text;
}

TEST(FormatSize, ExactFormReadsBack) {
  for (uint64_t bytes : {0ull, 1ull, 1023ull, 1024ull, 1536ull, 1ull << 20, (1ull << 20) + 1, 512ull << 20,
                         3ull << 30, 1ull << 50}) {
    EXPECT_EQ(*ParseSize(FormatSizeExact(bytes)), bytes) << FormatSizeExact(bytes);
  }
  EXPECT_EQ(FormatSize(1), "1 byte");
  EXPECT_EQ(FormatSize(512ull << 20), "512 MiB");
  EXPECT_EQ(FormatSize((3ull << 30) / 2), "1.50 GiB");
  EXPECT_EQ(FormatTimeNs(80), "80 ns");
  EXPECT_EQ(FormatTimeNs(20000000), "20.0 ms");
}

}  // namespace
}  // namespace motley
