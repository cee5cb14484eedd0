// The values of [plugin.NAME], held against the plugin's own schema. The host has done so too; a plugin that
// is handed garbage still answers with an error.
#pragma once

#include <motley/plugin.hpp>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <span>
#include <vector>

namespace motley::plugin {

// One row of a schema, for static tables. All arguments are literals.
constexpr motley_option OptionRow(const char* name, uint32_t type, const char* fallback, const char* allowed,
                                  const char* doc) {
  constexpr auto str = [](const char* s) { return motley_str{s, std::char_traits<char>::length(s)}; };
  return {str(name), str(doc), str(fallback), str(allowed), type, 0};
}

// Values by name; a name that was not given has the schema's fallback.
class Options {
 public:
  static Fault Parse(motley_span values, std::span<const motley_option> schema, Options* out) {
    MOTLEY_TRY(CheckSpan<motley_value>(values, "options", 1u << 16));
    out->schema_ = schema;
    out->entries_.clear();
    for (const motley_value value : SpanView<motley_value>(values)) MOTLEY_TRY(out->Add(value));
    return {};
  }

  int64_t I64(std::string_view name) const {
    if (const Entry* entry = Find(name)) return entry->i;
    int64_t value = 0;
    const std::string_view text = Fallback(name);
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  double F64(std::string_view name) const {
    if (const Entry* entry = Find(name)) return entry->f;
    return std::strtod(std::string(Fallback(name)).c_str(), nullptr);
  }
  bool Bool(std::string_view name) const {
    if (const Entry* entry = Find(name)) return entry->i != 0;
    return Fallback(name) == "true";
  }
  std::string_view Text(std::string_view name) const {
    if (const Entry* entry = Find(name)) return entry->s;
    return Fallback(name);
  }
  // NAME.0, NAME.1, ... in order.
  std::vector<std::string> List(std::string_view name) const {
    std::vector<std::string> items;
    while (const Entry* entry = Find(std::string(name) + "." + std::to_string(items.size()))) {
      items.push_back(entry->s);
    }
    return items;
  }

 private:
  struct Entry {
    std::string name;
    int64_t i = 0;
    double f = 0;
    std::string s;
  };

  Fault Add(const motley_value& value) {
    Entry entry;
    entry.name = View(value.name);
    const motley_option* row = FindRow(entry.name);
    if (!row) return Fail(MOTLEY_INVALID_ARGUMENT, "option %s: unknown", entry.name.c_str());
    if (value.reserved != 0)
      return Fail(MOTLEY_INVALID_ARGUMENT, "option %s: reserved is not 0", entry.name.c_str());
    if (Find(entry.name)) return Fail(MOTLEY_INVALID_ARGUMENT, "option %s: given twice", entry.name.c_str());
    const uint32_t type = row->type == MOTLEY_TYPE_STR_LIST ? MOTLEY_TYPE_STR : row->type;
    if (value.type != type) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "option %s: has type %u, must have %u", entry.name.c_str(),
                  value.type, type);
    }
    if (type == MOTLEY_TYPE_STR) entry.s = View(value.u.s);
    if (type == MOTLEY_TYPE_I64 || type == MOTLEY_TYPE_BOOL) entry.i = value.u.i;
    if (type == MOTLEY_TYPE_F64) entry.f = value.u.f;
    MOTLEY_TRY(CheckAllowed(entry, type, View(row->allowed)));
    entries_.push_back(std::move(entry));
    return {};
  }

  static Fault CheckAllowed(const Entry& entry, uint32_t type, std::string_view allowed) {
    if (type == MOTLEY_TYPE_BOOL && entry.i != 0 && entry.i != 1) {
      return Fail(MOTLEY_INVALID_ARGUMENT, "option %s = %lld: must be 0 or 1", entry.name.c_str(),
                  static_cast<long long>(entry.i));
    }
    if (allowed.empty() || type == MOTLEY_TYPE_BOOL) return {};
    bool fits = false;
    if (type == MOTLEY_TYPE_STR) {
      for (std::string_view rest = allowed; !fits;) {
        const size_t bar = rest.find('|');
        fits = rest.substr(0, bar) == entry.s;
        if (bar == std::string_view::npos) break;
        rest.remove_prefix(bar + 1);
      }
    } else {
      const size_t dots = allowed.find("..");
      const double low = std::strtod(std::string(allowed.substr(0, dots)).c_str(), nullptr);
      const double high = std::strtod(std::string(allowed.substr(dots + 2)).c_str(), nullptr);
      const double value = type == MOTLEY_TYPE_I64 ? static_cast<double>(entry.i) : entry.f;
      fits = dots == std::string_view::npos || (value >= low && value <= high);
    }
    if (fits) return {};
    const std::string shown = type == MOTLEY_TYPE_STR   ? entry.s
                              : type == MOTLEY_TYPE_I64 ? std::to_string(entry.i)
                                                        : std::to_string(entry.f);
    return Fail(MOTLEY_INVALID_ARGUMENT, "option %s = %s: must be %.*s", entry.name.c_str(), shown.c_str(),
                MOTLEY_TEXT(allowed));
  }

  const Entry* Find(std::string_view name) const {
    for (const Entry& entry : entries_) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }

  const motley_option* FindRow(std::string_view name) const {
    for (const motley_option& row : schema_) {
      std::string pattern(View(row.name));
      if (row.type == MOTLEY_TYPE_STR_LIST) pattern += ".*";
      if (Matches(pattern, name)) return &row;
    }
    return nullptr;
  }

  std::string_view Fallback(std::string_view name) const {
    const motley_option* row = FindRow(name);
    return row ? View(row->fallback) : std::string_view();
  }

  // `*` stands for one part between dots.
  static bool Matches(std::string_view pattern, std::string_view name) {
    while (true) {
      const size_t p = pattern.find('.'), n = name.find('.');
      const std::string_view part = pattern.substr(0, p);
      if (part != "*" && part != name.substr(0, n)) return false;
      if ((p == std::string_view::npos) != (n == std::string_view::npos)) return false;
      if (p == std::string_view::npos) return true;
      pattern.remove_prefix(p + 1);
      name.remove_prefix(n + 1);
    }
  }

  std::span<const motley_option> schema_;
  std::vector<Entry> entries_;
};

}  // namespace motley::plugin
