// L0: what a host learns of a plugin, and refuses, before any work.
#include <dlfcn.h>

#include <set>

#include "tools/conformance/target.h"

namespace motley::conformance {
namespace {

class L0_Load : public OnTarget {
 protected:
  motley_status Open(const OptionMap& options, motley_instance** instance,
                     const motley_host* host = TestHost()) {
    const std::vector<motley_value> values = AbiValues(options);
    return client.plugin->open(host, {values.data(), values.size(), sizeof(motley_value), 0}, instance, &err);
  }
  std::vector<motley_option> Schema() const {
    std::vector<motley_option> rows;
    const motley_span& span = client.plugin->options;
    for (uint64_t i = 0; i < span.count; ++i) {
      motley_option row{};
      std::memcpy(&row, static_cast<const char*>(span.data) + i * span.stride, sizeof row);
      rows.push_back(row);
    }
    return rows;
  }
  static std::string Text(motley_str s) { return {s.data, s.size}; }
};

TEST_F(L0_Load, P1_L01_TheQueryAnswersEveryVersionWithTheSameTable) {
  void* library = dlopen(TheTarget().path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  using Query = const motley_plugin* (*)(uint32_t, uint32_t);
  const auto query = reinterpret_cast<Query>(dlsym(library, "motley_plugin_query"));
  for (const auto& [major, minor] : {std::pair{0u, 0u}, {0u, 99u}, {1u, 0u}, {77u, 3u}, {~0u, ~0u}}) {
    EXPECT_EQ(query(major, minor), client.plugin) << major << "." << minor;
  }
  dlclose(library);
}

TEST_F(L0_Load, P2_TheTableIsWhole) {
  const motley_plugin& p = *client.plugin;
  EXPECT_GE(p.size, sizeof(motley_plugin));
  EXPECT_EQ(p.abi_major, MOTLEY_ABI_MAJOR);
  EXPECT_EQ(p.flags & ~(MOTLEY_PLUGIN_MAY_UNLOAD | MOTLEY_PLUGIN_NAMES_DEVICES), 0u);
  EXPECT_GT(p.name.size, 0u);
  EXPECT_GT(p.version.size, 0u);
  EXPECT_TRUE(p.open && p.close && p.get_interface);
}

TEST_F(L0_Load, P3_TheComputeTableIsWhole) {
  EXPECT_GE(api->size, sizeof(motley_compute));
  EXPECT_EQ(api->version, 1u);
  // All that follows the two numbers are pointers to functions.
  const auto* pointers =
      reinterpret_cast<void* const*>(reinterpret_cast<const char*>(api) + offsetof(motley_compute, devices));
  const size_t notify =
      (offsetof(motley_compute, fence_notify) - offsetof(motley_compute, devices)) / sizeof(void*);
  for (size_t i = 0; i < (sizeof(motley_compute) - offsetof(motley_compute, devices)) / sizeof(void*); ++i) {
    if (i != notify) {
      EXPECT_NE(pointers[i], nullptr) << "function " << i;
    }
  }
}

TEST_F(L0_Load, P4_TheSchemaIsSound) {
  std::set<std::string> names;
  for (const motley_option& row : Schema()) {
    const std::string name = Text(row.name);
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    for (const char* host : {"enabled", "isolate", "probe_in_child", "probe_timeout_s"})
      EXPECT_NE(name, host);
    EXPECT_GT(row.doc.size, 0u) << name;
    EXPECT_GE(row.type, MOTLEY_TYPE_I64) << name;
    EXPECT_LE(row.type, MOTLEY_TYPE_STR_LIST) << name;
    EXPECT_EQ(row.flags, 0u) << name;
  }
}

TEST_F(L0_Load, P5_OptionsThatTheSchemaHasNotAreRefused) {
  motley_instance* instance = nullptr;
  EXPECT_EQ(Open({{"no_such_option", int64_t{1}}}, &instance), MOTLEY_INVALID_ARGUMENT);
  EXPECT_NE(std::string(err.text).find("no_such_option"), std::string::npos) << err.Text();
  for (const motley_option& row : Schema()) {
    const std::string name = Text(row.name);
    if (name.find('*') != std::string::npos) continue;
    const OptionValue wrong =
        row.type == MOTLEY_TYPE_STR ? OptionValue(int64_t{8}) : OptionValue(std::string("8"));
    EXPECT_EQ(Open({{name, wrong}}, &instance), MOTLEY_INVALID_ARGUMENT) << name << ": another type";
    EXPECT_NE(std::string(err.text).find(name), std::string::npos) << err.Text();
    if (row.type == MOTLEY_TYPE_I64 && row.allowed.size > 0) {
      EXPECT_EQ(Open({{name, std::numeric_limits<int64_t>::min()}}, &instance), MOTLEY_INVALID_ARGUMENT)
          << name;
      EXPECT_NE(std::string(err.text).find(name), std::string::npos) << err.Text();
    }
    if (row.type == MOTLEY_TYPE_STR && row.allowed.size > 0) {
      EXPECT_EQ(Open({{name, std::string("no such choice")}}, &instance), MOTLEY_INVALID_ARGUMENT) << name;
    }
  }
  EXPECT_EQ(instance, nullptr);
}

TEST_F(L0_Load, P6_AHostThatIsTooShortIsRefused) {
  motley_host host = *TestHost();
  host.size = 8;
  motley_instance* instance = nullptr;
  EXPECT_EQ(Open({}, &instance, &host), MOTLEY_INVALID_ARGUMENT);
  EXPECT_NE(err.text[0], 0);
  EXPECT_EQ(Open({}, &instance, nullptr), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(instance, nullptr);
}

TEST_F(L0_Load, P8_TwoAtOnceAndOneAfterTheOther) {
  for (int round = 0; round < 3; ++round) {
    const Client other(TheTarget().path, TheTarget().options);
    ASSERT_EQ(other.devices.size(), client.devices.size());
    EXPECT_NE(other.instance, client.instance);
    Session there(other, TheTarget().device);
    EXPECT_EQ(there.Download<int32_t>(there.Upload(std::vector<int32_t>{1, 2, 3})),
              (std::vector<int32_t>{1, 2, 3}));
  }
}

}  // namespace
}  // namespace motley::conformance
