#include "core/engine/config_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <toml++/toml.h>

#include "core/backend/toml_error.h"
#include "core/backend/toml_text.h"
#include "core/base/suggest.h"
#include "core/engine/config_keys.h"
#include "core/model/printable.h"

namespace motley {
namespace {

constexpr size_t kMostProblems = 8;  // of one file that are told at once

struct Source {
  std::string name;  // the file, or the flag
  bool is_file = true;
  std::string folder;
};

std::string Shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return "\"" + Printable(text->get(), 60) + "\"";
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* yes = node.as_boolean()) return yes->get() ? "true" : "false";
  if (const auto* number = node.as_floating_point()) {
    char buffer[32];
    std::snprintf(buffer, sizeof(buffer), "%.12g", number->get());
    return buffer;
  }
  if (const auto* array = node.as_array()) {
    if (array->empty()) return "[]";
    return array->size() == 1
               ? "[" + std::string(array->front().is_table() ? "{...}" : Shown(array->front())) + "]"
               : "[...]";
  }
  return node.is_table() ? "{...}" : "a date or time";
}

class ConfigReader {
 public:
  ConfigReader(const Source& source, Config& config) : source_(source), config_(config) {}

  void Read(const toml::table& root) {
    for (auto&& [key, node] : root) ReadTop(key, node);
  }

  // The problems in the order in which they stand in the file, one a line.
  Status Finish() {
    if (problems_.empty()) return OkStatus();
    std::stable_sort(problems_.begin(), problems_.end(),
                     [](const Problem& a, const Problem& b) { return a.order < b.order; });
    std::string text;
    for (size_t i = 0; i < problems_.size() && i < kMostProblems; ++i)
      text += (i == 0 ? "" : "\n") + problems_[i].status.message();
    if (problems_.size() > kMostProblems)
      text += "\nand " + std::to_string(problems_.size() - kMostProblems) + " more";
    return Status(problems_[0].status.code(), text);
  }

 private:
  struct Problem {
    std::pair<uint32_t, uint32_t> order;  // line, column
    Status status;
  };

  void ReadTop(const toml::key& key, const toml::node& node);
  void ReadTable(const std::string& table, const toml::table& values);
  void ReadPins(const toml::node& node);
  void ReadPin(const toml::table& table);
  void ReadPlugins(const toml::table& plugins);
  void ReadPluginOptions(const std::string& plugin, const std::string& prefix, const toml::table& table,
                         PluginSettings& settings);
  void ReadPluginOption(const std::string& plugin, const std::string& name, const toml::key& key,
                        const toml::node& node, PluginSettings& settings);
  void AddOption(const std::string& name, const toml::node& node, PluginSettings& settings);
  void UnknownTop(const toml::key& key, const toml::node& node);
  void UnknownKey(const std::string& table, const toml::key& key, const toml::node& node);

  std::string PositionOf(const toml::source_region& region) const;
  ConfigValue ValueOf(const toml::node& node) const;
  void Fail(const toml::source_region& region, Status status) {
    problems_.push_back({{region.begin.line, region.begin.column}, std::move(status)});
  }
  void Refuse(const toml::source_region& region, const std::string& what) {
    Fail(region, InvalidArgumentError(PositionOf(region) + ": " + what));
  }
  void Later(const toml::source_region& region, const std::string& what) {
    Fail(region, UnimplementedError(PositionOf(region) + ": " + what +
                                    " comes with a later issue: this version has no workers; leave it out"));
  }

  const Source& source_;
  Config& config_;
  std::vector<Problem> problems_;
};

std::vector<std::string> TableNames() {
  std::vector<std::string> names;
  for (const KeyRow& row : KeyRows()) {
    std::string table(row.info.name.substr(0, row.info.name.find('.')));
    if (std::find(names.begin(), names.end(), table) == names.end()) names.push_back(std::move(table));
  }
  names.emplace_back("plugin");
  return names;
}

std::vector<std::string> KeysOf(std::string_view table) {
  std::vector<std::string> names;
  for (const KeyRow& row : KeyRows()) {
    const size_t dot = row.info.name.find('.');
    if (row.info.name.substr(0, dot) == table) names.emplace_back(row.info.name.substr(dot + 1));
  }
  return names;
}

