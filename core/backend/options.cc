#include "core/backend/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "core/backend/abi.h"
#include "core/base/suggest.h"

namespace motley {
namespace {

using Value = std::variant<int64_t, double, bool, std::string>;

bool IsHostKey(std::string_view name) {
  return name == "enabled" || name == "isolate" || name == "probe_in_child" || name == "probe_timeout_s";
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(separator, start), text.size());
    parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

template <typename T>
std::optional<T> ToNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "1..16", "1.." or "..16".
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

std::optional<Range> ParseRange(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::string_view low = text.substr(0, dots), high = text.substr(dots + 2);
  Range range;
  if (!low.empty()) {
    const auto number = ToNumber<double>(low);
    if (!number) return std::nullopt;
    range.low = *number;
  }
  if (!high.empty()) {
    const auto number = ToNumber<double>(high);
    if (!number) return std::nullopt;
    range.high = *number;
  }
  if (!(range.low <= range.high)) return std::nullopt;
  return range;
}

std::string Show(const Value& value) {
  struct Visitor {
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(double f) const {
      char text[32];
      std::snprintf(text, sizeof text, "%.17g", f);
      char shorter[32];  // 0.1, not 0.10000000000000001
      std::snprintf(shorter, sizeof shorter, "%.15g", f);
      return std::strtod(shorter, nullptr) == f ? shorter : text;
    }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(const std::string& s) const { return '"' + s + '"'; }
  };
  return std::visit(Visitor{}, value);
}

// What is wrong with a value of the right type, or "".
std::string OutsideAllowed(const OptionSchema& row, const Value& value) {
  if (row.allowed.empty() || std::holds_alternative<bool>(value)) return "";
  if (const std::string* text = std::get_if<std::string>(&value)) {
    const std::vector<std::string> words = Split(row.allowed, '|');
    if (std::find(words.begin(), words.end(), *text) != words.end()) return "";
    return "must be one of " + ListNames(words) + DidYouMean(*text, words);
  }
  const int64_t* i = std::get_if<int64_t>(&value);
  const double number = i != nullptr ? static_cast<double>(*i) : std::get<double>(value);
  if (const std::optional<Range> range = ParseRange(row.allowed)) {
    return number >= range->low && number <= range->high ? "" : "must be " + row.allowed;
  }
  for (const std::string& word : Split(row.allowed, '|')) {
    if (const auto one = ToNumber<double>(word); one && *one == number) return "";
  }
  return "must be one of " + ListNames(Split(row.allowed, '|'));
}

// The value as the row's type, where that loses nothing.
std::optional<Value> Convert(OptionType type, const Value& value) {
  switch (type) {
    case OptionType::kI64:
      if (std::holds_alternative<int64_t>(value)) return value;
      return std::nullopt;
    case OptionType::kF64:
      if (const int64_t* i = std::get_if<int64_t>(&value)) return Value(static_cast<double>(*i));
      if (const double* f = std::get_if<double>(&value); f != nullptr && std::isfinite(*f)) return value;
      return std::nullopt;
    case OptionType::kBool:
      if (std::holds_alternative<bool>(value)) return value;
      return std::nullopt;
    case OptionType::kString:
    case OptionType::kStringList:  // one item of it
      if (std::holds_alternative<std::string>(value)) return value;
      return std::nullopt;
  }
  return std::nullopt;
}

// A fallback's text as a value.
std::optional<Value> ParseText(OptionType type, const std::string& text) {
  switch (type) {
    case OptionType::kI64:
      if (const auto i = ToNumber<int64_t>(text)) return Value(*i);
      return std::nullopt;
    case OptionType::kF64:
      if (const auto f = ToNumber<double>(text)) return Value(*f);
      return std::nullopt;
    case OptionType::kBool:
      if (text == "true" || text == "false") return Value(text == "true");
      return std::nullopt;
    case OptionType::kString:
    case OptionType::kStringList: return Value(text);
  }
  return std::nullopt;
}

bool AllowedIsReadable(const OptionSchema& row) {
  if (row.allowed.empty() || (row.type != OptionType::kI64 && row.type != OptionType::kF64)) return true;
  if (ParseRange(row.allowed)) return true;
  const std::vector<std::string> words = Split(row.allowed, '|');
  return std::all_of(words.begin(), words.end(),
                     [](const std::string& w) { return ToNumber<double>(w).has_value(); });
}

Status CheckRow(const OptionSchema& row) {
  const std::string what = "schema: option \"" + row.name + "\"";
  const std::vector<std::string> words = Split(row.name, '.');
  for (const std::string& word : words) {
    const bool named = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
    if (!named && word != "*")
      return InvalidArgumentError(what + ": names are a-z 0-9 _ - with dots, and * for an index");
  }
  if (IsHostKey(words[0])) return InvalidArgumentError(what + ": that name is the host's");
  if (!AllowedIsReadable(row))
    return InvalidArgumentError(what + ": allowed = \"" + row.allowed + "\" cannot be read");
  if (row.fallback.empty()) return OkStatus();
  const std::optional<Value> fallback = ParseText(row.type, row.fallback);
  const std::string wrong =
      fallback ? OutsideAllowed(row, *fallback) : "must be " + std::string(OptionTypeName(row.type));
  return wrong.empty() ? OkStatus()
                       : InvalidArgumentError(what + ": fallback = \"" + row.fallback + "\": " + wrong);
}

bool IsIndex(std::string_view word) {
  return !word.empty() && word.size() <= 9 && (word == "0" || word[0] != '0') &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether `name` is the option of the row: worker.0.address of worker.*.address, files.3 of the list files.
bool Matches(const OptionSchema& row, const std::string& name) {
  std::vector<std::string> pattern = Split(row.name, '.');
  if (row.type == OptionType::kStringList) pattern.push_back("*");
  const std::vector<std::string> words = Split(name, '.');
  if (words.size() != pattern.size()) return false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (pattern[i] == "*" ? !IsIndex(words[i]) : pattern[i] != words[i]) return false;
  }
  return true;
}

// The names that fallbacks stand for: of worker.*.port one for each worker of which anything is set.
std::set<std::string> FallbackNames(const OptionSchema& row, std::span<const OptionSetting> settings) {
  std::vector<std::string> pattern = Split(row.name, '.');
  if (row.type == OptionType::kStringList) pattern.push_back("0");
  std::set<std::string> names;
  const auto star = std::find(pattern.begin(), pattern.end(), "*");
  const auto join = [](const std::vector<std::string>& words) {
    std::string name;
    for (const std::string& word : words) name += (name.empty() ? "" : ".") + word;
    return name;
  };
  if (star == pattern.end()) return {join(pattern)};
  const size_t depth = static_cast<size_t>(star - pattern.begin());
  for (const OptionSetting& setting : settings) {
    const std::vector<std::string> words = Split(setting.name, '.');
    if (words.size() <= depth || !IsIndex(words[depth])) continue;
    if (!std::equal(words.begin(), words.begin() + static_cast<ptrdiff_t>(depth), pattern.begin())) continue;
    std::vector<std::string> named = pattern;
    named[depth] = words[depth];
    if (std::find(named.begin(), named.end(), "*") == named.end()) names.insert(join(named));
  }
  return names;
}

std::string Where(std::string_view plugin, const OptionSetting& setting) {
  return (setting.position.empty() ? "" : setting.position + ": ") + "plugin." + std::string(plugin) + "." +
         setting.name + " = " + Show(setting.value);
}

Status UnknownOption(const std::string& where, std::span<const OptionSchema> schema,
                     const OptionSetting& setting) {
  if (setting.name == "isolate") return UnimplementedError(where + ": comes with a later version; take it out");
  if (IsHostKey(setting.name)) return InvalidArgumentError(where + ": is the host's: PluginSettings has it");
  std::vector<std::string> known = {"enabled", "probe_in_child", "probe_timeout_s"};
  for (const OptionSchema& row : schema) known.push_back(row.name);
  const std::string near = DidYouMean(setting.name, known);
  return InvalidArgumentError(where + ": unknown option" +
                              (near.empty() ? "; known are " + ListNames(known) : near));
}

}  // namespace

std::string_view OptionTypeName(OptionType type) {
  switch (type) {
    case OptionType::kI64: return "a whole number";
    case OptionType::kF64: return "a number";
    case OptionType::kBool: return "true or false";
    case OptionType::kString: return "a text";
    case OptionType::kStringList: return "a list of texts";
  }
  return "unknown";
}

StatusOr<std::vector<OptionSchema>> ReadSchema(const motley_span& options) {
  if (!SpanIsReadable<motley_option>(options)) {
    return InvalidArgumentError("schema: " + SpanText(options) + " cannot be read");
  }
  std::vector<OptionSchema> schema;
  for (uint64_t i = 0; i < options.count; ++i) {
    const motley_option raw = SpanAt<motley_option>(options, i);
    const auto name = CopyText(raw.name), doc = CopyText(raw.doc), fallback = CopyText(raw.fallback),
               allowed = CopyText(raw.allowed);
    if (!name || !doc || !fallback || !allowed) {
      return InvalidArgumentError("schema: option " + std::to_string(i) + ": a text is NULL with a length");
    }
    if (raw.type < MOTLEY_TYPE_I64 || raw.type > MOTLEY_TYPE_STR_LIST) {
      return InvalidArgumentError("schema: option \"" + *name + "\": unknown type " +
                                  std::to_string(raw.type));
    }
    if (raw.flags != 0) {
      return InvalidArgumentError("schema: option \"" + *name + "\": unknown flags " +
                                  std::to_string(raw.flags));
    }
    schema.push_back({*name, *doc, *fallback, *allowed, static_cast<OptionType>(raw.type)});
    MOTLEY_RETURN_IF_ERROR(CheckRow(schema.back()));
    for (size_t j = 0; j + 1 < schema.size(); ++j) {
      if (schema[j].name == *name)
        return InvalidArgumentError("schema: option \"" + *name + "\" is there twice");
    }
  }
  return schema;
}

motley_span OptionValues::span() const {
  return {values_.data(), values_.size(), sizeof(motley_value), 0};
}

const OptionSetting* OptionValues::Find(std::string_view name) const {
  for (const OptionSetting& setting : settings_) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

StatusOr<OptionValues> ResolveOptions(std::string_view plugin, std::span<const OptionSchema> schema,
                                      std::span<const OptionSetting> settings) {
  std::map<std::string, OptionSetting> resolved;
  for (const OptionSetting& setting : settings) {
    const std::string where = Where(plugin, setting);
    const auto row = std::find_if(schema.begin(), schema.end(),
                                  [&](const OptionSchema& r) { return Matches(r, setting.name); });
    if (row == schema.end()) {
      for (const OptionSchema& list : schema) {
        if (list.type == OptionType::kStringList && list.name == setting.name) {
          return InvalidArgumentError(where + ": must be a list of texts, [\"...\"]");
        }
      }
      return UnknownOption(where, schema, setting);
    }
    const std::optional<Value> value = Convert(row->type, setting.value);
    if (!value) {
      const OptionType type = row->type == OptionType::kStringList ? OptionType::kString : row->type;
      return InvalidArgumentError(where + ": must be " + std::string(OptionTypeName(type)) +
                                  (row->allowed.empty() ? "" : ", " + row->allowed));
    }
    const std::string wrong = OutsideAllowed(*row, *value);
    if (!wrong.empty()) return InvalidArgumentError(where + ": " + wrong);
    if (!resolved.emplace(setting.name, OptionSetting{setting.name, *value, setting.position}).second) {
      return InvalidArgumentError(where + ": set twice");
    }
  }
  for (const OptionSchema& row : schema) {
    if (row.fallback.empty()) continue;
    const std::optional<Value> fallback = ParseText(row.type, row.fallback);
    if (!fallback) continue;  // ReadSchema has refused it
    // A list that was set has no fallback, whatever its length.
    const bool list_is_set = row.type == OptionType::kStringList && resolved.count(row.name + ".0") != 0;
    if (list_is_set) continue;
    for (const std::string& name : FallbackNames(row, settings)) {
      resolved.emplace(name, OptionSetting{name, *fallback, ""});
    }
  }

  OptionValues values;
  for (auto& [name, setting] : resolved) values.settings_.push_back(std::move(setting));
  for (const OptionSetting& setting : values.settings_) {
    motley_value value{};
    value.name = ToStr(setting.name);
    if (const int64_t* i = std::get_if<int64_t>(&setting.value)) value.type = MOTLEY_TYPE_I64, value.u.i = *i;
    if (const double* f = std::get_if<double>(&setting.value)) value.type = MOTLEY_TYPE_F64, value.u.f = *f;
    if (const bool* b = std::get_if<bool>(&setting.value)) value.type = MOTLEY_TYPE_BOOL, value.u.i = *b;
    if (const auto* s = std::get_if<std::string>(&setting.value))
      value.type = MOTLEY_TYPE_STR, value.u.s = ToStr(*s);
    values.values_.push_back(value);
  }
  return values;
}

}  // namespace motley
