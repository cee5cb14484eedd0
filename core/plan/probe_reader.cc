// ParseProbeProfile: the profile's TOML, judged key by key.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>

#include <toml++/toml.h>

#include "core/backend/toml_error.h"
#include "core/backend/toml_text.h"
#include "core/base/suggest.h"
#include "core/model/printable.h"
#include "core/plan/probe_profile.h"

namespace motley {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 60;
constexpr int64_t kMostCount = int64_t{1} << 31;
constexpr double kMostValue = 1e18;  // bytes a second, or seconds

std::string Shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return "\"" + Printable(text->get(), 60) + "\"";
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* yes = node.as_boolean()) return yes->get() ? "true" : "false";
  if (const auto* number = node.as_floating_point()) {
    char buffer[32];
    std::snprintf(buffer, sizeof(buffer), "%.12g", number->get());
    return buffer;
  }
  return node.is_table() ? "{...}" : node.is_array() ? "[...]" : "a date or time";
}

// One table of the file. Getters note the first thing that is wrong, in the reader's status, and what keys
// there are; Done() refuses the others.
class Table {
 public:
  Table(const toml::table& table, std::string name, const std::string& file, Status* status)
      : table_(table), name_(std::move(name)), file_(file), status_(*status) {}

  std::string Text(const char* key, size_t most = 512) {
    const toml::node* node = Get(key);
    if (node == nullptr) return "";
    const auto* text = node->as_string();
    if (text == nullptr || text->get().size() > most)
      return Refuse(*node, key, "must be a text in quotes"), "";
    return text->get();
  }
  int64_t Whole(const char* key, int64_t low, int64_t high) {
    const toml::node* node = Get(key);
    if (node == nullptr) return low;
    const auto* whole = node->as_integer();
    if (whole == nullptr || whole->get() < low || whole->get() > high)
      return Refuse(*node, key,
                    "must be a whole number, " + std::to_string(low) + ".." + std::to_string(high)),
             low;
    return whole->get();
  }
  bool Bool(const char* key) {
    const toml::node* node = Get(key);
    if (node == nullptr) return false;
    if (node->as_boolean() == nullptr) return Refuse(*node, key, "must be true or false"), false;
    return node->as_boolean()->get();
  }
  // One of some names; `find` says whether it knows one.
  template <typename T>
  T Choice(const char* key, const char* what, std::optional<T> (*find)(std::string_view), T fallback) {
    const toml::node* node = Get(key);
    if (node == nullptr) return fallback;
    const auto* text = node->as_string();
    const std::optional<T> found = text == nullptr ? std::nullopt : find(text->get());
    if (!found) return Refuse(*node, key, std::string("must be ") + what), fallback;
    return *found;
  }
  // KEY = [median, low, high], runs = N
  Figure Measured(const char* key) {
    Figure figure;
    figure.runs = static_cast<uint32_t>(Whole("runs", 1, kMostCount));
    const toml::node* node = Get(key);
    if (node == nullptr) return {};
    const toml::array* array = node->as_array();
    double* const values[] = {&figure.median, &figure.low, &figure.high};
    bool right = array != nullptr && array->size() == std::size(values);
    for (size_t i = 0; right && i < std::size(values); ++i) {
      const std::optional<double> number = (*array)[i].value<double>();
      right =
          (*array)[i].is_number() && number && std::isfinite(*number) && *number > 0 && *number <= kMostValue;
      if (right) *values[i] = *number;
    }
    if (!right || figure.low > figure.median || figure.median > figure.high)
      return Refuse(*node, key, "must be [median, lower quartile, upper quartile], numbers above 0"),
             Figure{};
    return figure;
  }
  // A table within this one that may be missing.
  void Inner(const char* key, const std::function<void(Table&)>& read) {
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    if (node->as_table() == nullptr) return Refuse(*node, key, "must be a table { ... }");
    Table inner(*node->as_table(), Full(key), file_, &status_);
    read(inner);
    inner.Done();
  }
  // A list of tables that may be missing.
  void Each(const char* key, const std::function<void(Table&)>& read) {
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr) return Refuse(*node, key, "must be a list of tables");
    for (const toml::node& element : *array) {
      if (element.as_table() == nullptr) return Refuse(element, key, "must be a list of tables");
      Table inner(*element.as_table(), Full(key), file_, &status_);
      read(inner);
      inner.Done();
      if (!status_.ok()) return;
    }
  }
  // The key's value names something that the file has already.
  void RefuseTwice(const char* key) {
    if (const toml::node* node = table_.get(key))
      Refuse(*node, key, "stands in the file twice: remove one of the two");
  }
  void Done() {
    for (auto&& [key, node] : table_) {
      const std::string name(key.str());
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      std::string suggestion = DidYouMean(name, known_);
      if (suggestion.empty()) suggestion = "; there are " + ListNames(known_);
      return Fail(key.source().begin,
                  "no key " + Printable(name, 60) + (name_.empty() ? "" : " in " + name_) + suggestion);
    }
  }

 private:
  const toml::node* Find(const char* key) {
    known_.emplace_back(key);
    return table_.get(key);
  }
  const toml::node* Get(const char* key) {
    const toml::node* node = Find(key);
    if (node == nullptr) Fail(table_.source().begin, Full(key) + " is missing");
    return node;
  }
  std::string Full(const char* key) const { return name_.empty() ? key : name_ + "." + key; }
  void Refuse(const toml::node& node, const char* key, const std::string& must) {
    Fail(node.source().begin, Full(key) + " = " + Shown(node) + ": " + must);
  }
  void Fail(toml::source_position at, const std::string& what) {
    if (!status_.ok()) return;
    status_ = InvalidArgumentError(file_ + ":" + std::to_string(std::max(at.line, 1u)) + ":" +
                                   std::to_string(std::max(at.column, 1u)) + ": " + what);
  }

  const toml::table& table_;
  const std::string name_;
  const std::string& file_;
  Status& status_;
  std::vector<std::string> known_;
};

