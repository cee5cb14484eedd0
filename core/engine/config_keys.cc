#include "core/engine/config_keys.h"

#include <array>
#include <cmath>
#include <filesystem>

#include "core/base/units.h"

namespace motley {
namespace {

int64_t Int(const ConfigValue& v) {
  return std::get<int64_t>(v.value);
}
const std::string& Text(const ConfigValue& v) {
  return std::get<std::string>(v.value);
}
double Number(const ConfigValue& v) {
  if (const auto* whole = std::get_if<int64_t>(&v.value)) return static_cast<double>(*whole);
  return std::get<double>(v.value);
}

// Stores the number where it is in [low, high].
template <typename T>
std::string SetInt(const ConfigValue& v, int64_t low, int64_t high, T* out) {
  if (Int(v) < low || Int(v) > high) return "must be " + std::to_string(low) + ".." + std::to_string(high);
  *out = static_cast<std::remove_reference_t<decltype(*out)>>(Int(v));
  return "";
}

std::string SetNumber(const ConfigValue& v, double low, double high, std::string_view range, double* out) {
  const double number = Number(v);
  if (!(number >= low && number <= high)) return "must be " + std::string(range);  // also nan
  *out = number;
  return "";
}

std::string SetPath(const ConfigValue& v, std::string* out) {
  if (Text(v).empty()) return "must name a file";
  if (Text(v).find('\0') != std::string::npos) return "must be a path, which holds no zero byte";
  const std::filesystem::path path(Text(v));
  *out =
      path.is_relative() && !v.folder.empty() ? (std::filesystem::path(v.folder) / path).string() : Text(v);
  return "";
}

std::string SetPaths(const ConfigValue& v, std::vector<std::string>* out) {
  std::vector<std::string> paths;
  for (const std::string& path : std::get<std::vector<std::string>>(v.value)) {
    ConfigValue one{path, "", "", v.folder};
    if (SetPath(one, &paths.emplace_back()) != "") return "must be a list of folders, none of them empty";
  }
  *out = std::move(paths);
  return "";
}

std::string SetTexts(const ConfigValue& v, std::string_view must, std::vector<std::string>* out) {
  for (const std::string& text : std::get<std::vector<std::string>>(v.value)) {
    if (text.empty()) return std::string(must);
  }
  *out = std::get<std::vector<std::string>>(v.value);
  return "";
}

template <typename T>
struct Choice {
  std::string_view word;
  T value;
};

template <typename T, size_t N>
std::string SetChoice(const ConfigValue& v, const Choice<T> (&choices)[N], T* out) {
  std::string words;
  for (const auto& choice : choices) {
    if (Text(v) == choice.word) {
      *out = choice.value;
      return "";
    }
    words += (words.empty() ? "\"" : ", \"") + std::string(choice.word) + "\"";
  }
  return "must be one of " + words;
}

constexpr Choice<Format> kKvTypes[] = {
    {"f32", Format::kF32}, {"f16", Format::kF16}, {"q8", Format::kQ8_0}, {"q4", Format::kQ4_0}};
constexpr Choice<Objective> kObjectives[] = {
    {"decode", Objective::kDecode}, {"prefill", Objective::kPrefill}, {"both", Objective::kBoth}};
constexpr Choice<LogLevel> kLevels[] = {{"debug", LogLevel::kDebug},
                                        {"info", LogLevel::kInfo},
                                        {"warning", LogLevel::kWarning},
                                        {"error", LogLevel::kError}};

constexpr int64_t kMaxTokens = int64_t{1} << 30;

constexpr KeyRow kRows[] = {
    {{"model.path", "text", "none", "a .gguf (any shard of a split one); relative to this file"},
     KeyType::kText,
     [](Config& c, const ConfigValue& v) { return SetPath(v, &c.model.path); }},
    {{"model.context", "whole number", "the model's limit, or what fits", "tokens a sequence"},
     KeyType::kInteger,
     [](Config& c, const ConfigValue& v) {
       uint64_t context = 0;
       std::string problem = SetInt(v, 1, kMaxTokens, &context);
       if (problem.empty()) c.model.context = context;
       return problem;
     }},
    {{"model.sequences", "whole number", "1", "sequences at once"},
     KeyType::kInteger,
     [](Config& c, const ConfigValue& v) { return SetInt(v, 1, 4096, &c.model.sequences); }},
    {{"kv.dtype", "text", "f16", "how keys and values are kept: f32, f16, q8 or q4"},
     KeyType::kText,
     [](Config& c, const ConfigValue& v) { return SetChoice(v, kKvTypes, &c.kv.dtype); }},
    {{"kv.page_tokens", "whole number", "64", "tokens a page of the cache"},
     KeyType::kInteger,
     [](Config& c, const ConfigValue& v) { return SetInt(v, 1, 65536, &c.kv.page_tokens); }},
    {{"plugins.path", "list of texts", "[]", "folders with plugins, searched first; relative to this file"},
     KeyType::kTextList,
     [](Config& c, const ConfigValue& v) { return SetPaths(v, &c.plugins.path); }},
    {{"experts.heat", "text", "none", "file of counted routing, from bench --expert-heat"},
     KeyType::kText,
     [](Config& c, const ConfigValue& v) { return SetPath(v, &c.experts.heat); }},
    {{"placement.objective", "text", "decode", "what is to be fast: decode, prefill or both"},
     KeyType::kText,
     [](Config& c, const ConfigValue& v) { return SetChoice(v, kObjectives, &c.placement.objective); }},
    {{"placement.margin", "size", "512 MiB", "memory that is left free in each pool"},
     KeyType::kSize,
     [](Config& c, const ConfigValue& v) { return SetInt(v, 0, INT64_MAX, &c.placement.margin_bytes); }},
    {{"placement.devices", "list of texts", "every device", "use only these devices, in this order"},
     KeyType::kTextList,
     [](Config& c, const ConfigValue& v) {
       return SetTexts(v, "must be names of devices, e.g. \"cpu_avx512:0\"; motley devices prints them",
                       &c.placement.devices);
     }},
    {{"placement.pin", "list of tables", "[]", "[[placement.pin]] with what = a selector and on = a device"},
     KeyType::kPins,
     nullptr},
    {{"schedule.step_tokens", "whole number", "512", "tokens of all sequences in one step, at most"},
     KeyType::kInteger,
     [](Config& c, const ConfigValue& v) { return SetInt(v, 1, 65536, &c.schedule.step_tokens); }},
    {{"probe.profile", "text", "the one in the state folder", "what motley probe measured; relative to this file"},
     KeyType::kText,
     [](Config& c, const ConfigValue& v) { return SetPath(v, &c.probe.profile); }},
    {{"sampling.max_tokens", "whole number", "until the model ends", "tokens of an answer, at most"},
     KeyType::kInteger,
     [](Config& c, const ConfigValue& v) {
       uint64_t most = 0;
       std::string problem = SetInt(v, 0, kMaxTokens, &most);
       if (problem.empty()) c.sampling.max_tokens = most;
       return problem;
     }},
    {{"sampling.temperature", "number", "0", "0 takes the likeliest token; more is more varied"},
     KeyType::kNumber,
     [](Config& c, const ConfigValue& v) { return SetNumber(v, 0, 100, "0..100", &c.sampling.temperature); }},
    {{"sampling.top_k", "whole number", "0", "choose among the k likeliest tokens; 0 = among all"},
     KeyType::kInteger,
     [](Config& c, const ConfigValue& v) { return SetInt(v, 0, kMaxTokens, &c.sampling.top_k); }},
    {{"sampling.top_p", "number", "1", "choose among the likeliest tokens that hold this share"},
     KeyType::kNumber,
     [](Config& c, const ConfigValue& v) {
       return SetNumber(v, 1e-6, 1, "above 0 and at most 1", &c.sampling.top_p);
     }},
    {{"sampling.min_p", "number", "0", "leave out tokens below this share of the likeliest"},
     KeyType::kNumber,
     [](Config& c, const ConfigValue& v) { return SetNumber(v, 0, 1, "0..1", &c.sampling.min_p); }},
    {{"sampling.repeat_penalty", "number", "1", "above 1 makes tokens that occurred less likely"},
     KeyType::kNumber,
     [](Config& c, const ConfigValue& v) {
       return SetNumber(v, 0.01, 100, "0.01..100", &c.sampling.repeat_penalty);
     }},
    {{"sampling.seed", "whole number", "drawn at start", "the same seed gives the same answer"},
     KeyType::kInteger,
     [](Config& c, const ConfigValue& v) {
       uint64_t seed = 0;
       std::string problem = SetInt(v, 0, INT64_MAX, &seed);
       if (problem.empty()) c.sampling.seed = seed;
       return problem;
     }},
    {{"sampling.stop", "list of texts", "[]", "the answer ends before any of these"},
     KeyType::kTextList,
     [](Config& c, const ConfigValue& v) {
       return SetTexts(v, "must be texts that are not empty", &c.sampling.stop);
     }},
    {{"chat.system", "text", "none", "the system message"},
     KeyType::kText,
     [](Config& c, const ConfigValue& v) {
       c.chat.system = Text(v);
       return std::string();
     }},
    {{"chat.raw", "true or false", "false", "the prompt as it is, without the chat template"},
     KeyType::kBool,
     [](Config& c, const ConfigValue& v) {
       c.chat.raw = std::get<bool>(v.value);
       return std::string();
     }},
    {{"chat.thinking", "true or false", "the template's default",
      "whether the model thinks before it answers"},
     KeyType::kBool,
     [](Config& c, const ConfigValue& v) {
       c.chat.thinking = std::get<bool>(v.value);
       return std::string();
     }},
    {{"chat.history", "true or false", "true",
      "what is typed in chats is kept in ~/.local/state/motley/history"},
     KeyType::kBool,
     [](Config& c, const ConfigValue& v) {
       c.chat.history = std::get<bool>(v.value);
       return std::string();
     }},
    {{"log.level", "text", "warning", "debug, info, warning or error"},
     KeyType::kText,
     [](Config& c, const ConfigValue& v) { return SetChoice(v, kLevels, &c.log.level); }},
};

std::string MustBe(KeyType type) {
  switch (type) {
    case KeyType::kInteger: return "must be a whole number";
    case KeyType::kNumber: return "must be a number";
    case KeyType::kBool: return "must be true or false";
    case KeyType::kText: return "must be a text in quotes";
    case KeyType::kSize: return "must be a size: a whole number of bytes, or a text such as \"512 MiB\"";
    case KeyType::kTextList: return "must be a list of texts, e.g. [\"...\"]";
    case KeyType::kPins:
      return "must be tables: write [[placement.pin]] with what = \"layers.*\" and on = \"cpu_avx512:0\" "
             "below";
  }
  return "must be of another type";
}

// The value in the type that the row wants; false where it is of another type.
bool HasType(KeyType type, const ConfigValue& v) {
  switch (type) {
    case KeyType::kInteger: return std::holds_alternative<int64_t>(v.value);
    case KeyType::kNumber:
      return std::holds_alternative<double>(v.value) || std::holds_alternative<int64_t>(v.value);
    case KeyType::kBool: return std::holds_alternative<bool>(v.value);
    case KeyType::kText: return std::holds_alternative<std::string>(v.value);
    case KeyType::kSize:
      return std::holds_alternative<int64_t>(v.value) || std::holds_alternative<std::string>(v.value);
    case KeyType::kTextList: return std::holds_alternative<std::vector<std::string>>(v.value);
    case KeyType::kPins: return false;
  }
  return false;
}

Status Wrong(std::string_view name, const ConfigValue& v, const std::string& must) {
  return InvalidArgumentError((v.position.empty() ? "" : v.position + ": ") + std::string(name) + " = " +
                              v.shown + ": " + must);
}

// `threads = "8"`: the commonest wrong type has a fix of its own.
std::string QuotedNumberHint(KeyType type, std::string_view name, const ConfigValue& v) {
  const auto* text = std::get_if<std::string>(&v.value);
  const bool wants_bare = type == KeyType::kInteger || type == KeyType::kNumber || type == KeyType::kBool;
  if (text == nullptr || !wants_bare || text->empty() || text->size() > 20) return "";
  const bool bare =
      text->find_first_not_of("0123456789.-") == std::string::npos || *text == "true" || *text == "false";
  if (!bare) return "";
  return ", without quotes: " + std::string(name.substr(name.rfind('.') + 1)) + " = " + *text;
}

}  // namespace

std::span<const KeyRow> KeyRows() {
  return kRows;
}

const KeyRow* FindKeyRow(std::string_view name) {
  for (const KeyRow& row : kRows) {
    if (row.info.name == name) return &row;
  }
  return nullptr;
}

std::string_view KvWord(Format format) {
  for (const auto& choice : kKvTypes) {
    if (choice.value == format) return choice.word;
  }
  return FormatName(format);
}

Status ApplyKey(const KeyRow& row, Config& config, const ConfigValue& value) {
  if (!HasType(row.type, value))
    return Wrong(row.info.name, value, MustBe(row.type) + QuotedNumberHint(row.type, row.info.name, value));
  ConfigValue ready = value;
  if (const auto* text = std::get_if<std::string>(&value.value);
      text != nullptr && row.type == KeyType::kSize) {
    const auto bytes = ParseSize(*text);
    if (!bytes.ok())
      return InvalidArgumentError((value.position.empty() ? "" : value.position + ": ") +
                                  std::string(row.info.name) + ": " + bytes.status().message());
    ready.value = static_cast<int64_t>(*bytes);  // ParseSize stays below 2^63
  }
  if (const std::string problem = row.apply(config, ready); !problem.empty())
    return Wrong(row.info.name, value, problem);
  config.positions[std::string(row.info.name)] = value.position;
  return OkStatus();
}

Status ApplyHostPluginKey(std::string_view key, PluginSettings& plugin, const std::string& full_name,
                          const ConfigValue& value) {
  const KeyType type = key == "probe_timeout_s" ? KeyType::kInteger : KeyType::kBool;
  if (!HasType(type, value))
    return Wrong(full_name, value, MustBe(type) + QuotedNumberHint(type, full_name, value));
  if (key == "probe_timeout_s") {
    constexpr int64_t kMostSeconds = 3600;
    const int64_t seconds = std::get<int64_t>(value.value);
    if (seconds < 1 || seconds > kMostSeconds) return Wrong(full_name, value, "must be 1..3600 (seconds)");
    plugin.probe_timeout_s = static_cast<uint32_t>(seconds);
    return OkStatus();
  }
  const bool yes = std::get<bool>(value.value);
  if (key == "enabled") plugin.enabled = yes;
  if (key == "probe_in_child") plugin.probe_in_child = yes;
  if (key == "isolate" && yes) {
    return UnimplementedError(Wrong(full_name, value, "comes with a later version; leave it out").message());
  }
  return OkStatus();
}

std::span<const ConfigKey> ConfigKeys() {
  static const auto keys = [] {
    std::array<ConfigKey, std::size(kRows)> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = kRows[i].info;
    return all;
  }();
  return keys;
}

std::span<const std::string_view> HostPluginKeys() {
  static constexpr std::string_view kKeys[] = {"enabled", "isolate", "probe_in_child", "probe_timeout_s"};
  return kKeys;
}

}  // namespace motley
