#include <gtest/gtest.h>

#include "tests/support/npy.h"
#include "tests/support/temp_dir.h"

namespace motley::test {
namespace {

// np.save of np.array([[1, 2.5], [-3, 4]], dtype="<f4").
std::string NumpysOwnBytes() {
  std::string bytes = "\x93NUMPY";
  bytes += std::string("\x01\x00\x76\x00", 4);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  header.append(0x76 - 1 - header.size(), ' ');
  bytes += header + "\n";
  bytes += std::string("\x00\x00\x80\x3f\x00\x00\x20\x40\x00\x00\x40\xc0\x00\x00\x80\x40", 16);
  return bytes;
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const auto array = ParseNpy(NumpysOwnBytes(), "a.npy");
  ASSERT_TRUE(array.ok()) << array.status().ToString();
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_FALSE(array->is_f64);
  EXPECT_EQ(array->values, (std::vector<double>{1, 2.5, -3, 4}));
}

TEST(Npy, WritesAndReadsBack) {
  const TempDir dir;
  const std::vector<float> f32 = {0.1f, -2, 3e38f};
  ASSERT_TRUE(WriteNpy(dir.path() / "f32.npy", std::vector<int64_t>{3}, f32).ok());
  const auto back32 = ReadNpy(dir.path() / "f32.npy");
  ASSERT_TRUE(back32.ok()) << back32.status().ToString();
  EXPECT_EQ(back32->shape, (std::vector<int64_t>{3}));
  EXPECT_EQ(back32->values, (std::vector<double>{0.1f, -2, 3e38f}));

  const std::vector<double> f64 = {0.1, 1e300, -0.0, 7, 8, 9};
  ASSERT_TRUE(WriteNpy(dir.path() / "f64.npy", std::vector<int64_t>{2, 3, 1}, f64).ok());
  const auto back64 = ReadNpy(dir.path() / "f64.npy");
  ASSERT_TRUE(back64.ok()) << back64.status().ToString();
  EXPECT_TRUE(back64->is_f64);
  EXPECT_EQ(back64->shape, (std::vector<int64_t>{2, 3, 1}));
  EXPECT_EQ(back64->values, f64);
}

TEST(Npy, HeaderEndsOnAMultipleOf64) {
  const TempDir dir;
  ASSERT_TRUE(WriteNpy(dir.path() / "a.npy", std::vector<int64_t>{1}, std::vector<double>{1}).ok());
  EXPECT_EQ(std::filesystem::file_size(dir.path() / "a.npy") % 64, 8u);
}

TEST(Npy, RefusesWhatItDoesNotUnderstand) {
  const std::string good = NumpysOwnBytes();
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string bytes = good;
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  const std::string bad[] = {
      "", "\x93NUMPY", good.substr(0, 40), good.substr(0, good.size() - 1), good + "x", with("<f4", "<i4"),
      with("<f4", ">f4"), with("False", "True "), with("(2, 2)", "(2, 3)"), with("(2, 2)", "(2, x)"),
      with("'shape': (2, 2), }", "'shape': (4294967296, 4294967296), }"), with("shape", "Shape"),
  };
  for (const std::string& bytes : bad) {
    const auto array = ParseNpy(bytes, "bad.npy");
    ASSERT_FALSE(array.ok());
    EXPECT_NE(array.status().message().find("bad.npy"), std::string::npos) << array.status().message();
  }
  EXPECT_EQ(ReadNpy("no/such/file.npy").status().code(), Code::kNotFound);
  EXPECT_EQ(WriteNpy("x.npy", std::vector<int64_t>{2}, std::vector<float>{1}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace motley::test
