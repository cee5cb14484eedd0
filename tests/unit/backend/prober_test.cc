// Which plugins may be opened here, by a probe in a child process or by what is remembered of one.
#include "core/backend/prober.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/backend/plugin_probe.h"
#include "fakes.h"

namespace motley {
namespace {

using test::Contains;

class ProberTest : public ::testing::Test {
 protected:
  DiscoveryOptions Options() {
    DiscoveryOptions options = folder_.Options();
    options.probe_program = MOTLEY_PLUGIN_PROBE;
    options.verdict_folder = (cache_.path() / "plugins").string();
    return options;
  }
  // What a host says of the plugin "fake".
  PluginReport Open(const DiscoveryOptions& options) {
    const StatusOr<std::unique_ptr<Backends>> backends = Backends::Open(options, host_, logger_);
    EXPECT_TRUE(backends.ok()) << backends.status().ToString();
    if (!backends.ok()) return {};
    const PluginReport* report = test::Report(**backends, "fake");
    return report == nullptr ? PluginReport() : *report;
  }
  size_t Remembered() const {
    std::error_code error;
    size_t count = 0;
    for (std::filesystem::directory_iterator it(cache_.path() / "plugins", error), end; !error && it != end;
         ++it)
      ++count;
    return count;
  }
  // The probe program as one that leaves a mark in a file, so that a test can count its runs.
  std::string CountingProgram() {
    const std::string program = cache_.Write(
        "probe", "#!/bin/sh\necho x >> " + Marks() + "\nexec " + MOTLEY_PLUGIN_PROBE + " \"$@\"\n");
    std::filesystem::permissions(program, std::filesystem::perms(0755));
    return program;
  }
  std::string Marks() const { return (cache_.path() / "marks").string(); }
  size_t Runs() const {
    std::ifstream marks(Marks());
    size_t count = 0;
    for (std::string line; std::getline(marks, line);) ++count;
    return count;
  }

