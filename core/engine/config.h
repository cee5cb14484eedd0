// Config: what the operator's TOML file and flags say, as plain data.
//
// Errors name the place, the value and the fix: `motley.toml:3:11: model.sequences = "8": must be a whole number`.
// Lines and columns count from 1, columns in characters. Unknown keys and tables are refused with a suggestion.
// The options of [plugin.NAME] are kept as they are written: only the plugin's own schema can judge them, and the
// position stays with each value so that this later error can name it too.
// Pure functions (LoadConfig reads one file); any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/format.h"

namespace motley {

// Where a value was written.
struct ConfigPosition {
  std::string origin;   // the file's name as it was given, or "--set TEXT" and the like
  uint32_t line = 0;    // 0: not from a file
  uint32_t column = 0;
};
std::string ToString(const ConfigPosition& position);  // "motley.toml:3:11", "--set model.context=x"

// An option of a plugin, not yet judged.
struct PluginOption {
  std::variant<int64_t, double, bool, std::string, std::vector<std::string>> value;
  ConfigPosition position;
};

struct PluginConfig {
  bool enabled = true;                           // host's key, for every plugin
  std::map<std::string, PluginOption> options;   // dotted name ("worker.0.address") -> value
  ConfigPosition position;                       // the table's
};

struct ConfigPin {
  std::string what;   // a selector, e.g. "layers.*.experts"
  std::string on;     // a device, e.g. "cpu_avx512:0"
  ConfigPosition what_position;
  ConfigPosition on_position;
};

struct ConfigPath {
  std::string path;   // a relative one is made relative to the file's folder
  ConfigPosition position;
};

enum class Objective : uint32_t { kDecode = 0, kPrefill = 1, kBoth = 2 };

struct Config {
  struct Model {
    std::string path;                  // "" = none named
    std::optional<uint64_t> context;   // tokens a sequence; absent = the model's limit, or what fits
    uint32_t sequences = 1;            // at once
  } model;
  struct Kv {
    Format dtype = Format::kF16;       // kF32, kF16, kQ8_0 or kQ4_0 ("f32", "f16", "q8", "q4")
    uint32_t page_tokens = 64;
  } kv;
  struct Plugins {
    std::vector<ConfigPath> path;      // folders searched besides the install prefix and MOTLEY_PLUGIN_PATH
  } plugins;
  std::map<std::string, PluginConfig> plugin;   // [plugin.NAME]
  struct Experts {
    std::string heat;                  // file of counted routing, "" = none
  } experts;
  struct Placement {
    Objective objective = Objective::kDecode;
    uint64_t margin_bytes = 512ull << 20;    // kept free in each pool
    std::vector<std::string> devices;        // only these; empty = every device
    ConfigPosition devices_position;
    std::vector<ConfigPin> pins;             // in the order in which they stand
  } placement;
  struct Schedule {
    uint32_t step_tokens = 512;        // tokens of all sequences in one step, at most
  } schedule;
  struct Sampling {
    uint64_t max_tokens = 0;           // 0 = until the model ends or the context is full
    double temperature = 0.0;          // 0 = the likeliest token
    uint32_t top_k = 0;                // 0 = off
    double top_p = 1.0;
    double min_p = 0.0;
    double repeat_penalty = 1.0;
    std::optional<uint64_t> seed;      // absent = drawn at start, and printed with -v
    std::vector<std::string> stop;
  } sampling;
  struct Chat {
    std::string system;
    bool raw = false;                  // no chat template
    std::optional<bool> thinking;      // absent = the template's default
  } chat;

  // Where each key that was set was written: "model.context" -> position.
  std::map<std::string, ConfigPosition> positions;
  // "motley.toml:3:11" of a key that was set, else the key itself: what a later error about its value begins with.
  std::string Where(std::string_view key) const;
};

// Reads and checks a file. Nothing is opened but the file itself: whether paths exist is for who opens them.
StatusOr<Config> LoadConfig(const std::string& path);

// The same from text; `file_name` stands in messages, and its folder is what relative paths start from.
StatusOr<Config> ParseConfig(std::string_view text, const std::string& file_name);

// "table.key=value" of --set: value as TOML writes it, the quotes of a string may be left out. Replaces what the
// file says. Relative paths stay relative to the working directory.
Status ApplySetting(Config& config, std::string_view setting);

// Every key the file may hold, for help and documentation; [plugin.NAME] options come from each plugin's schema.
struct ConfigKey {
  std::string_view name;      // "model.context"
  std::string_view type;      // "whole number", "size", ...
  std::string_view fallback;  // "512 MiB"
  std::string_view doc;
};
std::span<const ConfigKey> ConfigKeys();

// The keys that every [plugin.NAME] may hold besides the plugin's own: enabled, isolate, probe_in_child.
std::span<const std::string_view> HostPluginKeys();

// A file of more bytes is refused before it is read.
inline constexpr uint64_t kMaxConfigBytes = 1ull << 20;

}  // namespace motley
