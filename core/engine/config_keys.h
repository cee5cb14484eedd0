// The one table of keys of the TOML file: name, type, default, what it means, what it may be and where it
// goes. Messages, `motley check --keys` and the reader all come from it. Inside core/engine only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/engine/config.h"

namespace motley {

enum class KeyType : uint32_t { kInteger, kNumber, kBool, kText, kSize, kTextList, kPins };

// A value as it was written; monostate is a kind that no key takes (a date, a table, a list of other things).
struct ConfigValue {
  std::variant<std::monostate, int64_t, double, bool, std::string, std::vector<std::string>> value;
  std::string shown;  // as TOML writes it, cut where it is long: for messages
  std::string position;
  std::string folder;  // what relative paths start from, "" = the working directory
};

struct KeyRow {
  ConfigKey info;
  KeyType type;
  // Called with a value of the row's type. Returns what the value must be where it isn't, else "".
  std::string (*apply)(Config& config, const ConfigValue& value);
};

std::span<const KeyRow> KeyRows();
const KeyRow* FindKeyRow(std::string_view name);  // nullptr where there is none

// The word of kv.dtype: "q8" of Q8_0. Its format's name where it is none of them.
std::string_view KvWord(Format format);

// Checks the type, applies, and notes the position.
Status ApplyKey(const KeyRow& row, Config& config, const ConfigValue& value);

// "isolate" is accepted where it is false: its work comes with a later version.
Status ApplyHostPluginKey(std::string_view key, PluginSettings& plugin, const std::string& full_name,
                          const ConfigValue& value);

}  // namespace motley
