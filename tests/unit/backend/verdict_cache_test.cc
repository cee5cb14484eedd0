// What is remembered of probes, and when it is believed.
#include "core/backend/verdict_cache.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace motley {
namespace {

const LibraryId kLibrary{std::string(64, 'a'), 1000};

class Verdicts : public ::testing::Test {
 protected:
  std::string folder() const { return (dir_.path() / "motley" / "plugins").string(); }
  VerdictCache Cache(const std::string& boot = "boot 1") const { return VerdictCache(folder(), boot); }
  test::TempDir dir_;
};

TEST_F(Verdicts, AreFoundAgain) {
  EXPECT_FALSE(Cache().Find(kLibrary));  // the folder is not there yet
  ASSERT_TRUE(Cache().Remember(kLibrary, {true, 12, ""}).ok());
  const auto sound = Cache().Find(kLibrary);
  ASSERT_TRUE(sound);
  EXPECT_TRUE(sound->sound);
  EXPECT_EQ(sound->unix_s, 12);
  ASSERT_TRUE(Cache().Remember(kLibrary, {false, 34, "it hung\nfor long"}).ok());
  const auto hung = Cache().Find(kLibrary);
  ASSERT_TRUE(hung);
  EXPECT_FALSE(hung->sound);
  EXPECT_EQ(hung->unix_s, 34);
  EXPECT_EQ(hung->why, "it hung\nfor long");
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder())) ++files;
  EXPECT_EQ(files, 1);  // nothing half-written is left beside it
}

TEST_F(Verdicts, AreOfOneLibraryAndOneBoot) {
  ASSERT_TRUE(Cache().Remember(kLibrary, {true, 1, ""}).ok());
  EXPECT_FALSE(Cache().Find({std::string(64, 'b'), 1000}));
  EXPECT_FALSE(Cache().Find({kLibrary.sha256, 1001}));
  EXPECT_FALSE(Cache("boot 2").Find(kLibrary));
  EXPECT_FALSE(Cache("").Find(kLibrary));
}

TEST_F(Verdicts, DamagedFilesAreAsNone) {
  ASSERT_TRUE(Cache().Remember(kLibrary, {true, 1, ""}).ok());
  const std::string path = folder() + "/" + kLibrary.sha256;
  std::ifstream in(path);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    std::ofstream(path, std::ios::trunc) << whole.substr(0, bytes);
    EXPECT_FALSE(Cache().Find(kLibrary)) << bytes;
  }
  std::ofstream(path, std::ios::trunc) << whole;
  EXPECT_TRUE(Cache().Find(kLibrary));
}

TEST_F(Verdicts, OfOthersAreNotBelieved) {
  ASSERT_TRUE(Cache().Remember(kLibrary, {true, 1, ""}).ok());
  chmod(folder().c_str(), 0777);
  EXPECT_FALSE(Cache().Find(kLibrary));
  chmod(folder().c_str(), 0755);
  EXPECT_TRUE(Cache().Find(kLibrary));
  chmod((folder() + "/" + kLibrary.sha256).c_str(), 0666);
  EXPECT_FALSE(Cache().Find(kLibrary));
}

TEST_F(Verdicts, AFolderThatCannotBeMadeIsToldOf) {
  const std::string file = dir_.Write("file", "x");
  const Status status = VerdictCache(file + "/plugins", "boot").Remember(kLibrary, {true, 1, ""});
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("file/plugins"), std::string::npos) << status.message();
  EXPECT_FALSE(VerdictCache("", "boot").Remember(kLibrary, {true, 1, ""}).ok());
}

TEST(VerdictFolder, FollowsTheRuleOfXdg) {
  EXPECT_EQ(VerdictFolder("/c", "/h"), "/c/motley/plugins");
  EXPECT_EQ(VerdictFolder("relative", "/h"), "/h/.cache/motley/plugins");
  EXPECT_EQ(VerdictFolder(nullptr, "/h"), "/h/.cache/motley/plugins");
  EXPECT_EQ(VerdictFolder(nullptr, nullptr), "");
  EXPECT_EQ(BootId(), BootId());
}

}  // namespace
}  // namespace motley
