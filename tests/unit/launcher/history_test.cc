#include "tools/motley/history.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace motley {
namespace {

using Entries = std::vector<std::string>;

class HistoryFile : public testing::Test {
 protected:
  History Open() {
    Status problem;
    History history = History::Open(path_, &problem);
    EXPECT_TRUE(problem.ok()) << problem.message();
    return history;
  }
  std::string Text() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  unsigned Mode(const std::string& path) const {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
  }

  test::TempDir dir_;
  std::string path_ = (dir_.path() / "state/motley/history").string();
};

TEST_F(HistoryFile, IsMadeWithItsFolderForTheOwnerAlone) {
  History history = Open();
  ASSERT_TRUE(history.Add("hello").ok());
  EXPECT_EQ(Mode(path_), 0600u);
  EXPECT_EQ(Mode((dir_.path() / "state/motley").string()), 0700u);
  EXPECT_EQ(Open().entries(), Entries{"hello"});
}

TEST_F(HistoryFile, KeepsEachMessageOnceAtItsLatestPlace) {
  History history = Open();
  for (const char* message : {"a", "b", "a", "line one\nline two", "b", "", "b"})
    ASSERT_TRUE(history.Add(message).ok());
  const Entries expected{"a", "line one\nline two", "b"};
  EXPECT_EQ(history.entries(), expected);
  EXPECT_EQ(Open().entries(), expected);
  EXPECT_EQ(Text(), "\"a\"\n\"line one\\nline two\"\n\"b\"\n");
}

TEST_F(HistoryFile, IsBoundedInEntriesAndBytes) {
  History history = Open();
  for (size_t i = 0; i < kMostHistoryEntries + 5; ++i) ASSERT_TRUE(history.Add("m" + std::to_string(i)).ok());
  EXPECT_LE(Open().entries().size(), kMostHistoryEntries);
  EXPECT_GE(Open().entries().size(), kMostHistoryEntries / 8 * 7);
  EXPECT_EQ(Open().entries().back(), "m" + std::to_string(kMostHistoryEntries + 4));
  const std::string long_one(kMostHistoryEntryBytes, 'x');
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(history.Add(std::to_string(100 + i) + long_one.substr(3)).ok());
  EXPECT_LE(Text().size(), kMostHistoryBytes);
  EXPECT_GE(Text().size(), kMostHistoryBytes / 8 * 7 - kMostHistoryEntryBytes - 2);
  ASSERT_TRUE(history.Add(long_one + "y").ok());  // longer than is kept
  EXPECT_NE(Open().entries().back().back(), 'y');
}

TEST_F(HistoryFile, TakesWhatOtherChatsAddMeanwhile) {
  History one = Open(), two = Open();
  ASSERT_TRUE(one.Add("of one").ok());
  ASSERT_TRUE(two.Add("of two").ok());
  ASSERT_TRUE(one.Add("of one").ok());          // rewrites the file
  EXPECT_EQ(one.entries(), Entries{"of one"});  // what was typed here
  EXPECT_EQ(Open().entries(), (Entries{"of two", "of one"}));
}

TEST_F(HistoryFile, SkipsLinesThatAreNoneAndMendsACutOne) {
  std::filesystem::create_directories(dir_.path() / "state/motley");
  dir_.Write("state/motley/history", "\"good\"\nrubbish\n{}\n\"\"\n\"\\u0000x\"\n\xff\xfe\n\"cut");
  History history = Open();
  EXPECT_EQ(history.entries(), (Entries{"good", std::string("\0x", 2)}));
  ASSERT_TRUE(history.Add("new").ok());
  EXPECT_EQ(Open().entries(), (Entries{"good", std::string("\0x", 2), "new"}));
}

TEST_F(HistoryFile, WhatIsNoneIsToldAndLeftAlone) {
  std::filesystem::create_directories(path_);
  Status problem;
  History history = History::Open(path_, &problem);
  EXPECT_NE(problem.message().find(path_), std::string::npos) << problem.message();
  EXPECT_NE(problem.message().find("chat.history"), std::string::npos) << problem.message();
  EXPECT_TRUE(history.Add("kept in memory").ok());
  EXPECT_EQ(history.entries(), Entries{"kept in memory"});

  const std::string fifo = (dir_.path() / "fifo").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  History::Open(fifo, &problem);
  EXPECT_NE(problem.message().find("no plain file"), std::string::npos) << problem.message();

  const std::string huge = dir_.Write("huge", "");
  std::filesystem::resize_file(huge, uint64_t{1} << 32);
  History::Open(huge, &problem);
  EXPECT_NE(problem.message().find("too large"), std::string::npos) << problem.message();
}

TEST_F(HistoryFile, ALinkStaysALinkAndAWideModeIsNarrowed) {
  const std::string real = dir_.Write("real", "\"old\"\n");
  chmod(real.c_str(), 0644);
  path_ = (dir_.path() / "link").string();
  std::filesystem::create_symlink(real, path_);
  History history = Open();
  ASSERT_TRUE(history.Add("old").ok());
  ASSERT_TRUE(history.Add("new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(Mode(real), 0600u);
  EXPECT_EQ(Text(), "\"old\"\n\"new\"\n");
}

TEST(HistoryPath, FollowsTheRuleOfXdg) {
  const char* state = std::getenv("XDG_STATE_HOME");
  const std::string state_before = state == nullptr ? "" : state;
  const std::string home_before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  setenv("HOME", "/h", 1);
  setenv("XDG_STATE_HOME", "/s", 1);
  EXPECT_EQ(HistoryPath(), "/s/motley/history");
  setenv("XDG_STATE_HOME", "relative", 1);
  EXPECT_EQ(HistoryPath(), "/h/.local/state/motley/history");
  unsetenv("XDG_STATE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(HistoryPath(), "");
  if (state != nullptr) setenv("XDG_STATE_HOME", state_before.c_str(), 1);
  setenv("HOME", home_before.c_str(), 1);
}

}  // namespace
}  // namespace motley
