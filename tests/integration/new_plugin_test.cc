// motley new-plugin: what it writes, and what it refuses. That it builds and runs: tests/vendor.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/support/child_process.h"
#include "tests/support/temp_dir.h"

namespace motley {
namespace {

namespace fs = std::filesystem;
using test::ChildResult;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class NewPlugin : public testing::Test {
 protected:
  ChildResult Run(const std::string& name, const std::string& folder, std::vector<std::string> more = {}) {
    std::vector<std::string> args{MOTLEY_LAUNCHER, "new-plugin", name, folder};
    args.insert(args.end(), more.begin(), more.end());
    return test::RunChild(args, {.environment = {"MOTLEY_PLUGIN_PATH="}});
  }
  std::set<std::string> Names(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
    return names;
  }
  std::string Path(const std::string& name) { return (dir_.path() / name).string(); }

  test::TempDir dir_;
};

TEST_F(NewPlugin, WritesTheSourcesOfTheSkeletonUnderTheNewName) {
  const ChildResult result = Run("my_device2", Path("a/b"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_HAS(result.err, "next: cmake -S " + Path("a/b"));
  const fs::path source = fs::path(MOTLEY_SOURCE_DIR) / "plugin_api/example/skeleton";
  std::set<std::string> expected = Names(source);
  expected.erase("gitignore");
  expected.insert(".gitignore");
  EXPECT_EQ(Names(Path("a/b")), expected);
  for (const std::string& name : expected) {
    const std::string text = Contents(dir_.path() / "a/b" / name);
    EXPECT_HAS(result.out, Path("a/b/" + name) + "\n");
    EXPECT_NE(text, "") << name;
    EXPECT_EQ(text.find("skeleton"), std::string::npos) << name;
  }
  EXPECT_HAS(Contents(Path("a/b/plugin.cc")), "Str(\"my_device2\")");
  EXPECT_HAS(Contents(Path("a/b/CMakeLists.txt")), "motley_add_plugin(my_device2 plugin.cc");
  EXPECT_EQ(Contents(Path("a/b/ops.cc")), Contents(source / "ops.cc"));
}

TEST_F(NewPlugin, TakesAnEmptyFolderAndTellsJson) {
  fs::create_directory(Path("empty"));
  const ChildResult result = Run("mine", Path("empty"), {"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_HAS(result.out, "{\"name\":\"mine\",\"files\":[\"");
  EXPECT_HAS(result.out, "\"" + Path("empty/plugin.cc") + "\"");
}

TEST_F(NewPlugin, RefusesNamesThatWouldNotDo) {
  const struct {
    const char* name;
    const char* says;
  } rows[] = {
      {"", "must be a small letter"},      {"Mine", "must be a small letter"},   {"2nd", "must be a small letter"},
      {"_x", "must be a small letter"},    {"a-b", "must be a small letter"},    {"a/b", "must be a small letter"},
      {"\xc3\xa4", "must be a small letter"}, {"a.b", "must be a small letter"}, {"ref", "there is a plugin of that name"},
      {"test", "CMake keeps this name"},   {"install", "CMake keeps this name"},
  };
  for (const auto& row : rows) {
    const ChildResult result = Run(row.name, Path("never"));
    EXPECT_EQ(result.exit_code, 2) << row.name;
    EXPECT_HAS(result.err, std::string("NAME \"") + row.name + "\"");
    EXPECT_HAS(result.err, row.says);
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(fs::exists(Path("never"))) << row.name;
  }
  EXPECT_EQ(Run(std::string(41, 'a'), Path("never")).exit_code, 2);
  EXPECT_EQ(Run(std::string(40, 'a'), Path("long")).exit_code, 0);
}

TEST_F(NewPlugin, OverwritesNothing) {
  const std::string file = dir_.Write("full/notes.txt", "mine");
  for (const std::string& folder : {Path("full"), file, file + "/below"}) {
    const ChildResult result = Run("mine", folder);
    EXPECT_EQ(result.exit_code, 2) << folder;
    EXPECT_HAS(result.err, "DIR \"" + folder + "\"");
  }
  EXPECT_EQ(Names(Path("full")), std::set<std::string>{"notes.txt"});
  EXPECT_EQ(Contents(file), "mine");
  ASSERT_EQ(Run("mine", Path("twice")).exit_code, 0);
  EXPECT_EQ(Run("mine", Path("twice")).exit_code, 2);
}

}  // namespace
}  // namespace motley
