// Broken plugins (tests/plugins/broken) beside `ref`, through the real launcher: each is skipped with its reason, or
// its fault ends the one command that uses it, and everything else works.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/cpu_features.h"
#include "tests/support/child_process.h"
#include "tests/support/golden_case.h"
#include "tests/support/npy.h"
#include "tests/support/temp_dir.h"

namespace motley::test {
namespace {

namespace fs = std::filesystem;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// How a plugin's file comes to be, where no compiler made it.
enum class Forged { kNot, kOtherMachine, kText, kEmpty };

struct Row {
  std::string failure;              // its row in the list of field failures
  std::string name;
  std::vector<std::string> reason;  // all of these stand in it
  Forged forged = Forged::kNot;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

const Row kRows[] = {
    {"L01", "wrong_major", {"built for ABI 1.1, this motley has ABI 0.1: build the plugin anew"}},
    {"L01", "short_struct", {"motley_plugin.size = 112: ABI 0.1 has at least 128"}},
    {"L01", "null_pointer", {"null_pointer: motley_compute.execute is NULL"}},
    {"L01", "throwing_init", {"its probe process was killed by SIGABRT while loading it"}},
    {"L01", "throwing_open", {"throwing_open: open: an exception came out of the plugin: thrown by open"}},
    {"L01", "zero_devices", {"zero_devices: has no devices here"}},
    {"P07", "hang_in_open", {"its probe process did not finish within 1.00 s while opening an instance",
                              "plugin.hang_in_open.probe_"}},
    {"P07", "crash_in_open", {"its probe process was killed by SIGSEGV while opening an instance"}},
    {"P07", "abort_in_close", {"its probe process was killed by SIGABRT while closing the instance"}},
    {"L02", "missing_dependency", {"/missing_dependency.so: ", "libnope.so.1: cannot open shared object file"}},
    {"L01", "reserved_field", {"schema: ", "reserved"}},
    {"L02", "wrong_machine", {"wrong_machine.so: built for RISC-V, this machine is"}, Forged::kOtherMachine},
    {"L02", "text_file", {"text_file.so: invalid ELF header"}, Forged::kText},
    {"L02", "empty_file", {"empty_file.so: file too short"}, Forged::kEmpty},
    {"L05", "other_hardware", {"built for sm_120, gfx1030; the device here is sm_121"}},
};

// A folder of plugins and a cache of its own; a tiny model with golden logits.
class PluginsAtWork : public ::testing::Test {
 protected:
  PluginsAtWork() : golden_(*LoadGoldenCase("llama-tied-f32")), model_((dir_.path() / "tiny.gguf").string()) {
    fs::create_directory(dir_.path() / "plugins");
    fs::permissions(dir_.path() / "plugins", fs::perms(0755));
    EXPECT_TRUE(WriteTinyModel(*golden_.spec, model_).ok());
    Add("ref", std::string(MOTLEY_PLUGIN_FOLDER) + "/ref.so");
  }

  std::string folder() const { return (dir_.path() / "plugins").string(); }

  // A copy of a library, or `bytes`, with a manifest that makes no complaint.
  void Add(const std::string& name, const std::string& library) {
    fs::copy_file(library, folder() + "/" + name + ".so");
    AddManifest(name);
  }
  void AddBytes(const std::string& name, const std::string& bytes) {
    std::ofstream(folder() + "/" + name + ".so", std::ios::binary) << bytes;
    AddManifest(name);
  }
  void AddBroken(const std::string& name) { Add(name, std::string(MOTLEY_BROKEN_PLUGINS) + "/" + name + ".so"); }

  ChildResult Motley(std::vector<std::string> args, const std::string& plugin = "") {
    ChildOptions options;
    options.environment = {"MOTLEY_PLUGIN_PATH=", "XDG_STATE_HOME=/nonexistent",
                           "XDG_CACHE_HOME=" + (dir_.path() / "cache").string(), "NO_COLOR=1",
                           // Where a sanitizer is built in: signals end the process as they do without one.
                           "ASAN_OPTIONS=handle_segv=0:handle_abort=0:detect_leaks=0",
                           "UBSAN_OPTIONS=handle_segv=0:handle_abort=0", "TSAN_OPTIONS=handle_segv=0:handle_abort=0"};
    args.insert(args.begin(), MOTLEY_LAUNCHER);
    args.insert(args.end(), {"--plugin-path", folder()});
    if (!plugin.empty()) args.insert(args.end(), {"--set", "plugin." + plugin + ".probe_timeout_s=1"});
    return RunChild(args, options);
  }

