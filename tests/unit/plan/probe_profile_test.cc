#include "core/plan/probe_profile.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

constexpr const char* kFile = R"(schema = 1
date = "2026-11-30T12:00:00Z"
motley = "0.1.0"
quick = false
[host]
cpu = "Z80"
threads = 2
memory_bytes = 65536
read = [
  { pages = "base", bytes = 1024, bytes_per_s = [2e6, 1.5e6, 3e6], runs = 7 },
  { pages = "huge", bytes = 4096, bytes_per_s = [4e6, 4e6, 4e6], runs = 1 },
]
[[device]]
name = "gpu:0"
plugin = "gpu"
version = "1.2"
build = "abc"
options = ""
launch = { seconds = [1e-5, 0.9e-5, 2e-5], runs = 9 }
read = [
  { bytes = 4096, bytes_per_s = [3e9, 2e9, 4e9], runs = 3 },
  { bytes = 512, bytes_per_s = [1e9, 1e9, 1e9], runs = 3 },
]
copy = [ { to_device = true, bytes = 64, seconds = [1e-6, 1e-6, 1e-6], runs = 5 } ]
linear = [
  { format = "Q4_K", tokens = 8, rows = 16, cols = 256, weight_bytes = 2304, seconds = [0.5, 0.25, 1], runs = 4 },
]
)";

ProbeProfile Example() {
  const auto profile = ParseProbeProfile(kFile, "p.toml");
  EXPECT_TRUE(profile.ok()) << profile.status().ToString();
  return profile.ok() ? *profile : ProbeProfile();
}

std::string Replaced(const std::string& from, const std::string& to) {
  std::string text = kFile;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ProbeProfile, TheFileIsRead) {
  const ProbeProfile profile = Example();
  EXPECT_EQ(profile.date, "2026-11-30T12:00:00Z");
  EXPECT_EQ(profile.motley, "0.1.0");
  EXPECT_FALSE(profile.quick);
  EXPECT_EQ(profile.host.cpu, "Z80");
  EXPECT_EQ(profile.host.threads, 2u);
  EXPECT_EQ(profile.host.memory_bytes, 65536u);
  ASSERT_EQ(profile.reads.size(), 2u);
  EXPECT_EQ(profile.reads[0].bytes_per_s, (Figure{2e6, 1.5e6, 3e6, 7}));
  EXPECT_EQ(profile.reads[1].pages, PageKind::kHuge);
  ASSERT_EQ(profile.devices.size(), 1u);
  const DeviceProbe* gpu = profile.Find("gpu:0");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(profile.Find("gpu:1"), nullptr);
  EXPECT_EQ(gpu->identity.build, "abc");
  EXPECT_EQ(gpu->launch_s, (Figure{1e-5, 0.9e-5, 2e-5, 9}));
  EXPECT_EQ(gpu->node_s.runs, 0u);  // may be missing
  ASSERT_EQ(gpu->reads.size(), 2u);
  EXPECT_EQ(gpu->reads[0].bytes, 512u);  // by rising size, however they stand
  ASSERT_EQ(gpu->copies.size(), 1u);
  EXPECT_TRUE(gpu->copies[0].to_device);
  ASSERT_EQ(gpu->linears.size(), 1u);
  EXPECT_EQ(gpu->linears[0].format, Format::kQ4_K);
  EXPECT_EQ(gpu->linears[0].weight_bytes, 2304u);
  EXPECT_EQ(gpu->linears[0].seconds, (Figure{0.5, 0.25, 1, 4}));  // a whole number will do
}

TEST(ProbeProfile, WhatIsWrittenIsReadBack) {
  ProbeProfile profile = Example();
  profile.quick = true;
  profile.host.cpu = "odd \"name\" \\ \t \x01 Ω";
  profile.devices[0].identity.options = "threads = 2";
  profile.devices[0].node_s = {1, 1, 1, 3};  // written as 1.0: TOML tells whole numbers from others
  profile.devices.push_back(profile.devices[0]);
  profile.devices[1].identity.name = "gpu:1";
  profile.devices[1].linears.clear();
  const std::string text = FormatProbeProfile(profile);
  const auto again = ParseProbeProfile(text, "p.toml");
  ASSERT_TRUE(again.ok()) << again.status().ToString() << text;
  EXPECT_EQ(again->host.cpu, profile.host.cpu);
  EXPECT_EQ(FormatProbeProfile(*again), text);
  EXPECT_TRUE(again->quick);
  EXPECT_EQ(again->devices[0].node_s, profile.devices[0].node_s);
  EXPECT_EQ(again->devices[1].linears.size(), 0u);
}