DeviceProbe ReadDevice(Table& table) {
  DeviceProbe device;
  device.identity = {table.Text("name"), table.Text("plugin"), table.Text("version"), table.Text("build"),
                     table.Text("options", 1 << 16)};
  table.Inner("launch", [&](Table& inner) { device.launch_s = inner.Measured("seconds"); });
  table.Inner("node", [&](Table& inner) { device.node_s = inner.Measured("seconds"); });
  table.Each("read", [&](Table& row) {
    device.reads.push_back(
        {static_cast<uint64_t>(row.Whole("bytes", 1, kMostBytes)), row.Measured("bytes_per_s")});
  });
  table.Each("copy", [&](Table& row) {
    device.copies.push_back({row.Bool("to_device"), static_cast<uint64_t>(row.Whole("bytes", 1, kMostBytes)),
                             row.Measured("seconds")});
  });
  table.Each("linear", [&](Table& row) {
    LinearRow linear;
    linear.format =
        row.Choice("format", "the name of a format, such as \"Q4_K\"", FormatFromName, Format::kF32);
    linear.tokens = row.Whole("tokens", 1, kMostCount);
    linear.rows = row.Whole("rows", 1, kMostCount);
    linear.cols = row.Whole("cols", 1, kMostCount);
    linear.weight_bytes = static_cast<uint64_t>(row.Whole("weight_bytes", 1, kMostBytes));
    linear.seconds = row.Measured("seconds");
    device.linears.push_back(linear);
  });
  std::stable_sort(device.reads.begin(), device.reads.end(),
                   [](const DeviceReadRow& a, const DeviceReadRow& b) { return a.bytes < b.bytes; });
  return device;
}

StatusOr<ProbeProfile> ReadProfile(const toml::table& document, const std::string& file) {
  Status status;
  ProbeProfile profile;
  Table root(document, "", file, &status);
  const int64_t schema = root.Whole("schema", 1, kMostCount);
  if (status.ok() && schema != kProbeSchema) {
    return FailedPreconditionError(file + ": has schema " + std::to_string(schema) +
                                   ", and this version reads " + std::to_string(kProbeSchema) +
                                   ": run motley probe again");
  }
  profile.date = root.Text("date", 40);
  profile.motley = root.Text("motley", 40);
  profile.quick = root.Bool("quick");
  bool has_host = false;
  root.Inner("host", [&](Table& host) {
    has_host = true;
    profile.host.cpu = host.Text("cpu");
    profile.host.threads = static_cast<uint32_t>(host.Whole("threads", 1, 1 << 20));
    profile.host.memory_bytes = static_cast<uint64_t>(host.Whole("memory_bytes", 1, kMostBytes));
    host.Each("read", [&](Table& row) {
      HostReadRow read;
      read.pages = row.Choice("pages", "base, transparent or huge", PageKindFromName, PageKind::kBase);
      read.bytes = static_cast<uint64_t>(row.Whole("bytes", 1, kMostBytes));
      read.bytes_per_s = row.Measured("bytes_per_s");
      profile.reads.push_back(read);
    });
  });
  if (status.ok() && !has_host) status = InvalidArgumentError(file + ":1:1: host is missing: a table [host]");
  root.Each("device", [&](Table& device) {
    DeviceProbe probe = ReadDevice(device);
    if (profile.Find(probe.identity.name) != nullptr) device.RefuseTwice("name");
    profile.devices.push_back(std::move(probe));
  });
  root.Done();
  if (!status.ok()) return status;
  return profile;
}

}  // namespace

StatusOr<ProbeProfile> ParseProbeProfile(std::string_view text, const std::string& file_name) {
  MOTLEY_RETURN_IF_ERROR(CheckTomlText(text, file_name, kMaxProfileBytes));
  try {
    return ReadProfile(toml::parse(text), file_name);
  } catch (const toml::parse_error& error) {
    const toml::source_position& read = error.source().begin;
    return TomlSyntaxError(text, file_name, error.description(), {read.line, read.column});
  } catch (const std::exception& error) {
    return InvalidArgumentError(file_name + ": cannot be parsed: " + error.what());
  }
}

}  // namespace motley