// The table that has a key of this name, "" where none has.
std::string TableWith(std::string_view key) {
  for (const KeyRow& row : KeyRows()) {
    const size_t dot = row.info.name.find('.');
    if (row.info.name.substr(dot + 1) == key) return std::string(row.info.name.substr(0, dot));
  }
  return "";
}

std::string ConfigReaderPosition(const Source& source, const toml::source_position& at) {
  if (!source.is_file) return source.name;
  return source.name + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::string ConfigReader::PositionOf(const toml::source_region& region) const {
  return ConfigReaderPosition(source_, region.begin);
}

ConfigValue ConfigReader::ValueOf(const toml::node& node) const {
  ConfigValue v;
  v.shown = Shown(node);
  v.position = PositionOf(node.source());
  v.folder = source_.folder;
  if (const auto* text = node.as_string()) v.value = text->get();
  if (const auto* whole = node.as_integer()) v.value = whole->get();
  if (const auto* yes = node.as_boolean()) v.value = yes->get();
  if (const auto* number = node.as_floating_point()) v.value = number->get();
  if (const auto* array = node.as_array()) {
    std::vector<std::string> texts;
    for (const toml::node& element : *array) {
      if (const auto* text = element.as_string()) texts.push_back(text->get());
    }
    if (texts.size() == array->size()) v.value = std::move(texts);
  }
  return v;
}

void ConfigReader::ReadTop(const toml::key& key, const toml::node& node) {
  const std::string name(key.str());
  const std::vector<std::string> tables = TableNames();
  if (name == "worker") return Later(key.source(), "[worker]");
  if (std::find(tables.begin(), tables.end(), name) == tables.end()) return UnknownTop(key, node);
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    return Refuse(key.source(), name + " = " + Shown(node) + ": is a table: write a line [" + name +
                                    (name == "plugin" ? ".NAME" : "") + "], and its keys below");
  }
  if (name == "plugin") return ReadPlugins(*table);
  ReadTable(name, *table);
}

void ConfigReader::UnknownTop(const toml::key& key, const toml::node& node) {
  const std::string name(key.str());
  const std::string shown = Printable(name, 60);
  if (!node.is_table() && !node.is_array_of_tables()) {
    const std::string home = TableWith(name);
    if (!home.empty())
      return Refuse(key.source(), shown + " stands outside of a table; it belongs to [" + home +
                                      "]: write it below a line [" + home + "]");
  }
  const std::vector<std::string> tables = TableNames();
  std::string suggestion = DidYouMean(name, tables);
  if (suggestion.empty()) suggestion = "; did you mean one of the tables " + ListNames(tables, 20) + ".NAME?";
  if (node.is_table()) return Refuse(key.source(), "no table [" + shown + "]" + suggestion);
  Refuse(key.source(), "no key " + shown + suggestion);
}

void ConfigReader::ReadTable(const std::string& table, const toml::table& values) {
  for (auto&& [key, node] : values) {
    const KeyRow* row = FindKeyRow(table + "." + std::string(key.str()));
    if (row == nullptr) {
      UnknownKey(table, key, node);
    } else if (row->type == KeyType::kPins) {
      ReadPins(node);
    } else {
      ConfigValue value = ValueOf(node);
      // A flag says one text where the file has a list.
      if (!source_.is_file && row->type == KeyType::kTextList && node.is_string())
        value.value = std::vector<std::string>{node.as_string()->get()};
      if (Status s = ApplyKey(*row, config_, value); !s.ok()) Fail(node.source(), s);
    }
  }
}

void ConfigReader::UnknownKey(const std::string& table, const toml::key& key, const toml::node& node) {
  const std::string name(key.str());
  const std::string shown = Printable(name, 60);
  if (table == "plugins" && node.is_table()) {
    return Refuse(key.source(), "no table [plugins." + shown + "]; did you mean [plugin." + shown + "]?");
  }
  std::string what = "no key " + shown + " in [" + table + "]";
  if (const std::string home = TableWith(name); !home.empty())
    return Refuse(key.source(), what + "; it belongs to [" + home + "]");
  const std::vector<std::string> siblings = KeysOf(table);
  if (const std::string near = DidYouMean(name, siblings); !near.empty())
    return Refuse(key.source(), what + near);
  std::vector<std::string> all;
  for (const KeyRow& row : KeyRows()) all.emplace_back(row.info.name.substr(row.info.name.find('.') + 1));
  if (const std::string near = NearestName(name, all); !near.empty()) {
    return Refuse(key.source(), what + "; did you mean \"" + near + "\" in [" + TableWith(near) + "]?");
  }
  Refuse(key.source(), what + "; did you mean one of " + ListNames(siblings) +
                           "? (the options of a plugin stand in [plugin.NAME])");
}