TEST(FieldFailure, C01_ACorruptProfileIsNamedWithItsPlace) {
  const struct {
    std::string text;
    const char* says;
  } rows[] = {
      {"", "p.toml:1:1: schema is missing"},
      {Replaced("threads = 2", "thraeds = 2"), "p.toml:5:1: host.threads is missing"},
      {Replaced("threads = 2", "threads = 2\nthraeds = 2"),
       "p.toml:8:1: no key thraeds in host; did you mean \"threads\"?"},
      {Replaced("[[device]]", "[[devise]]"), "no key devise; did you mean \"device\"?"},
      {Replaced("threads = 2", "threads = \"2\""),
       "p.toml:7:11: host.threads = \"2\": must be a whole number"},
      {Replaced("threads = 2", "threads = 9223372036854775808"), "p.toml:7:11: "},
      {Replaced("threads = 2", "threads = 0"), "host.threads = 0: must be a whole number, 1.."},
      {Replaced("cpu = \"Z80\"", "cpu = \"Z80\"\ncpu = \"Z80\""), "p.toml:7:1: "},
      {Replaced("cpu = \"Z80\"", "cpu = 80"), "p.toml:6:7: host.cpu = 80: must be a text"},
      {Replaced("\"base\"", "\"4k\""),
       "p.toml:10:13: host.read.pages = \"4k\": must be base, transparent or huge"},
      {Replaced("\"Q4_K\"", "\"Q4_X\""), "device.linear.format = \"Q4_X\": must be the name of a format"},
      {Replaced("[2e6, 1.5e6, 3e6]", "[2e6, 1.5e6]"),
       "p.toml:10:49: host.read.bytes_per_s = [...]: must be [median"},
      {Replaced("[2e6, 1.5e6, 3e6]", "[2e6, 2.5e6, 3e6]"), "must be [median"},
      {Replaced("[2e6, 1.5e6, 3e6]", "[nan, 1.5e6, 3e6]"), "must be [median"},
      {Replaced("[2e6, 1.5e6, 3e6]", "[2e6, -1, 3e6]"), "must be [median"},
      {Replaced("[2e6, 1.5e6, 3e6]", "[2e6, 1.5e6, inf]"), "must be [median"},
      {Replaced("to_device = true", "to_device = 1"), "device.copy.to_device = 1: must be true or false"},
      {Replaced("{ to_device", "{ upwards = true, to_device"), "no key upwards in device.copy"},
      {Replaced("[host]", "[hosts]"), "host is missing"},
      {std::string(kFile) +
           "[[device]]\nname = \"gpu:0\"\nplugin = \"\"\nversion = \"\"\nbuild = \"\"\noptions = \"\"\n",
       "p.toml:29:8: device.name = \"gpu:0\": stands in the file twice"},
      {Replaced("schema = 1", "schema = 1\nnothing"), "p.toml:2:"},
      {std::string("schema = \xff"), "no valid UTF-8"},
      {"schema = " + std::string(1000, '['), "nested too deeply"},
      {"#" + std::string(kMaxProfileBytes, 'x'), "larger than"},
  };
  for (const auto& row : rows) {
    const auto profile = ParseProbeProfile(row.text, "p.toml");
    ASSERT_FALSE(profile.ok()) << row.says;
    EXPECT_EQ(profile.status().code(), Code::kInvalidArgument) << profile.status().ToString();
    EXPECT_EQ(profile.status().message().rfind("p.toml:", 0), 0u) << profile.status().message();
    EXPECT_HAS(profile.status().message(), row.says);
  }
}

TEST(FieldFailure, C01_AMarkInFrontAndLinesOfWindowsAreNoFault) {
  std::string text = "\xEF\xBB\xBF";
  for (const char c : std::string(kFile)) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_TRUE(ParseProbeProfile(text, "p.toml").ok());
}

TEST(ProbeProfile, AnotherSchemaIsToldFromACorruptFile) {
  const auto profile = ParseProbeProfile("schema = 2\nsomething = \"new\"\n", "p.toml");
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.status().code(), Code::kFailedPrecondition);
  EXPECT_HAS(profile.status().message(), "schema 2");
}

TEST(ProbeProfile, AnotherMachineIsNamed) {
  const HostIdentity here{"A", 8, 64ull << 30};
  EXPECT_EQ(WhyOtherHost(here, here), "");
  EXPECT_EQ(WhyOtherHost({"A", 8, 63ull << 30}, here), "");  // what a kernel keeps for itself
  EXPECT_HAS(WhyOtherHost({"B", 8, 64ull << 30}, here), "its CPU is \"B\", this one's \"A\"");
  EXPECT_HAS(WhyOtherHost({"A", 4, 64ull << 30}, here), "4 threads");
  EXPECT_HAS(WhyOtherHost({"A", 8, 32ull << 30}, here), "32 GiB");
}

TEST(ProbeProfile, AnotherBuildVersionOrSetupOfAPluginIsNamed) {
  const DeviceIdentity here{"cpu:0", "cpu", "1", "aaaa", "threads = 2"};
  EXPECT_EQ(WhyOtherDevice(here, here), "");
  EXPECT_HAS(WhyOtherDevice({"cpu:0", "cpu", "1", "bbbb", "threads = 2"}, here), "built anew");
  EXPECT_HAS(WhyOtherDevice({"cpu:0", "cpu", "2", "aaaa", "threads = 2"}, here),
             "version then \"2\", now \"1\"");
  EXPECT_HAS(WhyOtherDevice({"cpu:0", "cpu", "1", "aaaa", ""}, here),
             "options then none, now \"threads = 2\"");
}

}  // namespace
}  // namespace motley
