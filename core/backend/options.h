// Options of [plugin.NAME]: the operator's values against the plugin's own schema, before the plugin is opened.
// Plain data and pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <motley/plugin.h>

#include "core/base/status.h"

namespace motley {

// One value as the operator wrote it. Lists come flattened: files.0, files.1.
struct OptionSetting {
  std::string name;      // dotted: "worker.0.address"
  std::variant<int64_t, double, bool, std::string> value;
  std::string position;  // "motley.toml:3:11", "--set plugin.ref.x=1"; may be empty
};

enum class OptionType : uint32_t { kI64 = 1, kF64 = 2, kBool = 3, kString = 4, kStringList = 5 };
std::string_view OptionTypeName(OptionType type);  // "whole number", "number", "true or false", "text", ...

// One row of a schema, copied out of the plugin.
struct OptionSchema {
  std::string name, doc, fallback, allowed;
  OptionType type = OptionType::kI64;
};

// Copies and checks a plugin's schema. An error is the vendor's fault: unknown type or flag, a name twice, a name of
// the host's (enabled, probe_in_child, ...), an `allowed` that cannot be read, a fallback outside it.
StatusOr<std::vector<OptionSchema>> ReadSchema(const motley_span& options);

// What is handed to open(): owns the texts that the motley_values point to.
class OptionValues {
 public:
  OptionValues() = default;
  OptionValues(OptionValues&&) = default;
  OptionValues& operator=(OptionValues&&) = default;

  motley_span span() const;
  size_t size() const { return values_.size(); }
  const OptionSetting* Find(std::string_view name) const;

 private:
  friend StatusOr<OptionValues> ResolveOptions(std::string_view, std::span<const OptionSchema>,
                                               std::span<const OptionSetting>);
  std::vector<OptionSetting> settings_;
  std::vector<motley_value> values_;
};

// The settings checked against the schema, and fallbacks put in for what was not set. An error is the operator's:
// `motley.toml:9:11: plugin.cuda_gb10.streams = 0: must be 1..16`.
StatusOr<OptionValues> ResolveOptions(std::string_view plugin, std::span<const OptionSchema> schema,
                                      std::span<const OptionSetting> settings);

}  // namespace motley