void ConfigReader::ReadPins(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr || !(array->empty() || array->is_homogeneous(toml::node_type::table))) {
    if (Status s = ApplyKey(*FindKeyRow("placement.pin"), config_, ValueOf(node)); !s.ok())
      Fail(node.source(), s);
    return;
  }
  config_.placement.pins.clear();
  for (const toml::node& element : *array) ReadPin(*element.as_table());
}

void ConfigReader::ReadPin(const toml::table& table) {
  ConfigPin pin;
  for (auto&& [key, node] : table) {
    const std::string name(key.str());
    const std::array<std::string, 2> known{"what", "on"};
    if (name != "what" && name != "on") {
      std::string suggestion = DidYouMean(name, known);
      if (suggestion.empty()) suggestion = "; a pin has what and on";
      Refuse(key.source(), "no key " + Printable(name, 60) + " in [[placement.pin]]" + suggestion);
      continue;
    }
    const auto* text = node.as_string();
    if (text == nullptr || text->get().empty()) {
      Refuse(node.source(), "placement.pin." + name + " = " + Shown(node) + ": must be a text: " +
                                (name == "what" ? "a selector such as \"layers.*.experts\""
                                                : "a device such as \"cpu_avx512:0\""));
      continue;
    }
    (name == "what" ? pin.what : pin.on) = text->get();
    (name == "what" ? pin.what_position : pin.on_position) = PositionOf(node.source());
  }
  // A key that is there with a wrong value was told of above.
  if (!table.contains("what"))
    Refuse(table.source(), "[[placement.pin]] needs what = a selector, e.g. what = \"layers.*.experts\"");
  if (!table.contains("on"))
    Refuse(table.source(), "[[placement.pin]] needs on = a device, e.g. on = \"cpu_avx512:0\"");
  config_.placement.pins.push_back(std::move(pin));
}

void ConfigReader::ReadPlugins(const toml::table& plugins) {
  for (auto&& [key, node] : plugins) {
    const std::string name(key.str());
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      Refuse(key.source(), "plugin." + Printable(name, 60) + " = " + Shown(node) +
                               ": the options of a plugin stand in a table of their own: write a line "
                               "[plugin.NAME], and the option below");
      continue;
    }
    PluginSettings& settings = config_.plugin[name];
    if (settings.position.empty()) settings.position = PositionOf(table->source());
    ReadPluginOptions(name, "", *table, settings);
  }
}

void ConfigReader::ReadPluginOptions(const std::string& plugin, const std::string& prefix,
                                     const toml::table& table, PluginSettings& settings) {
  for (auto&& [key, node] : table)
    ReadPluginOption(plugin, prefix + std::string(key.str()), key, node, settings);
}

void ConfigReader::ReadPluginOption(const std::string& plugin, const std::string& name, const toml::key& key,
                                    const toml::node& node, PluginSettings& settings) {
  const std::string full_name = "plugin." + Printable(plugin, 60) + "." + Printable(name, 60);
  if (plugin == "rpc" && (name == "worker" || name.rfind("worker.", 0) == 0))
    return Later(key.source(), "[[plugin.rpc.worker]]");
  const auto host_keys = HostPluginKeys();
  if (std::find(host_keys.begin(), host_keys.end(), name) != host_keys.end()) {
    if (Status s = ApplyHostPluginKey(name, settings, full_name, ValueOf(node)); !s.ok())
      Fail(node.source(), s);
    return;
  }
  if (const toml::table* sub = node.as_table()) return ReadPluginOptions(plugin, name + ".", *sub, settings);
  // What a flag says takes the place of the whole option, also of a list that was longer.
  std::erase_if(settings.options,
                [&](const OptionSetting& o) { return o.name == name || o.name.rfind(name + ".", 0) == 0; });
  const toml::array* array = node.as_array();
  if (array == nullptr) {
    if (node.is_value() && !node.is_date() && !node.is_time() && !node.is_date_time())
      return AddOption(name, node, settings);
    return Refuse(
        node.source(),
        full_name + " = " + Shown(node) +
            ": options are texts, numbers, true or false, and lists of texts; write a text in quotes");
  }
  for (size_t i = 0; i < array->size(); ++i) {
    const std::string element_name = name + "." + std::to_string(i);
    const toml::node& element = (*array)[i];
    if (const toml::table* sub = element.as_table()) {
      ReadPluginOptions(plugin, element_name + ".", *sub, settings);
    } else if (element.is_string()) {
      AddOption(element_name, element, settings);
    } else {
      Refuse(element.source(), full_name + ": a list of an option holds texts or tables, not " +
                                   Shown(element) + "; write a text in quotes");
    }
  }
}