  // The entry of one plugin in `motley plugins --json`.
  boost::json::object Plugin(const std::string& name) {
    const ChildResult result = Motley({"plugins", "--json"}, name);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(result.out, error);
    EXPECT_FALSE(error) << result.out;
    if (error) return {};
    for (const boost::json::value& plugin : value.at("plugins").as_array()) {
      if (plugin.at("name").as_string() == name) return plugin.as_object();
    }
    ADD_FAILURE() << name << " is not in " << result.out;
    return {};
  }

  // Whether `device` gives the model's golden logits.
  void ExpectGolden(const std::string& device, const std::string& plugin) {
    constexpr int64_t kPositions = 6;
    std::string tokens;
    for (int64_t i = 0; i < kPositions; ++i) tokens += std::to_string(golden_.tokens[static_cast<size_t>(i)]) + " ";
    const std::string out = (dir_.path() / "logits.npy").string();
    const ChildResult result = Motley(
        {"logits", "-m", model_, "--tokens", tokens, "-o", out, "--device", device, "--kv", "f32"}, plugin);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const StatusOr<NpyArray> logits = ReadNpy(out);
    ASSERT_TRUE(logits.ok()) << logits.status().ToString();
    const std::vector<float> got(logits->values.begin(), logits->values.end());
    const NearTieReport report =
        CompareLogits(golden_.Rows(kPositions), got, kPositions, golden_.n_vocab, NearTieTolerance("f32"));
    EXPECT_TRUE(report.ok) << report.text;
  }

  TempDir dir_;
  const GoldenCase golden_;
  const std::string model_;

