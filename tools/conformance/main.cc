// motley-conformance: shows whether a plugin keeps the requirements of plugin_api/spec/requirements.md.
//
// Exit codes: 0 all as expected, 1 not, 2 wrong usage or a library that cannot be opened at all, 77 where it
// does not open and --skip-if-unavailable was given.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "tools/conformance/outcome.h"
#include "tools/conformance/requirements.h"
#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

struct Arguments {
  std::string plugin, filter = "*", level, expect, xml;
  std::vector<std::string> options;
  size_t device = 0;
  uint64_t seed = 1;
  bool list = false, skip_if_unavailable = false;
};

void Describe(CLI::App& app, Arguments& a) {
  app.add_option("--plugin", a.plugin, "the plugin's shared object")->check(CLI::ExistingFile);
  app.add_option("--option", a.options, "KEY=VALUE: an option that it is opened with (repeatable)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--device", a.device, "which of its devices the cases use")->capture_default_str();
  app.add_option("--level", a.level, "only this level")->check(CLI::IsMember({"L0", "L1", "L2", "L3", "L4"}));
  app.add_option("--filter", a.filter, "only cases of this name, SUITE.CASE with * and ?")
      ->capture_default_str();
  app.add_option("--seed", a.seed, "of random inputs")->capture_default_str();
  app.add_option("--expect", a.expect, "expectations: what it must support, what is known to fail")
      ->check(CLI::ExistingFile);
  app.add_option("--xml", a.xml, "write the results in JUnit's form");
  app.add_flag("--skip-if-unavailable", a.skip_if_unavailable,
               "exit 77 where the plugin does not open here, with its reason");
  app.add_flag("--list", a.list, "print each requirement with its cases; exit 1 where one has none");
}

// The plugin's own table, before anything of it is used; nullptr and why.
const motley_plugin* Query(const std::string& path, std::string* fault) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays: each case opens it again
  if (library == nullptr) return *fault = dlerror(), nullptr;
  using QueryFn = const motley_plugin* (*)(uint32_t, uint32_t);
  const QueryFn query = reinterpret_cast<QueryFn>(dlsym(library, "motley_plugin_query"));
  if (query == nullptr) return *fault = "it exports no motley_plugin_query", nullptr;
  const motley_plugin* plugin = query(MOTLEY_ABI_MAJOR, MOTLEY_ABI_MINOR);
  if (plugin == nullptr) return *fault = "motley_plugin_query gives NULL", nullptr;
  if (plugin->size < sizeof(motley_plugin) || plugin->abi_major != MOTLEY_ABI_MAJOR) {
    *fault = "its ABI is " + std::to_string(plugin->abi_major) + "." + std::to_string(plugin->abi_minor) +
             ", this suite's " + std::to_string(MOTLEY_ABI_MAJOR) + "." + std::to_string(MOTLEY_ABI_MINOR);
    return nullptr;
  }
  return plugin;
}

// "threads=2" with the type that the plugin's schema gives it; what the schema has not goes as text, to be
// refused.
bool ParseOption(const motley_plugin& plugin, const std::string& text, OptionMap* options,
                 std::string* fault) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return *fault = "--option " + text + ": must be KEY=VALUE", false;
  const std::string key = text.substr(0, equals), value = text.substr(equals + 1);
  uint32_t type = MOTLEY_TYPE_STR;
  for (uint64_t i = 0; i < plugin.options.count; ++i) {
    const auto* row = reinterpret_cast<const motley_option*>(static_cast<const char*>(plugin.options.data) +
                                                             i * plugin.options.stride);
    if (std::string(row->name.data, row->name.size) == key) type = row->type;
  }
  std::istringstream in(value);
  int64_t i = 0;
  double f = 0;
  switch (type) {
    case MOTLEY_TYPE_I64:
      if (!(in >> i) || !in.eof()) return *fault = "--option " + text + ": must be an integer", false;
      (*options)[key] = i;
      return true;
    case MOTLEY_TYPE_F64:
      if (!(in >> f) || !in.eof()) return *fault = "--option " + text + ": must be a number", false;
      (*options)[key] = f;
      return true;
    case MOTLEY_TYPE_BOOL:
      if (value != "true" && value != "false")
        return *fault = "--option " + text + ": must be true or false", false;
      (*options)[key] = value == "true";
      return true;
    default: (*options)[key] = value; return true;
  }
}

std::string GtestFilter(const Arguments& a) {
  if (a.level.empty()) return a.filter;
  return a.level + "_" + a.filter + ":*/" + a.level + "_" + a.filter;
}

std::string Quoted(const std::string& word) {
  return "'" + word + "'";
}

int Fault(const std::string& text) {
  std::fprintf(stderr, "motley-conformance: error: %s\n", text.c_str());
  return 2;
}

int Run(const Arguments& a) {
  std::string fault;
  Target target;
  target.path = std::filesystem::absolute(a.plugin).string();
  target.device = a.device;
  target.seed = a.seed;
  const motley_plugin* plugin = Query(target.path, &fault);
  if (plugin == nullptr) return Fault(a.plugin + ": " + fault);
  for (const std::string& option : a.options) {
    if (!ParseOption(*plugin, option, &target.options, &fault)) return Fault(fault);
  }
  SetTarget(target);
  try {
    const Client client(target.path, target.options);
    if (a.device >= client.devices.size()) {
      return Fault("--device " + std::to_string(a.device) + ": it has " +
                   std::to_string(client.devices.size()) + " device(s)");
    }
  } catch (const std::exception& e) {
    if (!a.skip_if_unavailable) return Fault(a.plugin + ": " + e.what());
    std::printf("skipped: %s: %s\n", a.plugin.c_str(), e.what());
    return 77;
  }
  Expectations expectations;
  if (!a.expect.empty() && !expectations.Read(a.expect, &fault)) return Fault(fault);

  std::string again = "motley-conformance --plugin " + Quoted(a.plugin) + " --seed " + std::to_string(a.seed);
  if (a.device != 0) again += " --device " + std::to_string(a.device);
  for (const std::string& option : a.options) again += " --option " + Quoted(option);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  auto* recorder = new Recorder(expectations, again);
  listeners.Append(recorder);  // owns it
  const int ran = RUN_ALL_TESTS();
  static_cast<void>(ran);  // failures may be expected: the recorder knows

  int failed = 0;
  for (const CaseResult& result : recorder->results()) failed += result.outcome == Outcome::kFailed;
  PrintTable(recorder->results());
  if (a.filter == "*" && a.level.empty()) {
    for (const std::string& row : expectations.Stale()) {
      std::printf("stale: %s\n", row.c_str());
      ++failed;
    }
  }
  if (recorder->results().empty()) return Fault("--filter " + a.filter + ": fits no case");
  if (!a.xml.empty() && !WriteXml(recorder->results(), a.xml)) return Fault(a.xml + ": cannot be written");
  return failed != 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Shows whether a motley plugin keeps the requirements of the plugin ABI.",
               "motley-conformance");
  Arguments a;
  Describe(app, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : 2;
  }
  // GoogleTest gets its arguments from here alone.
  std::string name = "motley-conformance", filter = "--gtest_filter=" + GtestFilter(a);
  char* words[] = {name.data(), filter.data(), nullptr};
  int count = 2;
  testing::InitGoogleTest(&count, words);
  if (a.list) return ListRequirements() == 0 ? 0 : 1;
  if (a.plugin.empty()) return Fault("--plugin is missing: name the plugin's shared object");
  return Run(a);
}

}  // namespace
}  // namespace motley::conformance

int main(int argc, char** argv) {
  return motley::conformance::Main(argc, argv);
}