void ConfigReader::AddOption(const std::string& name, const toml::node& node, PluginSettings& settings) {
  OptionSetting setting;
  setting.name = name;
  setting.position = PositionOf(node.source());
  if (const auto* text = node.as_string()) setting.value = text->get();
  if (const auto* whole = node.as_integer()) setting.value = whole->get();
  if (const auto* yes = node.as_boolean()) setting.value = yes->get();
  if (const auto* number = node.as_floating_point()) setting.value = number->get();
  settings.options.push_back(std::move(setting));
}

std::string QuotedToml(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool IsSettingKey(std::string_view key) {
  if (key.empty() || key.size() > 256 || key.front() == '.' || key.back() == '.') return false;
  if (key.find("..") != std::string_view::npos || std::count(key.begin(), key.end(), '.') > 16) return false;
  return std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

// Whether `value` is one TOML value; then the document "key = value" holds just that.
// `text` has passed CheckTomlText. toml++ throws, and its exceptions end here.
StatusOr<toml::table> ParseToml(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position& read = error.source().begin;
    return TomlSyntaxError(text, name, error.description(), {read.line, read.column});
  } catch (const std::exception& error) {
    return InvalidArgumentError(name + ": cannot be parsed: " + error.what());
  }
}

bool IsTomlValue(std::string_view document, std::string_view value) {
  if (value.find('\n') != std::string_view::npos || value.find('\r') != std::string_view::npos) return false;
  if (!CheckTomlText(document, "", kMaxConfigBytes).ok()) return false;
  return ParseToml(document, "").ok();
}

// Digits alone, or with a sign: what nobody means as a text.
bool IsWholeNumber(std::string_view value) {
  if (!value.empty() && (value.front() == '-' || value.front() == '+')) value.remove_prefix(1);
  return !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Status ReadConfigText(std::string_view text, const std::string& file_name, const std::string& folder,
                      Config* config) {
  MOTLEY_RETURN_IF_ERROR(CheckTomlText(text, file_name, kMaxConfigBytes));
  MOTLEY_ASSIGN_OR_RETURN(const toml::table document, ParseToml(text, file_name));
  const Source source{file_name, true, folder};
  ConfigReader reader(source, *config);
  reader.Read(document);
  return reader.Finish();
}

Status ReadConfigSetting(std::string_view key, std::string_view value, const std::string& position,
                         Config* config) {
  if (!IsSettingKey(key)) {
    return InvalidArgumentError(position + ": \"" + Printable(key, 60) +
                                "\" is no key: write TABLE.KEY=VALUE, e.g. --set model.context=4096");
  }
  const KeyRow* row = FindKeyRow(key);
  const bool is_text = row != nullptr && row->type == KeyType::kText;
  const std::string prefix = std::string(key) + " = ";
  std::string document = prefix + std::string(value);
  const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'');
  const bool is_toml = !(is_text && !quoted) && IsTomlValue(document, value);
  if (!is_toml && !is_text && IsWholeNumber(value) && value.size() > 18) {
    return InvalidArgumentError(position + ": " + std::string(key) + " = " + Printable(value, 60) +
                                ": whole numbers are between -9223372036854775808 and 9223372036854775807");
  }
  if (!is_toml) document = prefix + QuotedToml(value);
  if (Status s = CheckTomlText(document, position, kMaxConfigBytes); !s.ok()) return s;
  const auto parsed = ParseToml(document, position);
  if (!parsed.ok())
    return InvalidArgumentError(position + ": " + Printable(key, 60) + " = " + Printable(value, 60) +
                                ": is no TOML value; put a text in quotes");
  const Source source{position, false, ""};
  ConfigReader reader(source, *config);
  reader.Read(*parsed);
  return reader.Finish();
}

}  // namespace motley
