#include "core/backend/discovery.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "core/base/sha256.h"
#include "fakes.h"

namespace motley {
namespace {

using test::Contains;
using test::ManifestText;
using test::PluginFolder;

const PluginReport* Find(const Discovery& found, std::string_view name, size_t which = 0) {
  for (const Candidate& candidate : found.candidates) {
    if (candidate.report.name == name && which-- == 0) return &candidate.report;
  }
  return nullptr;
}

TEST(Discovery, TheFirstFolderWins) {
  PluginFolder operators, environment, installed;
  for (PluginFolder* folder : {&operators, &environment, &installed}) {
    folder->Write("a.so", "x");
    folder->AddManifest("a", ManifestText("a.so"));
  }
  environment.Write("b.so", "x");
  environment.AddManifest("b", ManifestText("b.so"));
  installed.Write("b.so", "x");
  installed.AddManifest("b", ManifestText("b.so"));

  DiscoveryOptions options;
  options.paths = {operators.path()};
  options.environment = "::/not/there:" + environment.path();
  options.install_folder = installed.path();
  const StatusOr<Discovery> found = Discover(options);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->folders,
            (std::vector<std::string>{operators.path(), environment.path(), installed.path()}));
  EXPECT_EQ(Find(*found, "a", 0)->path, operators.path() + "/a.so");
  EXPECT_EQ(Find(*found, "a", 0)->reason, "");
  EXPECT_EQ(Find(*found, "a", 1)->reason,
            "a plugin of this name was found before: " + operators.path() + "/a.so");
  EXPECT_EQ(Find(*found, "b", 0)->path, environment.path() + "/b.so");
  EXPECT_EQ(Find(*found, "b", 0)->reason, "");
  EXPECT_NE(Find(*found, "b", 1)->reason, "");
  EXPECT_EQ(Find(*found, "b", 1)->folders.size(), 3u);
  ASSERT_EQ(found->warnings.size(), 1u);
  EXPECT_TRUE(Contains(found->warnings[0], "/not/there"));

  options.use_default_paths = false;
  EXPECT_EQ(Discover(options)->folders, (std::vector<std::string>{operators.path()}));
}

// What was refused does not stand in the way of one further down.
TEST(Discovery, ARefusedOneHidesNothing) {
  PluginFolder first, second;
  first.Write("a.so", "x");
  first.AddManifest("a", ManifestText("a.so", "", "9.9"));
  second.Write("a.so", "x");
  second.AddManifest("a", ManifestText("a.so"));
  DiscoveryOptions options = first.Options();
  options.paths.push_back(second.path());
  const StatusOr<Discovery> found = Discover(options);
  EXPECT_TRUE(Contains(Find(*found, "a", 0)->reason, "ABI 9.9"));
  EXPECT_EQ(Find(*found, "a", 1)->reason, "");
}

TEST(Discovery, AFolderNamedTwiceIsSearchedOnce) {
  PluginFolder folder;
  folder.Write("a.so", "x");
  folder.AddManifest("a", ManifestText("a.so"));
  DiscoveryOptions options = folder.Options();
  options.paths.push_back(folder.path() + "/../" + std::filesystem::path(folder.path()).filename().string());
  const StatusOr<Discovery> found = Discover(options);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->candidates.size(), 1u);
}

TEST(Discovery, ALibraryWithoutAManifestIsReported) {
  PluginFolder folder;
  folder.AddLibrary("lonely", "good");
  unsetenv("MOTLEY_FAKE_LOADED");
  const StatusOr<Discovery> found = Discover(folder.Options());
  EXPECT_EQ(Find(*found, "lonely")->reason, "no manifest: lonely.plugin.toml is missing beside it");
  EXPECT_EQ(getenv("MOTLEY_FAKE_LOADED"), nullptr);
}

TEST(Discovery, AManifestWithoutItsLibraryIsReported) {
  PluginFolder folder;
  folder.AddManifest("a", ManifestText("a.so"));
  const StatusOr<Discovery> found = Discover(folder.Options());
  EXPECT_TRUE(Contains(Find(*found, "a")->reason, "a.so: No such file"));
}

// Reading a pipe would wait for ever.
TEST(Discovery, APipeIsNoLibrary) {
  PluginFolder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/a.so").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder.path() + "/b.plugin.toml").c_str(), 0600), 0);
  folder.AddManifest("a", ManifestText("a.so", "sha256 = \"" + std::string(64, '0') + "\"\n"));
  const StatusOr<Discovery> found = Discover(folder.Options());
  EXPECT_TRUE(Contains(Find(*found, "a")->reason, "a.so: is no file"));
  EXPECT_TRUE(Contains(Find(*found, "b")->reason, "b.plugin.toml: is no file"));
}

TEST(Discovery, ABrokenManifestNamesItsPlace) {
  PluginFolder folder;
  folder.AddManifest("a", "library = \"a.so\"\nabi = 3\n");
  const StatusOr<Discovery> found = Discover(folder.Options());
  EXPECT_TRUE(Contains(Find(*found, "a")->reason, folder.path() + "/a.plugin.toml:2:7: abi"));
}

TEST(Discovery, AChangedLibraryIsRefused) {
  PluginFolder folder;
  const std::string library = folder.Write("a.so", "first");
  folder.AddManifest("a", ManifestText("a.so", "sha256 = \"" + *Sha256OfFile(library) + "\"\n"));
  EXPECT_EQ(Find(*Discover(folder.Options()), "a")->reason, "");
  folder.Write("a.so", "second");
  EXPECT_TRUE(Contains(Find(*Discover(folder.Options()), "a")->reason, "sha256 is "));
}

TEST(Discovery, ANamedFolderMustBeThere) {
  PluginFolder folder;
  const std::string file = folder.Write("file", "x");
  for (const std::string& path : {std::string("/does/not/exist"), file, std::string("")}) {
    DiscoveryOptions options;
    options.paths = {path};
    const StatusOr<Discovery> found = Discover(options);
    ASSERT_FALSE(found.ok()) << path;
    EXPECT_EQ(found.status().code(), Code::kNotFound);
    EXPECT_TRUE(Contains(found.status().message(), "plugin folder \"" + path + "\""));
  }
}

TEST(Discovery, InstallFolderIsBesideTheExecutablesOwn) {
  const std::string folder = InstallFolder();
  EXPECT_TRUE(folder.size() > 11 && folder.substr(folder.size() - 11) == "/lib/motley") << folder;
}

}  // namespace
}  // namespace motley