 private:
  void AddManifest(const std::string& name) {
    const std::string path = folder() + "/" + name;
    std::ofstream(path + ".plugin.toml") << "library = \"" << name << ".so\"\nabi = \"0.1\"\narch = \""
                                         << HostArch() << "\"\nkind = \"other\"\n";
    chmod((path + ".so").c_str(), 0644);
    chmod((path + ".plugin.toml").c_str(), 0644);
  }
};

class BrokenPlugin : public PluginsAtWork, public ::testing::WithParamInterface<Row> {};

TEST_P(BrokenPlugin, IsSkippedWithItsReasonAndTheOthersWork) {
  const Row& row = GetParam();
  if (row.forged == Forged::kNot) AddBroken(row.name);
  if (row.forged == Forged::kText) AddBytes(row.name, std::string(100, '#') + " a text, longer than a header\n");
  if (row.forged == Forged::kEmpty) AddBytes(row.name, "");
  if (row.forged == Forged::kOtherMachine) {
    std::ifstream in(folder() + "/ref.so", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    ASSERT_GT(bytes.size(), 64u);
    bytes[18] = static_cast<char>(0xf3), bytes[19] = 0;  // e_machine: RISC-V
    AddBytes(row.name, bytes);
  }
  const boost::json::object plugin = Plugin(row.name);
  ASSERT_FALSE(plugin.empty());
  EXPECT_FALSE(plugin.at("used").as_bool());
  const std::string reason(plugin.at("reason").as_string());
  for (const std::string& part : row.reason) EXPECT_HAS(reason, part);

  const ChildResult terminal = Motley({"plugins"}, row.name);
  EXPECT_EQ(terminal.exit_code, 0);
  EXPECT_HAS(terminal.out, row.name);
  EXPECT_HAS(terminal.out, "skipped: ");
  for (const std::string& part : row.reason) EXPECT_HAS(terminal.out, part);

  const ChildResult devices = Motley({"devices"}, row.name);
  EXPECT_HAS(devices.out, "ref:0");
  EXPECT_HAS(devices.out, "skipped " + row.name + ": ");
  for (const std::string& part : row.reason) EXPECT_HAS(devices.out, part);

  ExpectGolden("ref:0", row.name);
  const ChildResult answer =
      Motley({"run", "-m", model_, "--device", "ref:0", "--kv", "f32", "-n", "3", "--raw", "Hi"}, row.name);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_FALSE(answer.out.empty());
}

std::string RowName(const ::testing::TestParamInfo<Row>& info) { return info.param.failure + "_" + info.param.name; }
INSTANTIATE_TEST_SUITE_P(FieldFailure, BrokenPlugin, ::testing::ValuesIn(kRows), RowName);

// What opens well and fails at work ends the command that uses it, with the device's name.
TEST_F(PluginsAtWork, FailingAllocEndsTheRunWithTheDevicesName) {
  AddBroken("failing_alloc");
  EXPECT_TRUE(Plugin("failing_alloc").at("used").as_bool());
  const std::vector<std::string> run{"run", "-m", model_, "-n", "2", "--raw", "Hi"};
  for (const bool named : {true, false}) {  // by automatic placement too
    std::vector<std::string> args = run;
    if (named) args.insert(args.end(), {"--device", "failing_alloc:0"});
    else args.insert(args.end(), {"--device", "failing_alloc:0", "--device", "ref:0"});
    const ChildResult result = Motley(args);
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_HAS(result.err, "failing_alloc:0: buffer_alloc: the test's allocator has nothing to give");
  }
  ExpectGolden("ref:0", "");
}

TEST_F(PluginsAtWork, ErrorInExecuteEndsTheRunWithTheDevicesName) {
  AddBroken("error_in_execute");
  EXPECT_TRUE(Plugin("error_in_execute").at("used").as_bool());
  for (const bool named : {true, false}) {
    std::vector<std::string> args{"run", "-m", model_, "-n", "2", "--raw", "Hi", "--device", "error_in_execute:0"};
    if (!named) args.insert(args.end(), {"--device", "ref:0"});
    const ChildResult result = Motley(args);
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_HAS(result.err, "error_in_execute:0: execute: the test's kernel does not start");
  }
  ExpectGolden("ref:0", "");
}

TEST_F(PluginsAtWork, FieldFailure_L02_AutomaticPlacementFallsBackLoudlyAndANamedDeviceIsFatal) {
  AddBroken("crash_in_open");
  const std::vector<std::string> run{"run", "-m", model_, "-n", "2", "--raw", "Hi"};
  const ChildResult automatic = Motley(run);
  EXPECT_EQ(automatic.exit_code, 0) << automatic.err;
  EXPECT_HAS(automatic.err, "its probe process was killed by SIGSEGV while opening an instance");
  std::vector<std::string> named = run;
  named.insert(named.end(), {"--device", "crash_in_open:0"});
  const ChildResult fatal = Motley(named);
  EXPECT_EQ(fatal.exit_code, 2);
  EXPECT_HAS(fatal.err, "no device \"crash_in_open:0\"");
  EXPECT_HAS(fatal.err, "its probe process was killed by SIGSEGV while opening an instance");
}

// A verdict is remembered: the second start runs no child, and says so to nobody.
TEST_F(PluginsAtWork, AProbeIsRememberedInTheCacheFolder) {
  EXPECT_TRUE(Plugin("ref").at("used").as_bool());
  size_t verdicts = 0;
  for ([[maybe_unused]] const auto& file : fs::directory_iterator(dir_.path() / "cache/motley/plugins")) ++verdicts;
  EXPECT_GE(verdicts, 1u);
  const ChildResult asked = Motley({"plugins", "-vv", "--set", "plugin.ref.probe_in_child=true"});
  EXPECT_HAS(asked.err, "ref: probed in a child process in ");
  EXPECT_EQ(Motley({"plugins", "-vv"}).err.find("ref: probed in a child"), std::string::npos);
  fs::remove_all(dir_.path() / "cache");
  std::ofstream(dir_.path() / "cache") << "no folder";
  const ChildResult nowhere = Motley({"plugins", "-v"});
  EXPECT_EQ(nowhere.exit_code, 0);
  EXPECT_HAS(nowhere.err, "plugins are probed at every start");
  EXPECT_EQ(Motley({"plugins"}).err.find("probed"), std::string::npos);
}

// Two plugins with the same internal symbols, visible to the loader: each uses its own.
TEST_F(PluginsAtWork, SameInternalSymbolsAreEachPluginsOwn) {
  AddBroken("same_symbols_a");
  AddBroken("same_symbols_b");
  const ChildResult result = Motley({"devices", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  int found = 0;
  const boost::json::value all = boost::json::parse(result.out);
  for (const boost::json::value& device : all.at("devices").as_array()) {
    const std::string plugin(device.at("plugin").as_string());
    if (plugin.rfind("same_symbols_", 0) != 0) continue;
    EXPECT_EQ(std::string(device.at("arch").as_string()), plugin);
    ++found;
  }
  EXPECT_EQ(found, 2) << result.out;
  for (const char* device : {"same_symbols_a:0", "same_symbols_b:0", "ref:0"}) ExpectGolden(device, "");
}

}  // namespace
}  // namespace motley::test
