// Typed look-ups: what is accepted, and what an error says.
#include <gtest/gtest.h>

#include "core/model/gguf.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_dir.h"

namespace motley {
namespace {

using test::GgufWriter;
using test::TempDir;

class MetadataTest : public ::testing::Test {
 protected:
  const Metadata& Open(const GgufWriter& writer) {
    writer.Write(dir_.path() / "m.gguf");
    auto file = GgufFile::Open(dir_.path() / "m.gguf");
    if (!file.ok()) {
      ADD_FAILURE() << file.status().ToString();
      static const Metadata kNone;
      return kNone;
    }
    file_ = *std::move(file);
    return file_->metadata();
  }

  TempDir dir_;
  std::unique_ptr<GgufFile> file_;
};

TEST_F(MetadataTest, AnIntegerOfAnotherWidthOrSignFitsOrIsRefused) {
  const Metadata& meta = Open(GgufWriter()
                                  .SetU8("u8", 255)
                                  .SetI32("i32", 7)
                                  .SetI32("minus", -1)
                                  .SetU64("huge", UINT64_MAX)
                                  .SetI64("least", INT64_MIN));
  EXPECT_EQ(*meta.GetU64("u8"), 255u);
  EXPECT_EQ(*meta.GetI64("u8"), 255);
  EXPECT_EQ(*meta.GetU64("i32"), 7u);
  EXPECT_EQ(*meta.GetU64("huge"), UINT64_MAX);
  EXPECT_EQ(*meta.GetI64("least"), INT64_MIN);
  EXPECT_EQ(meta.GetU64("minus").status().message(), "m.gguf: minus = -1: must be 0 or more");
  EXPECT_EQ(meta.GetU64("least").status().message(), "m.gguf: least = -9223372036854775808: must be 0 or more");
  EXPECT_EQ(meta.GetI64("huge").status().message(),
            "m.gguf: huge = 18446744073709551615: does not fit in 64 bits with a sign");
}

TEST_F(MetadataTest, AbsentIsNotFoundOrNullopt) {
  const Metadata& meta = Open(GgufWriter().SetU8("a", 1));
  EXPECT_EQ(meta.GetU64("b").status(), NotFoundError("m.gguf: b is missing"));
  EXPECT_EQ(meta.GetStrings("b").status(), NotFoundError("m.gguf: b is missing"));
  EXPECT_EQ(*meta.FindU64("b"), std::nullopt);
  EXPECT_EQ(*meta.FindI64("b"), std::nullopt);
  EXPECT_EQ(*meta.FindF64("b"), std::nullopt);
  EXPECT_EQ(*meta.FindBool("b"), std::nullopt);
  EXPECT_EQ(*meta.FindString("b"), std::nullopt);
  EXPECT_EQ(*meta.FindInts("b"), std::nullopt);
  EXPECT_EQ(*meta.FindFloats("b"), std::nullopt);
  EXPECT_EQ(*meta.FindBools("b"), std::nullopt);
  EXPECT_EQ(*meta.FindStrings("b"), std::nullopt);
  EXPECT_FALSE(meta.Has("b"));
  EXPECT_TRUE(meta.Has("a"));
}

TEST_F(MetadataTest, AWrongTypeNamesFileKeyAndTypes) {
  const Metadata& meta =
      Open(GgufWriter().SetF32("f", 1).SetString("s", "x").SetU8s("bytes", {1, 2}).SetU32("u", 1).SetBool("b", true));
  EXPECT_EQ(meta.FindU64("f").status().message(), "m.gguf: f is f32: must be an integer");
  EXPECT_EQ(meta.FindI64("b").status().message(), "m.gguf: b is bool: must be an integer");
  EXPECT_EQ(meta.FindU64("bytes").status().message(), "m.gguf: bytes is an array of u8: must be an integer");
  EXPECT_EQ(meta.FindF64("u").status().message(), "m.gguf: u is u32: must be f32 or f64");
  EXPECT_EQ(meta.FindBool("u").status().message(), "m.gguf: u is u32: must be bool");
  EXPECT_EQ(meta.FindString("u").status().message(), "m.gguf: u is u32: must be a string");
  EXPECT_EQ(meta.FindStrings("s").status().message(), "m.gguf: s is string: must be an array of strings");
  EXPECT_EQ(meta.FindFloats("bytes").status().message(), "m.gguf: bytes is an array of u8: must be an array of f32 or f64");
  EXPECT_EQ(meta.FindBools("bytes").status().message(), "m.gguf: bytes is an array of u8: must be an array of bool");
  EXPECT_EQ(meta.FindInts("s").status().message(), "m.gguf: s is string: must be an array of integers");
}

TEST_F(MetadataTest, ArraysOfIntegersTakeEveryWidth) {
  const Metadata& meta = Open(GgufWriter()
                                  .SetU8s("u8", {0, 255})
                                  .SetU32s("u32", {UINT32_MAX})
                                  .SetI32s("empty", {})
                                  .AddRaw("u64", 9, test::LittleEndian(10, 4) + test::LittleEndian(2, 8) +
                                                        test::LittleEndian(1, 8) + test::LittleEndian(UINT64_MAX, 8)));
  EXPECT_EQ(*meta.GetInts("u8"), (std::vector<int64_t>{0, 255}));
  EXPECT_EQ(*meta.GetInts("u32"), (std::vector<int64_t>{UINT32_MAX}));
  EXPECT_EQ(*meta.GetInts("empty"), std::vector<int64_t>());
  EXPECT_EQ(meta.GetInts("u64").status().message(),
            "m.gguf: u64 [1] = 18446744073709551615: does not fit in 64 bits with a sign");
}

TEST_F(MetadataTest, StringsAreViewsIntoTheMappedFile) {
  const Metadata& meta = Open(GgufWriter().SetStrings("s", {"one", "two"}));
  const auto strings = meta.GetStrings("s");
  ASSERT_TRUE(strings.ok());
  const std::string_view raw = meta.Find("s")->bytes;
  EXPECT_EQ((*strings)[1], "two");
  EXPECT_EQ((*strings)[1].data(), raw.data() + 8 + 3 + 8);
}

TEST_F(MetadataTest, DescribesEachValueOnOneLine) {
  const Metadata& meta = Open(GgufWriter()
                                  .SetString("s", "a\nb\xff" "é\"")
                                  .SetString("long", std::string(1000, 'x'))
                                  .SetStrings("many", {"1", "2", "3", "4", "5", "6", "7"})
                                  .SetF32("f", 0.5f)
                                  .SetBool("b", false)
                                  .SetI32s("none", {}));
  EXPECT_EQ(DescribeValue(*meta.Find("s")), "\"a\\x0ab\\xffé\"\"");
  EXPECT_EQ(DescribeValue(*meta.Find("long")), '"' + std::string(64, 'x') + "…\"");
  EXPECT_EQ(DescribeValue(*meta.Find("many")), "[7 string] \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", …");
  EXPECT_EQ(DescribeValue(*meta.Find("f")), "0.5");
  EXPECT_EQ(DescribeValue(*meta.Find("b")), "false");
  EXPECT_EQ(DescribeValue(*meta.Find("none")), "[0 i32]");
}

}  // namespace
}  // namespace motley
