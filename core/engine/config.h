// Config: what the operator's TOML file and flags say, as plain data.
//
// Errors name the place, the value and the fix: `motley.toml:3:11: model.sequences = "8": must be a whole
// number`. Lines and columns count from 1, columns in characters. Unknown keys and tables are refused with a
// suggestion. The options of [plugin.NAME] are kept as they are written: only the plugin's own schema can
// judge them, and the position stays with each value so that this later error can name it too. Pure functions
// (LoadConfig reads one file); any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/discovery.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/tensor/format.h"

namespace motley {

// Positions are texts for messages: "motley.toml:3:11", "--set model.context=x"; "" = a default.

struct ConfigPin {
  std::string what;  // a selector, e.g. "layers.*.experts"
  std::string on;    // a device, e.g. "cpu_avx512:0"
  std::string what_position;
  std::string on_position;
  bool from_flag = false;  // of the command line: beats every pin of the file
};

enum class Objective : uint32_t { kDecode = 0, kPrefill = 1, kBoth = 2 };

struct Config {
  struct Model {
    std::string path;                 // "" = none named
    std::optional<uint64_t> context;  // tokens a sequence; absent = the model's limit, or what fits
    uint32_t sequences = 1;           // at once
  } model;
  struct Kv {
    Format dtype = Format::kF16;  // kF32, kF16, kQ8_0 or kQ4_0 ("f32", "f16", "q8", "q4")
    uint32_t page_tokens = 64;
  } kv;
  struct Plugins {
    std::vector<std::string> path;  // folders searched besides the install prefix and MOTLEY_PLUGIN_PATH
  } plugins;
  // [plugin.NAME], as DiscoveryOptions::plugins takes it. Lists come flattened: files.0, files.1; so do lists
  // of tables: worker.0.address.
  std::map<std::string, PluginSettings> plugin;
  struct Experts {
    std::string heat;  // file of counted routing, "" = none
  } experts;
  struct Placement {
    Objective objective = Objective::kDecode;
    uint64_t margin_bytes = 512ull << 20;  // kept free in each pool
    std::vector<std::string> devices;      // only these; empty = every device
    std::vector<ConfigPin> pins;           // in the order in which they stand
  } placement;
  struct Schedule {
    uint32_t step_tokens = 512;  // tokens of all sequences in one step, at most
  } schedule;
  struct Probe {
    std::string profile;  // written by motley probe; "" = the default file, where there is one
  } probe;
  struct Sampling {
    std::optional<uint64_t> max_tokens;  // absent = until the model ends or the context is full
    double temperature = 0.0;            // 0 = the likeliest token
    uint32_t top_k = 0;                  // 0 = off
    double top_p = 1.0;
    double min_p = 0.0;
    double repeat_penalty = 1.0;
    std::optional<uint64_t> seed;  // absent = drawn at start, and printed with -v
    std::vector<std::string> stop;
  } sampling;
  struct Chat {
    std::string system;
    bool raw = false;              // no chat template
    std::optional<bool> thinking;  // absent = the template's default
    bool history = true;           // what is typed in chats is kept for the next one
  } chat;

  struct Log {
    LogLevel level = LogLevel::kWarning;
  } log;

  // Where each key that was set was written: "model.context" -> "motley.toml:3:11".
  std::map<std::string, std::string> positions;
  // "motley.toml:3:11: model.context" of a key that was set, else "model.context": what an error about its
  // value begins with.
  std::string Where(const std::string& key) const;
};

// Reads and checks a file. Nothing is opened but the file itself: whether paths exist is for who opens them.
StatusOr<Config> LoadConfig(const std::string& path);

// The same from text; `file_name` stands in messages, and its folder is what relative paths start from.
StatusOr<Config> ParseConfig(std::string_view text, const std::string& file_name);

// "table.key=value" of --set: value as TOML writes it, the quotes of a text may be left out. Replaces what
// the file says. Relative paths stay relative to the working directory.
Status ApplySetting(Config& config, std::string_view setting);

// The same for a flag of the launcher: SetConfigValue(config, "model.context", "4096", "--context").
// `position` is what an error begins with.
Status SetConfigValue(Config& config, const std::string& key, std::string_view value,
                      const std::string& position);

// Every key the file may hold, for help and documentation; [plugin.NAME] options come from each plugin's
// schema.
struct ConfigKey {
  std::string_view name;      // "model.context"
  std::string_view type;      // "whole number", "size", ...
  std::string_view fallback;  // "512 MiB"
  std::string_view doc;
};
std::span<const ConfigKey> ConfigKeys();

// The keys that every [plugin.NAME] may hold besides the plugin's own: enabled, probe_in_child, ...
std::span<const std::string_view> HostPluginKeys();

// A file of more bytes is refused before it is read.
inline constexpr uint64_t kMaxConfigBytes = 1ull << 20;

}  // namespace motley
