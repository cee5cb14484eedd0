// Which plugins are used, and that each that is not leaves the others working.
#include "core/backend/registry.h"

#include <cstdlib>
#include <fstream>
#include <memory>

#include "fakes.h"

namespace motley {

bool test::IsMapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) return true;
  }
  return false;
}

namespace {

using test::Contains;
using test::ManifestText;
using test::PluginFolder;
using test::Report;

struct Opened {
  std::unique_ptr<Backends> backends;
  Status status;
};

class RegistryTest : public ::testing::Test {
 protected:
  Opened Open(const DiscoveryOptions& options) {
    StatusOr<std::unique_ptr<Backends>> backends = Backends::Open(options, host_, logger_);
    if (!backends.ok()) return {nullptr, backends.status()};
    return {*std::move(backends), OkStatus()};
  }
  // Opens a good plugin and "fake"; the good one must work whatever the other does. The other's reason.
  std::string ReasonOf(PluginFolder& folder, std::vector<OptionSetting> settings = {}) {
    if (!std::filesystem::exists(folder.path() + "/good.so")) folder.Add("good", "good");
    DiscoveryOptions options = folder.Options();
    options.plugins["fake"].options = std::move(settings);
    const Opened opened = Open(options);
    if (!opened.backends) return "OPEN FAILED: " + opened.status.ToString();
    EXPECT_NE(opened.backends->Find("good:0"), nullptr) << "the good plugin was hurt";
    EXPECT_TRUE(Report(*opened.backends, "good")->used);
    const PluginReport* report = Report(*opened.backends, "fake");
    if (report == nullptr) return "NO REPORT";
    EXPECT_EQ(report->used, report->reason.empty());
    EXPECT_EQ(report->folders.size(), 1u);
    return report->reason;
  }
  std::string ReasonOfTarget(std::string_view target) {
    PluginFolder folder;
    folder.Add("fake", target);
    return ReasonOf(folder);
  }
  std::string ReasonOfFault(std::string fault) {
    PluginFolder folder;
    folder.Add("fake", "fake");
    return ReasonOf(folder, {{"fault", std::move(fault), "t.toml:1:1"}});
  }