  test::PluginFolder folder_;
  test::TempDir cache_;
  Logger logger_{LogLevel::kError};
  Host host_{logger_};
};

TEST_F(ProberTest, ASoundPluginIsProbedOnce) {
  folder_.Add("fake", "fake");
  DiscoveryOptions options = Options();
  options.probe_program = CountingProgram();
  EXPECT_TRUE(Open(options).used);
  EXPECT_EQ(Runs(), 1u);
  EXPECT_EQ(Remembered(), 1u);
  EXPECT_TRUE(Open(options).used);
  EXPECT_EQ(Runs(), 1u);  // by its hash
  options.plugins["fake"].probe_in_child = true;
  EXPECT_TRUE(Open(options).used);
  EXPECT_EQ(Runs(), 2u);  // asked for
  options.plugins["fake"].probe_in_child = false;
  options.verdict_folder.clear();
  EXPECT_TRUE(Open(options).used);
  EXPECT_EQ(Runs(), 2u);
  options.plugins.clear();
  EXPECT_TRUE(Open(options).used);
  EXPECT_TRUE(Open(options).used);
  EXPECT_EQ(Runs(), 4u);  // nowhere to remember: each time
}

TEST_F(ProberTest, AnotherLibraryUnderTheNameIsProbedAnew) {
  folder_.Add("fake", "fake");
  DiscoveryOptions options = Options();
  options.probe_program = CountingProgram();
  EXPECT_TRUE(Open(options).used);
  std::filesystem::remove(folder_.path() + "/fake.so");
  folder_.AddLibrary("fake", "fake_MAY_UNLOAD");
  EXPECT_TRUE(Open(options).used);
  EXPECT_EQ(Runs(), 2u);
}

TEST_F(ProberTest, NothingOfABrokenPluginRunsHere) {
  unsetenv("MOTLEY_FAKE_LOADED");
  folder_.Add("fake", "fake_QUERY_THROWS");
  const PluginReport report = Open(Options());
  EXPECT_FALSE(report.used);
  EXPECT_TRUE(Contains(report.reason, "thrown by query"));
  EXPECT_EQ(getenv("MOTLEY_FAKE_LOADED"), nullptr);
  EXPECT_FALSE(test::IsMapped(folder_.path()));
  EXPECT_EQ(Remembered(), 0u);  // seen anew each time, so that a repair is seen
}

// The probe opens with default options; those of the operator may fail, and that is the host's to see.
TEST_F(ProberTest, TheOperatorsOptionsAreTheHosts) {
  folder_.Add("fake", "fake");
  DiscoveryOptions options = Options();
  options.plugins["fake"].options = {{"fault", std::string("no_hardware"), ""}};
  EXPECT_TRUE(Contains(Open(options).reason, "no such hardware: plug it in"));
  options.plugins["fake"].options = {{"devices", int64_t{3}, ""}};
  EXPECT_EQ(Open(options).devices.size(), 3u);
}

TEST_F(ProberTest, AHungPluginIsLeftAloneForAWhile) {
  folder_.Add("fake", "fake");
  DiscoveryOptions options = Options();
  const std::string hangs = cache_.Write("hangs", "#!/bin/sh\necho step 2 >&3\nexec sleep 60\n");
  std::filesystem::permissions(hangs, std::filesystem::perms(0755));
  options.probe_program = hangs;
  options.plugins["fake"].probe_timeout_s = 1;
  const std::string first = Open(options).reason;
  EXPECT_TRUE(
      Contains(first, "/fake.so: its probe process did not finish within 1.00 s while opening an instance"));
  EXPECT_TRUE(Contains(first, "plugin.fake.probe_timeout_s gives it more"));
  options.probe_program = MOTLEY_PLUGIN_PROBE;  // would find it sound
  const std::string second = Open(options).reason;
  EXPECT_TRUE(Contains(second, "while opening an instance ("));
  EXPECT_TRUE(Contains(
      second, "s ago; tried again after 10 minutes, or at once with plugin.fake.probe_in_child = true)"));
  options.plugins["fake"].probe_in_child = true;
  EXPECT_TRUE(Open(options).used);
  options.plugins["fake"].probe_in_child.reset();
  EXPECT_TRUE(Open(options).used);  // the newer verdict holds
}

// What happens before the library is touched is no fault of the plugin's.
TEST_F(ProberTest, WithoutAProgramThatWorksPluginsAreOpenedAllTheSame) {
  folder_.Add("fake", "fake");
  DiscoveryOptions options = Options();
  const std::string crashes = cache_.Write("crashes", "#!/bin/sh\nkill -SEGV $$\n");
  const std::string odd = cache_.Write("odd", "#!/bin/sh\necho step 9 >&3\n");
  for (const std::string& script : {crashes, odd})
    std::filesystem::permissions(script, std::filesystem::perms(0755));
  for (const std::string& program :
       {std::string(), std::string("/does/not/exist"), std::string("/bin/false"), crashes, odd}) {
    options.probe_program = program;
    EXPECT_TRUE(Open(options).used) << program;
  }
  const StatusOr<ProbeVerdict> verdict = ProbeInChild("/bin/false", "/x/fake.so", 20'000'000'000);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.status().message(),
            "/bin/false: /x/fake.so: its probe process ended with exit code 1 before it had begun");
  EXPECT_EQ(Remembered(), 0u);
}

// What a child may write, cut or made up, is never more than a verdict.
TEST_F(ProberTest, OddReportsAreJudged) {
  const struct {
    const char* script;
    ProbeResult result;
    const char* says;
  } rows[] = {
      {"echo step 1 >&3; exit 0", ProbeResult::kBroken, "ended with exit code 0 while loading it"},
      {"echo step 2 >&3; echo 'terminate called' >&2; kill -ABRT $$", ProbeResult::kBroken,
       "killed by SIGABRT while opening an instance; it last said: \"terminate called\""},
      {"echo step 5 >&3; exit 1", ProbeResult::kBroken, "exit code 1 while ending"},
      {"echo step 5 >&3; kill -SEGV $$", ProbeResult::kBroken, "killed by SIGSEGV while ending"},
      {"printf 'step 1\\nrefused 9 no library' >&3", ProbeResult::kBroken, "no library"},
      {"printf 'step 2\\nrefused 13 it threw' >&3", ProbeResult::kBroken, "it threw"},
      {"printf 'step 2\\nrefused 5 no hardware\\nsecond line' >&3", ProbeResult::kRefused,
       "no hardware\nsecond line"},
      {"printf 'step 2\\nrefused 4711 odd' >&3", ProbeResult::kBroken, "exit code 0 while opening"},
      {"printf 'step 2\\nrefused' >&3", ProbeResult::kBroken, "exit code 0 while opening"},
      {"printf 'step 2\\nrefused 5' >&3", ProbeResult::kRefused, ""},
      {"echo step 5 >&3", ProbeResult::kSound, ""},
  };
  for (const auto& row : rows) {
    const std::string program = cache_.Write("odd", std::string("#!/bin/sh\n") + row.script + "\n");
    std::filesystem::permissions(program, std::filesystem::perms(0755));
    const StatusOr<ProbeVerdict> verdict = ProbeInChild(program, "/x/fake.so", 20'000'000'000);
    ASSERT_TRUE(verdict.ok()) << verdict.status().ToString();
    EXPECT_EQ(verdict->result, row.result) << row.script;
    EXPECT_TRUE(Contains(verdict->why.message(), row.says)) << row.script;
  }
}

}  // namespace
}  // namespace motley
