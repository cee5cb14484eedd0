// Split sets: sound ones from any shard, and what is wrong with others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/model/gguf_split.h"
#include "tests/unit/model/gguf_reject.h"

namespace motley {
namespace {

using test::ExpectReject;
using test::GgufWriter;
using test::TempDir;

// Three layers of two matrices and a norm.
GgufWriter Model(Format format, uint32_t file_type) {
  GgufWriter w;
  w.SetString("general.architecture", "llama").SetU32("general.file_type", file_type);
  const size_t bytes = format == Format::kQ8_0 ? 34 : 18;
  for (int layer = 0; layer < 3; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    w.AddTensor(prefix + "attn_q.weight", format, {32, 1}, std::string(bytes, static_cast<char>('a' + layer)));
    w.AddTensor(prefix + "ffn_up.weight", format, {32, 2}, std::string(2 * bytes, static_cast<char>('A' + layer)));
    w.AddTensor(prefix + "ffn_norm.weight", Format::kF32, {8}, std::string(32, '\0'));
  }
  return w;
}

TEST(GgufSplit, OpensFromAnyShardWithTheFirstShardsMetadata) {
  TempDir dir;
  const auto paths = Model(Format::kQ8_0, 7).WriteSplit(dir.path(), "m", 3);
  ASSERT_EQ(paths.size(), 3u);
  for (const auto& path : paths) {
    const auto file = GgufFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    EXPECT_EQ((*file)->metadata().origin(), "m-00001-of-00003.gguf");
    EXPECT_EQ(*(*file)->metadata().GetString("general.architecture"), "llama");
    EXPECT_EQ((*file)->tensors().size(), 9u);
    EXPECT_EQ((*file)->paths().size(), 3u);
    EXPECT_TRUE((*file)->warnings().empty());
    const StoredTensor* q2 = (*file)->FindTensor("blk.2.attn_q.weight");
    ASSERT_NE(q2, nullptr);
    EXPECT_EQ(q2->file, 2u);
    EXPECT_EQ((*file)->paths()[q2->file], paths[2].string());
    EXPECT_EQ(std::to_integer<char>(q2->data[0]), 'c');
    char through_fd = 0;
    ASSERT_EQ(pread(q2->fd, &through_fd, 1, static_cast<off_t>(q2->offset)), 1);
    EXPECT_EQ(through_fd, 'c');
  }
}

TEST(GgufSplit, OpensByARelativePath) {
  TempDir dir;
  const auto paths = Model(Format::kQ8_0, 7).WriteSplit(dir.path(), "m", 3);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  const auto file = GgufFile::Open("m-00002-of-00003.gguf");
  std::filesystem::current_path(before);
  EXPECT_TRUE(file.ok()) << file.status().ToString();
}

TEST(GgufSplit, ShardsMayBeLinks) {
  TempDir dir, blobs;
  const auto paths = Model(Format::kQ8_0, 7).WriteSplit(blobs.path(), "m", 3);
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto blob = blobs.path() / ("blob" + std::to_string(i));
    std::filesystem::rename(paths[i], blob);
    std::filesystem::create_symlink(blob, dir.path() / paths[i].filename());
  }
  const auto file = GgufFile::Open(dir.path() / "m-00003-of-00003.gguf");
  EXPECT_TRUE(file.ok()) << file.status().ToString();
}

TEST(GgufSplit, TheFirstShardMayHoldMetadataAlone) {
  TempDir dir;
  GgufWriter first;
  first.SetString("general.architecture", "llama").SetU16("split.no", 0).SetU16("split.count", 2);
  first.SetI32("split.tensors.count", 1).Write(dir.path() / "m-00001-of-00002.gguf");
  GgufWriter second;
  second.SetU16("split.no", 1).SetU16("split.count", 2).SetI32("split.tensors.count", 1);
  second.AddTensor("a", Format::kF32, {1}, "1234").Write(dir.path() / "m-00002-of-00002.gguf");
  const auto file = GgufFile::Open(dir.path() / "m-00002-of-00002.gguf");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ((*file)->FindTensor("a")->file, 1u);
}

TEST(GgufSplit, QuantisationsThatMixFormatsWithinARoleLoad) {
  TempDir dir;
  GgufWriter w;
  for (int layer = 0; layer < 4; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    const bool more_bits = layer == 0;
    w.AddTensor(prefix + "attn_q.weight", Format::kQ4_0, {32, 1}, std::string(18, '\0'));
    w.AddTensor(prefix + "ffn_down.weight", more_bits ? Format::kQ8_0 : Format::kQ4_0, {32, 1},
                std::string(more_bits ? 34 : 18, '\0'));
  }
  const auto paths = w.WriteSplit(dir.path(), "m", 2);
  const auto file = GgufFile::Open(paths[0]);
  EXPECT_TRUE(file.ok()) << file.status().ToString();
}

TEST(FieldFailure, G10_EveryMissingShardIsListedByName) {
  TempDir dir;
  const auto paths = Model(Format::kQ8_0, 7).WriteSplit(dir.path(), "m", 2);  // five shards
  std::filesystem::remove(paths[1]);
  std::filesystem::remove(paths[3]);
  // A shard that is there but broken must not hide those that are missing: nothing else is opened before.
  std::ofstream(paths[4], std::ios::trunc) << "broken";
  for (size_t opened : {0u, 2u}) {
    ExpectReject(paths[opened], {"2 of the 5 shards", "m-00002-of-00005.gguf", "m-00004-of-00005.gguf",
                                 dir.path().string()});
  }
}

TEST(FieldFailure, G10_TheMiddleShardOfThreeIsMissing) {
  TempDir dir;
  const auto paths = Model(Format::kQ8_0, 7).WriteSplit(dir.path(), "m", 3);
  std::filesystem::remove(paths[1]);
  ExpectReject(paths[0], {"m-00002-of-00003.gguf"});
  ExpectReject(paths[1], {"m-00002-of-00003.gguf"});
  ExpectReject(paths[2], {"m-00002-of-00003.gguf"});
}

TEST(FieldFailure, G10_ShardsOfTwoQuantisations) {
  TempDir eight, four;
  const auto mine = Model(Format::kQ8_0, 7).WriteSplit(eight.path(), "m", 3);
  const auto other = Model(Format::kQ4_0, 2).WriteSplit(four.path(), "m", 3);
  // Names, counts and the numbers of tensors are all the same: the formats alone give shard 2 away.
  std::filesystem::copy_file(other[1], mine[1], std::filesystem::copy_options::overwrite_existing);
  ExpectReject(mine[0], {"m-00002-of-00003.gguf", "quantisation", "Q4_0", "Q8_0"});
  ExpectReject(mine[1], {"m-00002-of-00003.gguf", "quantisation"});
}

TEST(FieldFailure, G10_ShardsWhoseMetadataDiffer) {
  TempDir dir;
  const auto paths = Model(Format::kQ8_0, 7).WriteSplit(dir.path(), "m", 5);
  ASSERT_EQ(paths.size(), 2u);
  GgufWriter second;
  second.SetU16("split.no", 1).SetU16("split.count", 2).SetI32("split.tensors.count", 9);
  second.SetU32("general.file_type", 2).Write(paths[1]);
  ExpectReject(paths[0], {"m-00002-of-00002.gguf: general.file_type = 2, but 7 in m-00001-of-00002.gguf"});
}

TEST(FieldFailure, G10_ShardsOfSetsOfOtherCounts) {
  TempDir dir, other;
  const auto paths = Model(Format::kQ8_0, 7).WriteSplit(dir.path(), "m", 3);
  const auto five = Model(Format::kQ8_0, 7).WriteSplit(other.path(), "m", 2);
  std::filesystem::copy_file(five[1], paths[1], std::filesystem::copy_options::overwrite_existing);
  ExpectReject(paths[0], {"m-00002-of-00003.gguf", "split.no", "2 of 5"});
  // Opened itself, it asks for a set that isn't there by this name.
  ExpectReject(paths[1], {"m-00002-of-00003.gguf", "00002-of-00005"});
  GgufWriter more = Model(Format::kQ8_0, 7);
  more.AddTensor("output.weight", Format::kQ8_0, {32, 1}, std::string(34, '\0'));
  const auto ten = more.WriteSplit(other.path(), "n", 4);
  std::filesystem::copy_file(ten[1], paths[1], std::filesystem::copy_options::overwrite_existing);
  ExpectReject(paths[0], {"m-00002-of-00003.gguf", "split.tensors.count = 10, but 9"});
}

TEST(FieldFailure, G10_AShardThatLostTensors) {
  TempDir dir;
  const auto paths = Model(Format::kQ8_0, 7).WriteSplit(dir.path(), "m", 3);
  GgufWriter empty;
  empty.SetU16("split.no", 1).SetU16("split.count", 3).SetI32("split.tensors.count", 9).Write(paths[1]);
  ExpectReject(paths[0], {"split.tensors.count = 9", "6"});
}

TEST(FieldFailure, G07_OneNameInTwoShards) {
  TempDir dir;
  GgufWriter first, second;
  first.SetU16("split.no", 0).SetU16("split.count", 2).AddTensor("same", Format::kF32, {1}, "1234");
  second.SetU16("split.no", 1).SetU16("split.count", 2).AddTensor("same", Format::kF32, {1}, "1234");
  first.Write(dir.path() / "m-00001-of-00002.gguf");
  second.Write(dir.path() / "m-00002-of-00002.gguf");
  ExpectReject(dir.path() / "m-00001-of-00002.gguf", {"same", "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"});
}

TEST(FieldFailure, G10_AWholeFileNamedLikeAShardLoadsWithAWarning) {
  TempDir dir;
  Model(Format::kQ8_0, 7).Write(dir.path() / "m-00001-of-00013.gguf");
  const auto file = GgufFile::Open(dir.path() / "m-00001-of-00013.gguf");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  ASSERT_EQ((*file)->warnings().size(), 1u);
  EXPECT_NE((*file)->warnings()[0].find("m-00001-of-00013.gguf"), std::string::npos);
  EXPECT_EQ((*file)->tensors().size(), 9u);
}

TEST(FieldFailure, G10_AShardUnderAnotherNameSaysHowToNameIt) {
  TempDir dir;
  const auto paths = Model(Format::kQ8_0, 7).WriteSplit(dir.path(), "m", 3);
  std::filesystem::rename(paths[1], dir.path() / "second.gguf");
  ExpectReject(dir.path() / "second.gguf", {"second.gguf", "shard 2 of 3", "00002-of-00003.gguf"});
}

TEST(FieldFailure, G10_ContentsOfTwoShardsSwapped) {
  TempDir dir;
  const auto paths = Model(Format::kQ8_0, 7).WriteSplit(dir.path(), "m", 3);
  std::filesystem::rename(paths[1], dir.path() / "tmp");
  std::filesystem::rename(paths[2], paths[1]);
  std::filesystem::rename(dir.path() / "tmp", paths[2]);
  ExpectReject(paths[0], {"m-00002-of-00003.gguf", "shard 3 of 3"});
}

TEST(FieldFailure, G10_KeysOfSplitsThatMakeNoSense) {
  const auto with = [](auto set) {
    GgufWriter w;
    set(w);
    return w;
  };
  ExpectReject(with([](auto& w) { w.SetU16("split.no", 3).SetU16("split.count", 3); }), {"split.no = 3"});
  ExpectReject(with([](auto& w) { w.SetU16("split.count", 3); }), {"split.no", "missing"});
  ExpectReject(with([](auto& w) { w.SetU16("split.no", 0).SetU64("split.count", UINT64_MAX); }),
               {"split.count = 18446744073709551615"});
  ExpectReject(with([](auto& w) { w.SetU16("split.no", 0).SetString("split.count", "3"); }), {"split.count", "string"});
  ExpectReject(with([](auto& w) { w.SetI32("split.no", -1).SetU16("split.count", 3); }), {"split.no = -1"});
}

TEST(GgufSplit, NamesOfShards) {
  EXPECT_EQ(ParseShardName("/a/b-00002-of-00010.gguf")->stem, "/a/b");
  EXPECT_EQ(ParseShardName("/a/b-00002-of-00010.gguf")->number, 2u);
  EXPECT_EQ(ParseShardName("/a/b-00002-of-00010.gguf")->count, 10u);
  EXPECT_EQ(ShardPath({"/a/b", 2, 10}, 7), "/a/b-00007-of-00010.gguf");
  for (const char* other : {"b.gguf", "b-00002-of-00001.gguf", "b-00000-of-00002.gguf", "b-1-of-2.gguf", "",
                            "b-0000x-of-00002.gguf", "b-00001-of-00002.bin", "00001-of-00002.gguf", ".gguf"}) {
    EXPECT_FALSE(ParseShardName(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace motley