  Logger logger_{LogLevel::kError};
  Host host_{logger_};
};

const std::string kOurs = "this motley has ABI " + test::AbiText();

TEST_F(RegistryTest, GoodPluginsAreUsed) {
  PluginFolder folder;
  folder.Add("good", "good");
  folder.Add("fake", "fake");
  DiscoveryOptions options = folder.Options();
  options.plugins["fake"].options = {{"devices", int64_t{2}, ""}};
  const Opened opened = Open(options);
  ASSERT_TRUE(opened.backends) << opened.status.ToString();
  ASSERT_EQ(opened.backends->devices().size(), 3u);
  EXPECT_EQ(opened.backends->devices()[0]->name(), "fake:0");  // by name of the manifest
  EXPECT_EQ(opened.backends->devices()[1]->name(), "fake:1");
  EXPECT_EQ(opened.backends->devices()[2]->name(), "good:0");
  EXPECT_EQ(opened.backends->Find("nope:0"), nullptr);
  const PluginReport* report = Report(*opened.backends, "fake");
  EXPECT_EQ(report->version, "1.2.3");
  EXPECT_EQ(report->kind, "test");
  EXPECT_EQ(report->path, folder.path() + "/fake.so");
  EXPECT_EQ(report->devices, (std::vector<std::string>{"fake:0", "fake:1"}));
  EXPECT_EQ(report->options.size(), 5u);
  EXPECT_TRUE(opened.backends->devices()[0]->SameInstance(*opened.backends->devices()[1]));
  EXPECT_FALSE(opened.backends->devices()[0]->SameInstance(*opened.backends->devices()[2]));
}

TEST_F(RegistryTest, MoreDevicesThanTheFirstGuess) {
  PluginFolder folder;
  folder.Add("fake", "fake");
  DiscoveryOptions options = folder.Options();
  options.plugins["fake"].options = {{"devices", int64_t{20}, ""}};
  const Opened opened = Open(options);
  ASSERT_TRUE(opened.backends) << opened.status.ToString();
  EXPECT_NE(opened.backends->Find("fake:19"), nullptr);
}

// What serves first gets its threads first.
TEST_F(RegistryTest, TestDevicesAreOpenedLast) {
  PluginFolder folder;
  folder.Add("fake", "fake");
  folder.AddLibrary("good", "good");
  std::string manifest = ManifestText("good.so");
  manifest.replace(manifest.find("\"test\""), 6, "\"cpu\"");
  folder.AddManifest("good", manifest);
  const Opened opened = Open(folder.Options());
  ASSERT_TRUE(opened.backends);
  EXPECT_EQ(opened.backends->devices()[0]->name(), "good:0");
  EXPECT_EQ(opened.backends->devices()[1]->name(), "fake:0");
}

// L01: an ABI that differs by one, short structs, missing pointers, exceptions, no devices.
TEST_F(RegistryTest, FieldFailure_L01_OtherAbiInTheLibrary) {
  const std::string major =
      "ABI " + std::to_string(MOTLEY_ABI_MAJOR + 1) + "." + std::to_string(MOTLEY_ABI_MINOR);
  const std::string up =
      "ABI " + std::to_string(MOTLEY_ABI_MAJOR) + "." + std::to_string(MOTLEY_ABI_MINOR + 1);
  const std::string down =
      "ABI " + std::to_string(MOTLEY_ABI_MAJOR) + "." + std::to_string(MOTLEY_ABI_MINOR - 1);
  const std::pair<const char*, std::string> cases[] = {
      {"fake_MAJOR_UP", major}, {"fake_MINOR_UP", up}, {"fake_MINOR_DOWN", down}};
  for (const auto& [target, theirs] : cases) {
    const std::string reason = ReasonOfTarget(target);
    EXPECT_TRUE(Contains(reason, "built for " + theirs));
    EXPECT_TRUE(Contains(reason, kOurs));
    EXPECT_TRUE(Contains(reason, "fake.so"));
  }
}

TEST_F(RegistryTest, FieldFailure_L01_OtherAbiInTheManifestRunsNoCode) {
  unsetenv("MOTLEY_FAKE_LOADED");
  PluginFolder folder;
  folder.AddLibrary("fake", "fake");
  folder.AddManifest("fake", ManifestText("fake.so", "", "7.3"));
  const Opened opened = Open(folder.Options());
  ASSERT_TRUE(opened.backends);
  EXPECT_TRUE(Contains(opened.backends->reports()[0].reason, "built for ABI 7.3, " + kOurs));
  EXPECT_EQ(getenv("MOTLEY_FAKE_LOADED"), nullptr);
  EXPECT_FALSE(test::IsMapped(folder.path()));
}

TEST_F(RegistryTest, FieldFailure_L01_ShortStructs) {
  EXPECT_TRUE(Contains(ReasonOfTarget("fake_SHORT"), "motley_plugin.size = 112"));
  EXPECT_TRUE(Contains(ReasonOfTarget("fake_TINY"), "motley_plugin.size = 16"));
  EXPECT_TRUE(Contains(ReasonOfFault("short_compute"), "motley_compute.size = "));
}

TEST_F(RegistryTest, FieldFailure_L01_NullPointers) {
  EXPECT_TRUE(Contains(ReasonOfTarget("fake_NULL_OPEN"), "motley_plugin.open is NULL"));
  EXPECT_TRUE(Contains(ReasonOfTarget("fake_NULL_TABLE"), "returned NULL"));
  EXPECT_TRUE(Contains(ReasonOfFault("null_compute"), "get_interface(COMPUTE) returned 0 and no table"));
  EXPECT_TRUE(Contains(ReasonOfFault("null_execute"), "motley_compute.execute is NULL"));
  EXPECT_TRUE(Contains(ReasonOfFault("null_instance"), "open returned 0 and no instance"));
  EXPECT_TRUE(Contains(ReasonOfFault("null_device"), "NULL device"));
}

TEST_F(RegistryTest, FieldFailure_L01_ExceptionsDoNotCross) {
  EXPECT_TRUE(Contains(ReasonOfFault("open_throws"), "an exception came out of the plugin: thrown by open"));
  EXPECT_TRUE(Contains(ReasonOfFault("open_throws_int"), "an exception came out of the plugin"));
  EXPECT_TRUE(Contains(ReasonOfTarget("fake_QUERY_THROWS"), "thrown by query"));
  EXPECT_TRUE(Contains(ReasonOfFault("info_throws"), "thrown by device_info"));
}

TEST_F(RegistryTest, FieldFailure_L01_NoDevices) {
  EXPECT_TRUE(Contains(ReasonOfFault("zero_devices"), "has no devices"));
  EXPECT_TRUE(Contains(ReasonOfFault("many_devices"), "devices gave a count of 1073741824"));
  EXPECT_TRUE(Contains(ReasonOfFault("no_hardware"), "no such hardware: plug it in"));
}

// L02: what the loader cannot load.
TEST_F(RegistryTest, FieldFailure_L02_MissingDependency) {
  const std::string reason = ReasonOfTarget("fake_NEEDS_NOPE");
  EXPECT_TRUE(Contains(reason, "libnope.so.1"));
  EXPECT_TRUE(Contains(reason, "/fake.so: "));
}

TEST_F(RegistryTest, FieldFailure_L02_NoEntrySymbol) {
  EXPECT_TRUE(Contains(ReasonOfTarget("fake_NO_SYMBOL"), "has no symbol motley_plugin_query"));
}

TEST_F(RegistryTest, FieldFailure_L02_TextFile) {
  PluginFolder folder;
  folder.Write("fake.so", "this is no library, but a text that someone copied here by mistake\n");
  folder.AddManifest("fake", ManifestText("fake.so"));
  EXPECT_TRUE(Contains(ReasonOf(folder), "fake.so: invalid ELF header"));
}

TEST_F(RegistryTest, FieldFailure_L02_EmptyFile) {
  PluginFolder folder;
  folder.Write("fake.so", "");
  folder.AddManifest("fake", ManifestText("fake.so"));
  EXPECT_TRUE(Contains(ReasonOf(folder), "fake.so: file too short"));
}

TEST_F(RegistryTest, FieldFailure_L02_WrongMachineInTheLibrary) {
  PluginFolder folder;
  std::ifstream in(test::BuiltPlugin("fake"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  ASSERT_GT(bytes.size(), 64u);
  bytes[18] = static_cast<char>(0xf3);  // e_machine: RISC-V
  bytes[19] = 0;
  folder.Write("fake.so", bytes);
  folder.AddManifest("fake", ManifestText("fake.so"));
  EXPECT_TRUE(Contains(ReasonOf(folder), "/fake.so: built for RISC-V, this machine is "));
}

TEST_F(RegistryTest, FieldFailure_L02_WrongMachineInTheManifestRunsNoCode) {
  unsetenv("MOTLEY_FAKE_LOADED");
  PluginFolder folder;
  folder.AddLibrary("fake", "fake");
  folder.AddManifest("fake", ManifestText("fake.so", "", test::AbiText(), "s390x"));
  const Opened opened = Open(folder.Options());
  ASSERT_TRUE(opened.backends);
  EXPECT_EQ(opened.backends->reports()[0].reason,
            "built for s390x, this machine is " + std::string(HostArch()));
  EXPECT_EQ(getenv("MOTLEY_FAKE_LOADED"), nullptr);
}

TEST_F(RegistryTest, FieldFailure_L02_EmptyFolder) {
  PluginFolder folder;
  const Opened opened = Open(folder.Options());
  ASSERT_TRUE(opened.backends);
  EXPECT_TRUE(opened.backends->devices().empty());
  EXPECT_TRUE(opened.backends->reports().empty());
  EXPECT_EQ(opened.backends->folders().size(), 1u);
}

TEST_F(RegistryTest, FieldFailure_L02_MissingFolderIsAnError) {
  DiscoveryOptions options;
  options.paths = {"/does/not/exist/plugins"};
  const Opened opened = Open(options);
  ASSERT_FALSE(opened.backends);
  EXPECT_EQ(opened.status.code(), Code::kNotFound);
  EXPECT_TRUE(Contains(opened.status.message(), "/does/not/exist/plugins"));
}

TEST_F(RegistryTest, FieldFailure_L02_WorldWritableFolderRunsNoCode) {
  unsetenv("MOTLEY_FAKE_LOADED");
  PluginFolder folder;
  folder.Add("fake", "fake");
  folder.AddLibrary("lonely", "good");
  chmod(folder.path().c_str(), 0777);
  const Opened opened = Open(folder.Options());
  ASSERT_TRUE(opened.backends);
  EXPECT_TRUE(opened.backends->devices().empty());
  ASSERT_EQ(opened.backends->reports().size(), 2u);
  for (const PluginReport& report : opened.backends->reports()) {
    EXPECT_TRUE(Contains(report.reason, folder.path() + " can be written by everybody"));
    EXPECT_TRUE(Contains(report.reason, "chmod o-w"));
  }
  EXPECT_EQ(getenv("MOTLEY_FAKE_LOADED"), nullptr);
}

TEST_F(RegistryTest, FieldFailure_L02_WorldWritableFilesAreRefused) {
  for (const char* file : {"/fake.so", "/fake.plugin.toml"}) {
    PluginFolder folder;
    folder.Add("fake", "fake");
    chmod((folder.path() + file).c_str(), 0666);
    EXPECT_TRUE(Contains(ReasonOf(folder), std::string(file) + " can be written by everybody"));
  }
}

// L04: a CPU feature that is missing is named before any of the plugin's code runs.
TEST_F(RegistryTest, FieldFailure_L04_MissingCpuFeatures) {
  unsetenv("MOTLEY_FAKE_LOADED");
  PluginFolder folder;
  folder.AddLibrary("fake", "fake");
  folder.AddManifest("fake",
                     ManifestText("fake.so", "cpu_features = [\"sse2\", \"avx512_bf16\", \"amx_int8\"]\n"));
  DiscoveryOptions options = folder.Options();
  CpuidSource old;
  old.cpuid = [](uint32_t leaf, uint32_t) -> std::array<uint32_t, 4> {
    if (leaf == 0) return {7, 0, 0, 0};
    if (leaf == 1) return {0, 0, 0, 1u << 26};  // sse2
    return {0, 0, 0, 0};
  };
  options.cpu = CpuFeatures::From(old);
  const Opened opened = Open(options);
  ASSERT_TRUE(opened.backends);
  const std::string& reason = opened.backends->reports()[0].reason;
  EXPECT_TRUE(Contains(reason, "avx512_bf16 (the CPU lacks it), amx_int8 (the CPU lacks it)"));
  EXPECT_EQ(reason.find("sse2"), std::string::npos);
  EXPECT_EQ(getenv("MOTLEY_FAKE_LOADED"), nullptr);
}

TEST_F(RegistryTest, WhatAPluginSaysOfItsDeviceIsChecked) {
  EXPECT_TRUE(Contains(ReasonOfFault("alignment"), "alignment = 48: must be a power of two"));
  EXPECT_TRUE(Contains(ReasonOfFault("nan_rate"), "rate 0: math 1, "));
  EXPECT_TRUE(Contains(ReasonOfFault("null_rates"),
                       "rates: a span of 3 elements, stride 16, reserved 0, data NULL cannot be read"));
  EXPECT_TRUE(Contains(ReasonOfFault("rate_reserved"), "rate 0: reserved = 7: must be 0"));
  EXPECT_TRUE(Contains(ReasonOfFault("rates_reserved"), "rates: a span of 1 elements, stride 16, reserved 5"));
  EXPECT_TRUE(Contains(ReasonOfFault("null_name"), "device_info: name"));
  EXPECT_TRUE(Contains(ReasonOfFault("no_pool"), "pool is empty"));
  EXPECT_TRUE(Contains(ReasonOfFault("unknown_kind"), "unknown kind 77"));
  EXPECT_TRUE(Contains(ReasonOfFault("unknown_feature"), "unknown features"));
}

TEST_F(RegistryTest, DeviceNamesAreUnique) {
  PluginFolder folder;
  folder.Add("fake", "fake");
  const std::string reason =
      ReasonOf(folder, {{"fault", std::string("same_names"), ""}, {"devices", int64_t{2}, ""}});
  EXPECT_TRUE(Contains(reason, "\"fake:0\" is there already"));
}

TEST_F(RegistryTest, SchemaAndFlagsOfTheHostAreRefused) {
  EXPECT_TRUE(
      Contains(ReasonOfTarget("fake_RESERVED_OPTION"), "option \"isolate\": that name is the host's"));
  EXPECT_TRUE(Contains(ReasonOfTarget("fake_UNKNOWN_FLAG"), "unknown flags"));
}

TEST_F(RegistryTest, ManifestAndPluginMustAgreeOnTheName) {
  PluginFolder folder;
  folder.Add("good", "good");
  folder.AddLibrary("other", "fake");
  folder.AddManifest("fake", ManifestText("other.so"));
  EXPECT_EQ(ReasonOf(folder), "");  // the library's file name is free
  PluginFolder wrong;
  wrong.AddLibrary("fake", "good");
  wrong.AddManifest("fake", ManifestText("fake.so"));
  const Opened opened = Open(wrong.Options());
  ASSERT_TRUE(opened.backends);
  EXPECT_TRUE(Contains(opened.backends->reports()[0].reason, "calls itself \"good\""));
}

// The operator's mistakes end Open, with their place.
TEST_F(RegistryTest, FieldFailure_C01_WrongOptions) {
  PluginFolder folder;
  folder.Add("fake", "fake");
  DiscoveryOptions options = folder.Options();
  options.plugins["fake"].options = {{"devices", int64_t{0}, "motley.toml:9:11"}};
  Opened opened = Open(options);
  ASSERT_FALSE(opened.backends);
  EXPECT_EQ(opened.status.code(), Code::kInvalidArgument);
  EXPECT_EQ(opened.status.message(), "motley.toml:9:11: plugin.fake.devices = 0: must be 1..20");

  options.plugins["fake"].options = {{"devcies", int64_t{1}, "motley.toml:9:1"}};
  opened = Open(options);
  EXPECT_EQ(opened.status.message(),
            "motley.toml:9:1: plugin.fake.devcies = 1: unknown option; did you mean \"devices\"?");
}

TEST_F(RegistryTest, FieldFailure_C01_OptionsForAPluginThatIsNotThere) {
  PluginFolder folder;
  folder.Add("fake", "fake");
  DiscoveryOptions options = folder.Options();
  options.plugins["fkae"].position = "motley.toml:8:1";
  Opened opened = Open(options);
  ASSERT_FALSE(opened.backends);
  EXPECT_EQ(opened.status.message(),
            "motley.toml:8:1: plugin.fkae: there is no such plugin; did you mean \"fake\"?");
  options.plugins["fkae"].enabled = false;
  opened = Open(options);
  EXPECT_TRUE(opened.backends) << opened.status.ToString();
}

TEST_F(RegistryTest, DisabledPluginsRunNoCode) {
  unsetenv("MOTLEY_FAKE_LOADED");
  PluginFolder folder;
  folder.Add("fake", "fake");
  DiscoveryOptions options = folder.Options();
  options.plugins["fake"].enabled = false;
  options.plugins["fake"].position = "motley.toml:4:1";
  const Opened opened = Open(options);
  ASSERT_TRUE(opened.backends);
  EXPECT_EQ(opened.backends->reports()[0].reason, "disabled: plugin.fake.enabled = false (motley.toml:4:1)");
  EXPECT_EQ(getenv("MOTLEY_FAKE_LOADED"), nullptr);
}

// Teams that a plugin leaves, and a close that fails.
TEST_F(RegistryTest, WhatAPluginLeavesBehindIsTakenBack) {
  if (host_.threads() < 2) GTEST_SKIP() << "one CPU";
  PluginFolder folder;
  folder.Add("fake", "fake");
  DiscoveryOptions options = folder.Options();
  const uint32_t before = host_.threads_left();
  options.plugins["fake"].options = {{"fault", std::string("team_left"), ""}, {"team", int64_t{2}, ""}};
  Opened opened = Open(options);
  ASSERT_TRUE(opened.backends);
  ASSERT_TRUE(opened.backends->reports()[0].used) << opened.backends->reports()[0].reason;
  EXPECT_EQ(host_.threads_left(), before - 1);
  opened.backends.reset();
  EXPECT_EQ(host_.threads_left(), before);
}

TEST_F(RegistryTest, UnloadsOnlyWhoDeclaresIt) {
  PluginFolder stays, goes, fails;
  stays.Add("fake", "fake");
  goes.Add("fake", "fake_MAY_UNLOAD");
  fails.Add("fake", "fake_MAY_UNLOAD");
  DiscoveryOptions failing = fails.Options();
  failing.plugins["fake"].options = {{"fault", std::string("close_fails"), ""}};
  for (const DiscoveryOptions& options : {stays.Options(), goes.Options(), failing}) {
    Opened opened = Open(options);
    ASSERT_TRUE(opened.backends && opened.backends->reports()[0].used);
  }
  EXPECT_TRUE(test::IsMapped(stays.path()));
  EXPECT_FALSE(test::IsMapped(goes.path()));
  EXPECT_TRUE(test::IsMapped(fails.path()));
}

TEST_F(RegistryTest, HandlesOutliveBackends) {
  PluginFolder folder;
  folder.Add("fake", "fake_MAY_UNLOAD");
  Opened opened = Open(folder.Options());
  ASSERT_TRUE(opened.backends);
  StatusOr<Buffer> buffer = opened.backends->devices()[0]->AllocBuffer(64, Usage::kWork);
  ASSERT_TRUE(buffer.ok());
  opened.backends.reset();
  EXPECT_TRUE(test::IsMapped(folder.path()));
  StatusOr<std::byte*> bytes = buffer->Map(0, 64);
  ASSERT_TRUE(bytes.ok());
  (*bytes)[63] = std::byte{1};
  buffer->Unmap();
  *buffer = Buffer();
  EXPECT_FALSE(test::IsMapped(folder.path()));
}

}  // namespace
}  // namespace motley
