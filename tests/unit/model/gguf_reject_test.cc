// Broken headers: every row of the field failures that one file can show.
#include <gtest/gtest.h>

#include "tests/unit/model/gguf_reject.h"

namespace motley {
namespace {

using test::ExpectReject;
using test::ExpectRejectBytes;
using test::GgufString;
using test::GgufWriter;
using test::LittleEndian;

constexpr uint32_t kU8 = 0, kI32 = 5, kString = 8, kArray = 9;

std::string Header(uint64_t n_tensors, uint64_t n_pairs) {
  return "GGUF" + LittleEndian(3, 4) + LittleEndian(n_tensors, 8) + LittleEndian(n_pairs, 8);
}

// A sound file of one F32 tensor.
GgufWriter Sound() {
  GgufWriter w;
  w.SetString("general.architecture", "llama");
  w.AddTensor("a.weight", Format::kF32, {4, 2}, std::string(32, '\1'));
  return w;
}

// A tensor table of one entry, the fields as given, and 64 bytes behind it.
GgufWriter One(uint32_t type, std::vector<uint64_t> dims, std::optional<uint64_t> offset = std::nullopt) {
  GgufWriter w;
  w.AddTensorRaw("a.weight", type, std::move(dims), std::string(64, '\0'), offset);
  return w;
}

TEST(FieldFailure, G01_CountsAreComparedWithTheFileFirst) {
  ExpectRejectBytes(Header(0, uint64_t{1} << 32), {"key count = 4294967296", "more than fit in the 0 bytes"});
  ExpectRejectBytes(Header(0, UINT64_MAX), {"key count = 18446744073709551615"});
  ExpectRejectBytes(Header(uint64_t{1} << 32, 0), {"tensor count = 4294967296"});
  ExpectRejectBytes(Header(UINT64_MAX, 0) + std::string(1000, '\0'), {"tensor count = 18446744073709551615", "more than fit"});
}

TEST(FieldFailure, G01_CountsThatFitAFileOfZerosAreStillBounded) {
  ExpectRejectBytes(Header(0, 100'000) + std::string(14 * 100'000, '\0'), {"key count = 100000", "at most 65536"});
  ExpectRejectBytes(Header(300'000, 0) + std::string(33 * 300'000, '\0'), {"tensor count = 300000", "at most 262144"});
}

TEST(FieldFailure, G01_LengthsOfKeysAndStrings) {
  ExpectRejectBytes(Header(0, 1) + LittleEndian(0xffffffffffff, 8) + std::string(64, 'k'), {"key 0", "281474976710655"});
  ExpectRejectBytes(Header(0, 1) + LittleEndian(UINT64_MAX, 8) + std::string(64, 'k'), {"key 0", "18446744073709551615"});
  ExpectRejectBytes(Header(0, 1) + GgufString("name") + LittleEndian(kString, 4) + LittleEndian(UINT64_MAX - 7, 8),
                    {"name needs 18446744073709551608 bytes"});
  ExpectRejectBytes(Header(0, 1) + GgufString(std::string(65536, 'k')) + LittleEndian(kU8, 4) + "x",
                    {"key 0 is 65536 bytes long"});
  ExpectRejectBytes(Header(1, 0) + LittleEndian(UINT64_MAX, 8) + std::string(64, 'n'),
                    {"name of tensor 0", "18446744073709551615"});
}

TEST(FieldFailure, G01_CountsOfArrays) {
  const auto array = [](uint32_t element, uint64_t count, std::string_view rest) {
    return Header(0, 1) + GgufString("the.key") + LittleEndian(kArray, 4) + LittleEndian(element, 4) +
           LittleEndian(count, 8) + std::string(rest);
  };
  ExpectRejectBytes(array(kString, uint64_t{1} << 61, std::string(64, '\0')), {"the.key", "2305843009213693952"});
  ExpectRejectBytes(array(kI32, uint64_t{1} << 62, std::string(64, '\0')), {"the.key", "4611686018427387904"});
  ExpectRejectBytes(array(kU8, UINT64_MAX, std::string(64, '\0')), {"the.key", "18446744073709551615"});
  ExpectRejectBytes(array(kString, 2, GgufString("ok") + LittleEndian(UINT64_MAX, 8)), {"the.key[1]"});
  ExpectRejectBytes(array(kString, 2, GgufString("ok") + "1234567890" + "12"), {"the.key[1]"});
}

TEST(FieldFailure, G01_ArraysNestedTenThousandDeep) {
  std::string bytes = Header(0, 1) + GgufString("the.key") + LittleEndian(kArray, 4);
  for (int i = 0; i < 10'000; ++i) bytes += LittleEndian(kArray, 4) + LittleEndian(1, 8);
  bytes += LittleEndian(kU8, 4) + LittleEndian(0, 8);
  ExpectRejectBytes(bytes, {"the.key", "nested"});
}

TEST(FieldFailure, G01_NestedArraysThatMakeSenseLoad) {
  const std::string inner = LittleEndian(kU8, 4) + LittleEndian(2, 8) + "ab";
  GgufWriter w = Sound();
  w.AddRaw("nested", kArray, LittleEndian(kArray, 4) + LittleEndian(2, 8) + inner + inner);
  const test::TempDir dir;
  w.Write(dir.path() / "m.gguf");
  const auto file = GgufFile::Open(dir.path() / "m.gguf");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ((*file)->metadata().Find("nested")->count, 2u);
  EXPECT_FALSE((*file)->metadata().FindInts("nested").ok());
}

TEST(FieldFailure, G02_AlignmentIsAU32PowerOfTwoUpToAMebibyte) {
  for (uint32_t bad : {0u, 3u, 33u, 0x80000000u, 0x200000u, UINT32_MAX}) {
    ExpectReject(Sound().SetU32("general.alignment", bad), {"general.alignment = " + std::to_string(bad)});
  }
  ExpectReject(Sound().SetI32("general.alignment", 32), {"general.alignment is i32"});
  ExpectReject(Sound().SetU64("general.alignment", 32), {"general.alignment is u64"});
  ExpectReject(Sound().SetString("general.alignment", "32"), {"general.alignment is string"});
  ExpectReject(Sound().SetU32s("general.alignment", {32}), {"general.alignment is array"});
}

TEST(FieldFailure, G03_ByteSizeWraps) {
  ExpectReject(One(0, {uint64_t{1} << 62}), {"a.weight"});
  ExpectReject(One(0, {uint64_t{1} << 31, uint64_t{1} << 31}), {"a.weight"});
  ExpectReject(One(0, {uint64_t{1} << 61}), {"a.weight"});
  ExpectReject(One(28, {uint64_t{1} << 60, 8}), {"a.weight"});
  // 2^63 - 32 elements of Q8_0 are 34/32 as many bytes: beyond 63 bits, not beyond 64.
  ExpectReject(One(8, {(uint64_t{1} << 63) - 32}), {"a.weight"});
}

TEST(FieldFailure, G03_ElementCountWraps) {
  // 2^32 × 2^32 is 0 in 64 bits; the others are 2^32 and 4.
  ExpectReject(One(0, {uint64_t{1} << 32, uint64_t{1} << 32}), {"a.weight", "dim 1 = 4294967296"});
  ExpectReject(One(0, {uint64_t{1} << 32, (uint64_t{1} << 32) + 1}), {"a.weight", "dim 1 = 4294967297"});
  ExpectReject(One(0, {4, uint64_t{1} << 62, 4, (uint64_t{1} << 62) + 1}), {"a.weight", "dim 1"});
}

TEST(FieldFailure, G05_ZeroOrAbsurdDims) {
  ExpectReject(One(0, {4, 0}), {"a.weight", "dim 1 = 0"});
  ExpectReject(One(0, {0}), {"a.weight", "dim 0 = 0"});
  ExpectReject(One(0, {}), {"a.weight", "0 dims"});
  ExpectReject(One(0, {1, 1, 1, 1, 1}), {"a.weight", "5 dims"});
  ExpectReject(One(0, {uint64_t{1} << 63}), {"a.weight", "9223372036854775808"});
  ExpectReject(One(0, {1, UINT64_MAX}), {"a.weight", "18446744073709551615"});
  ExpectRejectBytes(Header(1, 0) + GgufString("a.weight") + LittleEndian(0xffffffff, 4) + std::string(64, '\1'),
                    {"a.weight", "4294967295 dims"});
}

TEST(FieldFailure, G06_AFileThatIsCutAnywhere) {
  GgufWriter w = Sound();
  w.SetStrings("tokens", {"a", "bc"}).SetI32s("ints", {1, 2, 3}).SetBool("b", true);
  w.AddTensor("b.weight", Format::kQ8_0, {32}, std::string(34, '\1'));
  const std::string whole = w.Build();
  // The last tensor's 34 bytes begin 64 before the end. Cut inside its padding is a cut too; without all of the
  // padding the file is as some writers leave it.
  for (size_t size = 1; size < whole.size(); ++size) {
    if (size == whole.size() - 30) continue;
    SCOPED_TRACE(size);
    const test::TempDir dir;
    const auto file = GgufFile::Open(dir.Write("cut.gguf", whole.substr(0, size)));
    ASSERT_FALSE(file.ok());
    EXPECT_NE(file.status().message().find("cut.gguf: "), std::string::npos) << file.status().message();
  }
  ExpectRejectBytes(whole.substr(0, whole.size() - 1), {"cut off"});
}

TEST(FieldFailure, G06_OffsetsBeyondTheFileOrBeyond64Bits) {
  ExpectReject(One(0, {16}, UINT64_MAX - 31), {"a.weight", "18446744073709551584"});
  ExpectReject(One(0, {16}, uint64_t{1} << 63), {"a.weight", "beyond the end"});
  ExpectReject(One(0, {16}, 32), {"a.weight", "beyond the end"});
  ExpectReject(One(0, {17}), {"a.weight", "beyond the end"});
  ExpectReject(One(0, {8}, 4), {"a.weight", "multiple of the alignment"});
}

TEST(FieldFailure, G07_OneNameTwice) {
  GgufWriter w = Sound();
  w.AddTensor("b", Format::kF32, {1}, "1234").AddTensor("a.weight", Format::kF32, {1}, "1234");
  ExpectReject(w, {"a.weight", "tensor 0", "tensor 2"});
}

TEST(FieldFailure, G07_TwoTensorsOfTheSameBytes) {
  GgufWriter w;
  w.AddTensor("first", Format::kF32, {8}, std::string(32, '\0'));
  w.AddTensor("second", Format::kF32, {9}, std::string(36, '\0'));
  w.AddTensorRaw("third", 0, {1}, "", 64);  // second reaches to 68
  ExpectReject(w, {"second", "third", "overlap"});
  GgufWriter same;
  same.AddTensorRaw("x", 0, {8}, std::string(32, '\0'), 0).AddTensorRaw("y", 0, {8}, "", 0);
  ExpectReject(same, {"tensor x", "tensor y", "overlap"});
}

TEST(FieldFailure, G07_OneKeyTwice) {
  GgufWriter w = Sound();
  w.AddRaw("general.architecture", kString, GgufString("llama"));
  ExpectReject(w, {"general.architecture", "key 0 at byte 24", "key 1 at byte "});
}

TEST(FieldFailure, G09_OtherByteOrdersAndVersions) {
  const std::string sound = Sound().Build();
  std::string big = sound;
  big.replace(4, 4, std::string("\0\0\0\3", 4));
  ExpectRejectBytes(big, {"big-endian"});
  ExpectRejectBytes("FUGG" + sound.substr(4), {"big-endian"});
  for (uint32_t version : {0u, 1u, 2u, 4u}) {
    ExpectReject(Sound().SetVersion(version), {"version " + std::to_string(version), "version 3"});
  }
}

TEST(FieldFailure, G09_OtherKindsOfFilesAreNamed) {
  ExpectRejectBytes("x", {"no GGUF file"});
  ExpectRejectBytes("GGU", {"no GGUF file"});
  ExpectRejectBytes("GGUF", {"version", "cut off"});
  ExpectRejectBytes("version https://git-lfs.github.com/spec/v1\n", {"git lfs pull"});
  ExpectRejectBytes(std::string("PK\x03\x04", 4) + std::string(60, '\0'), {"zip"});
  ExpectRejectBytes(LittleEndian(60, 8) + "{\"a\":1}" + std::string(60, ' '), {"safetensors"});
  ExpectRejectBytes("<!DOCTYPE html><html></html>", {"web page"});
}

TEST(FieldFailure, G09_RemovedAndUnknownTensorTypes) {
  ExpectReject(One(4, {32}), {"a.weight", "type 4 (Q4_2)", "removed"});
  ExpectReject(One(5, {32}), {"a.weight", "type 5 (Q4_3)", "removed"});
  ExpectReject(One(31, {32}), {"a.weight", "type 31 (Q4_0_4_4)", "removed"});
  ExpectReject(One(34, {256}), {"a.weight", "type 34 (TQ1_0)", "support"});
  ExpectReject(One(99, {32}), {"a.weight", "type 99", "unknown"});
  ExpectReject(One(0x80000000u, {32}), {"a.weight", "type 2147483648", "unknown"});
  // U8 of motley's own table, which no GGUF file can mean.
  ExpectReject(One(256, {32}), {"a.weight", "type 256", "unknown"});
}

TEST(FieldFailure, G09_RowsThatAreNoWholeNumberOfBlocks) {
  ExpectReject(One(8, {33}), {"a.weight", "33 elements", "Q8_0"});
  ExpectReject(One(12, {128, 2}), {"a.weight", "128 elements", "Q4_K", "256"});
}

TEST(FieldFailure, G09_TypesOfValues) {
  ExpectReject(Sound().AddRaw("the.key", 13, ""), {"the.key", "type 13"});
  ExpectReject(Sound().AddRaw("the.key", UINT32_MAX, ""), {"the.key", "type 4294967295"});
  ExpectReject(Sound().AddRaw("the.key", kArray, LittleEndian(77, 4) + LittleEndian(0, 8)), {"the.key", "type 77"});
  ExpectReject(Sound().AddRaw("the.key", 7, "\2"), {"the.key", "bool", "2"});
  ExpectReject(Sound().AddRaw("the.key", kArray, LittleEndian(7, 4) + LittleEndian(2, 8) + "\1\7"), {"the.key", "bool"});
}

TEST(FieldFailure, G09_NamesThatAreNoText) {
  ExpectReject(Sound().AddRaw("bad\xff", kU8, "1"), {"key 1", "bad\\xff", "UTF-8"});
  ExpectReject(Sound().AddRaw(std::string("a\0b", 3), kU8, "1"), {"key 1", "a\\x00b"});
  ExpectReject(Sound().AddRaw("", kU8, "1"), {"key 1", "empty"});
  GgufWriter w;
  w.AddTensor("\xc0\x80", Format::kF32, {1}, "1234");  // an overlong NUL
  ExpectReject(w, {"tensor 0", "\\xc0\\x80"});
  GgufWriter unnamed;
  unnamed.AddTensor("", Format::kF32, {1}, "1234");
  ExpectReject(unnamed, {"name of tensor 0", "empty"});
  GgufWriter lengthy;
  lengthy.AddTensor(std::string(1025, 'n'), Format::kF32, {1}, "1234");
  ExpectReject(lengthy, {"name of tensor 0", "1025"});
}

TEST(FieldFailure, G01_FoldersFifosAndEmptyFilesAreRefused) {
  const test::TempDir dir;
  ExpectReject(dir.path(), {dir.path().string(), "folder"});
  ExpectReject(dir.Write("empty.gguf", ""), {"empty.gguf", "empty"});
  ExpectReject(dir.path() / "none.gguf", {"none.gguf"});
}

}  // namespace
}  // namespace motley
