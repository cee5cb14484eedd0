#include "core/engine/profile_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace motley {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

ProbeProfile Example() {
  ProbeProfile profile;
  profile.date = "2026-11-30T12:00:00Z";
  profile.motley = "0.1.0";
  profile.host = {"Z80", 2, 1 << 20};
  DeviceProbe device;
  device.identity = {"gone:0", "gone", "1", "abc", ""};
  profile.devices.push_back(device);
  return profile;
}

Config Named(const std::string& path) {
  Config config;
  EXPECT_TRUE(ApplySetting(config, "probe.profile=" + path).ok());
  return config;
}

TEST(ProfileFile, TheDefaultIsInTheStateFolder) {
  EXPECT_EQ(DefaultProfilePath("/state", "/h/x"), "/state/motley/profile.toml");
  EXPECT_EQ(DefaultProfilePath("", "/h/x"), "/h/x/.local/state/motley/profile.toml");
  EXPECT_EQ(DefaultProfilePath("relative", "/h/x"),
            "/h/x/.local/state/motley/profile.toml");  // to be ignored
  EXPECT_EQ(DefaultProfilePath("", ""), "");
}

TEST(ProfileFile, TheConfigurationNamesItRelativeToItself) {
  const auto config = ParseConfig("[probe]\nprofile = \"p.toml\"\n", "folder/m.toml");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->probe.profile, "folder/p.toml");
}

TEST(ProfileFile, WhatIsWrittenIsLoadedAndNothingElseIsLeft) {
  const test::TempDir dir;
  const std::string path = (dir.path() / "a/b/profile.toml").string();
  ASSERT_TRUE(CheckProfilePath(path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(WriteProfile(Example(), path).ok());
  ASSERT_TRUE(WriteProfile(Example(), path).ok());  // over the old one
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.path() / "a/b")) ++files;
  EXPECT_EQ(files, 1u);
  const auto loaded = LoadProfile(Config(), path, Example().host, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  ASSERT_TRUE(loaded->profile.has_value());
  EXPECT_EQ(loaded->profile->date, Example().date);
  EXPECT_TRUE(loaded->profile->devices.empty());  // its device is not there now, which is nobody's fault
  EXPECT_TRUE(loaded->notices.empty());
}

TEST(ProfileFile, AMissingDefaultIsNoneAndAMissingNamedOneAnError) {
  const test::TempDir dir;
  const std::string path = (dir.path() / "nope.toml").string();
  for (const std::string& standard : {path, std::string()}) {
    const auto loaded = LoadProfile(Config(), standard, {}, {});
    ASSERT_TRUE(loaded.ok());
    EXPECT_FALSE(loaded->profile.has_value());
    EXPECT_TRUE(loaded->notices.empty());
  }
  const auto named = LoadProfile(Named(path), "", {}, {});
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.status().code(), Code::kNotFound);
  EXPECT_HAS(named.status().message(), "nope.toml: cannot be read");
  EXPECT_EQ(LoadProfile(Named(dir.path().string()), "", {}, {}).status().code(),
            Code::kNotFound);  // a folder
}

TEST(ProfileFile, AnotherMachinesIsNamedAndIgnored) {
  const test::TempDir dir;
  const std::string path = (dir.path() / "p.toml").string();
  ASSERT_TRUE(WriteProfile(Example(), path).ok());
  const auto loaded = LoadProfile(Named(path), "", {"Z80", 4, 1 << 20}, {});
  ASSERT_TRUE(loaded.ok());
  EXPECT_FALSE(loaded->profile.has_value());
  ASSERT_EQ(loaded->notices.size(), 1u);
  EXPECT_HAS(loaded->notices[0], "p.toml: is ignored, as it is of another machine: ");
}

TEST(ProfileFile, ACorruptOneIsAnErrorWithItsPlaceAndTheFix) {
  const test::TempDir dir;
  const std::string path = dir.Write("p.toml", "schema = 1\ndate = 7\n");
  const auto loaded = LoadProfile(Config(), path, {}, {});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), Code::kInvalidArgument);
  EXPECT_HAS(loaded.status().message(), "p.toml:2:8: date = 7: must be a text");
  EXPECT_HAS(loaded.status().message(), "motley probe");
}

TEST(ProfileFile, AFolderCannotBecomeOne) {
  const test::TempDir dir;
  EXPECT_HAS(CheckProfilePath(dir.path().string()).message(), "is a folder");
  dir.Write("file", "");
  EXPECT_HAS(CheckProfilePath((dir.path() / "file/p.toml").string()).message(), "cannot be written");
  EXPECT_FALSE(WriteProfile(Example(), (dir.path() / "file/p.toml").string()).ok());
}

TEST(ProfileFile, TheHostIsWhatProcSays) {
  const test::TempDir dir;
  dir.Write("proc/meminfo", "MemTotal: 2048 kB\nMemAvailable: 1024 kB\n");
  dir.Write("proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Z80 @ 4 MHz\nprocessor\t: 1\nmodel name\t: other\n");
  const HostIdentity host = ReadHostIdentity(3, dir.path().string());
  EXPECT_EQ(host.cpu, "Z80 @ 4 MHz");
  EXPECT_EQ(host.threads, 3u);
  EXPECT_EQ(host.memory_bytes, 2048u << 10);
  dir.Write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n");
  EXPECT_EQ(ReadHostIdentity(1, dir.path().string()).cpu, "CPU implementer 0x41 CPU part 0xd4f");
}

}  // namespace
}  // namespace motley
