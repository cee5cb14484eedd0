// What every command of the launcher shares: the common flags, the output, the way from a command line to a
// Config.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "core/base/log.h"
#include "core/base/status.h"
#include "core/engine/config.h"
#include "tools/motley/interrupt.h"
#include "tools/motley/output.h"

namespace motley {

// As they were typed; texts, so that one table (core/engine/config.h) checks flags and file alike.
struct CommonFlags {
  std::string config_file;
  std::string model;
  std::vector<std::string> devices;       // --device
  std::vector<std::string> pins;          // --pin SELECTOR=DEVICE
  std::vector<std::string> settings;      // --set TABLE.KEY=VALUE
  std::vector<std::string> plugin_paths;  // --plugin-path
  std::string context, page_tokens, kv, sequences;
  bool json = false;
  bool quiet = false;
  int verbose = 0;
  std::string colour = "auto";  // --color
};

// Flags of single commands that stand for keys of the file: {"sampling.top_k", "--top-k", text}.
struct KeyFlag {
  std::string key;
  std::string flag;
  std::string value;
  bool given = false;
};

// A flag or an argument that may be absent, and may be empty.
struct GivenText {
  std::string text;
  bool given = false;
};

struct Launcher {
  Launcher(Output& output, Interrupt& on_interrupt) : out(output), interrupt(on_interrupt) {}

  Output& out;
  Interrupt& interrupt;
  CommonFlags flags;
  std::function<Status(Launcher&)> command;  // what the command line asks for; set by the parser
};

// Adds a command with the common flags. `run` is what it does.
CLI::App* AddCommand(CLI::App& app, Launcher& launcher, const std::string& name, const std::string& what,
                     const std::string& examples, std::function<Status(Launcher&)> run);

// -m/--model, for the commands that take it.
void AddModelFlag(CLI::App& command, Launcher& launcher);

// A flag that stands for a key of the TOML file; what it may be is the key table's business.
void AddKeyFlag(CLI::App& command, KeyFlag& flag, const std::string& spelling, const std::string& key,
                const std::string& what);

// `spelling`: "-f,--file", or "PROMPT" for an argument.
CLI::Option* AddTextFlag(CLI::App& command, GivenText& flag, const std::string& spelling,
                         const std::string& type, const std::string& what);

// The file, then the common flags, then `more`: later ones win.
StatusOr<Config> MakeConfig(const CommonFlags& flags, const std::vector<const KeyFlag*>& more = {});

// The level that -v and -q ask for, else the file's.
LogLevel LogLevelOf(const CommonFlags& flags, const Config& config);

// A prompt: a context of a million tokens is far less.
inline constexpr uint64_t kMostPromptBytes = 64ull << 20;

// The whole file; "-" is stdin. NOT_FOUND names it. A longer one than `most_bytes` is refused, and no more is
// read.
StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t most_bytes = kMostPromptBytes);

// Each command is one file: cmd_NAME.cc.
void AddRun(CLI::App& app, Launcher& launcher);
void AddPlan(CLI::App& app, Launcher& launcher);
void AddDevices(CLI::App& app, Launcher& launcher);
void AddPlugins(CLI::App& app, Launcher& launcher);
void AddProbe(CLI::App& app, Launcher& launcher);
void AddBench(CLI::App& app, Launcher& launcher);
void AddInspect(CLI::App& app, Launcher& launcher);
void AddCheck(CLI::App& app, Launcher& launcher);
void AddTokenize(CLI::App& app, Launcher& launcher);
void AddRender(CLI::App& app, Launcher& launcher);
void AddLogits(CLI::App& app, Launcher& launcher);
void AddPerplexity(CLI::App& app, Launcher& launcher);
void AddNewPlugin(CLI::App& app, Launcher& launcher);
void AddCompletion(CLI::App& app, Launcher& launcher);

}  // namespace motley
