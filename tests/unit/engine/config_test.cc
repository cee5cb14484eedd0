#include "core/engine/config.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "tests/support/temp_dir.h"

namespace motley {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::string ErrorOf(std::string_view text) {
  const auto config = ParseConfig(text, "m.toml");
  EXPECT_FALSE(config.ok()) << text;
  if (config.ok()) return "";
  EXPECT_TRUE(config.status().code() == Code::kInvalidArgument ||
              config.status().code() == Code::kUnimplemented)
      << config.status().ToString();
  return config.status().message();
}

const OptionSetting* Option(const Config& config, const std::string& plugin, const std::string& name) {
  const auto found = config.plugin.find(plugin);
  if (found == config.plugin.end()) return nullptr;
  for (const OptionSetting& option : found->second.options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

TEST(Config, TheContractsExampleIsRead) {
  const auto config = ParseConfig(R"(
[model]
path = "GLM-4.5-Air-Q4_K_M-00001-of-00002.gguf"
context = 32768          # tokens a sequence
sequences = 4            # at once

[kv]
dtype = "q8"
page_tokens = 16

[plugins]
path = ["/opt/vendor/motley"]

[plugin.cpu_avx512]
threads = 16
devices = 1

[experts]
heat = "air.heat"

[placement]
objective = "both"
margin = "1.5 GiB"

[[placement.pin]]
what = "layers.*.experts"
on = "cpu_avx512:0"

[[placement.pin]]
what = "head"
on = "ref:0"

[schedule]
step_tokens = 64
)",
                                  "/models/air/m.toml");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->model.path, "/models/air/GLM-4.5-Air-Q4_K_M-00001-of-00002.gguf");
  EXPECT_EQ(config->model.context, 32768u);
  EXPECT_EQ(config->model.sequences, 4u);
  EXPECT_EQ(config->kv.dtype, Format::kQ8_0);
  EXPECT_EQ(config->kv.page_tokens, 16u);
  EXPECT_EQ(config->plugins.path, std::vector<std::string>{"/opt/vendor/motley"});
  ASSERT_NE(Option(*config, "cpu_avx512", "threads"), nullptr);
  EXPECT_EQ(std::get<int64_t>(Option(*config, "cpu_avx512", "threads")->value), 16);
  EXPECT_EQ(Option(*config, "cpu_avx512", "threads")->position, "/models/air/m.toml:15:11");
  EXPECT_EQ(config->experts.heat, "/models/air/air.heat");
  EXPECT_EQ(config->placement.objective, Objective::kBoth);
  EXPECT_EQ(config->placement.margin_bytes, 1610612736u);
  ASSERT_EQ(config->placement.pins.size(), 2u);
  EXPECT_EQ(config->placement.pins[0].what, "layers.*.experts");
  EXPECT_EQ(config->placement.pins[0].on, "cpu_avx512:0");
  EXPECT_EQ(config->placement.pins[1].on_position, "/models/air/m.toml:31:6");
  EXPECT_EQ(config->schedule.step_tokens, 64u);
  EXPECT_EQ(config->Where("model.context"), "/models/air/m.toml:4:11: model.context");
  EXPECT_EQ(config->Where("sampling.top_k"), "sampling.top_k");
}

TEST(Config, DefaultsAreThoseOfTheTable) {
  const Config config;
  EXPECT_FALSE(config.model.context.has_value());
  EXPECT_EQ(config.kv.dtype, Format::kF16);
  EXPECT_EQ(config.kv.page_tokens, 64u);
  EXPECT_EQ(config.placement.margin_bytes, 512u << 20);
  EXPECT_EQ(config.schedule.step_tokens, 512u);
  EXPECT_GT(ConfigKeys().size(), 20u);
  for (const ConfigKey& key : ConfigKeys())
    EXPECT_FALSE(key.doc.empty() || key.fallback.empty() || key.type.empty()) << key.name;
}

TEST(Config, ModelPathIsRelativeToTheFile) {
  EXPECT_EQ(ParseConfig("model.path = 'a/b.gguf'", "/x/y/m.toml")->model.path, "/x/y/a/b.gguf");
  EXPECT_EQ(ParseConfig("model.path = '/a/b.gguf'", "/x/y/m.toml")->model.path, "/a/b.gguf");
  EXPECT_EQ(ParseConfig("model.path = 'b.gguf'", "m.toml")->model.path, "b.gguf");
  EXPECT_EQ(ParseConfig("model.path = 'b.gguf'", "../m.toml")->model.path, "../b.gguf");
}

TEST(Config, OptionsOfPluginsKeepTypeAndPlace) {
  const auto config = ParseConfig(
      "[plugin.x]\nenabled = false\nisolate = false\nprobe_in_child = true\nprobe_timeout_s = 7\na = 1\nb = 1.5\nc = true\nd = \"é\"\nf = [\"p\", "
      "\"q\"]\n"
      "g.h = 'deep'\n[[plugin.x.worker]]\nname = \"w0\"\n[[plugin.x.worker]]\nname = \"w1\"\n",
      "m.toml");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  const PluginSettings& x = config->plugin.at("x");
  EXPECT_FALSE(x.enabled);
  EXPECT_EQ(x.probe_in_child, true);
  EXPECT_EQ(x.probe_timeout_s, 7u);
  EXPECT_EQ(x.position, "m.toml:1:1");
  EXPECT_EQ(std::get<int64_t>(Option(*config, "x", "a")->value), 1);
  EXPECT_EQ(std::get<double>(Option(*config, "x", "b")->value), 1.5);
  EXPECT_EQ(std::get<bool>(Option(*config, "x", "c")->value), true);
  EXPECT_EQ(std::get<std::string>(Option(*config, "x", "d")->value), "é");
  EXPECT_EQ(std::get<std::string>(Option(*config, "x", "f.1")->value), "q");
  EXPECT_EQ(Option(*config, "x", "f.1")->position, "m.toml:10:11");
  EXPECT_EQ(std::get<std::string>(Option(*config, "x", "g.h")->value), "deep");
  EXPECT_EQ(std::get<std::string>(Option(*config, "x", "worker.1.name")->value), "w1");
  EXPECT_EQ(x.options.size(), 9u);  // the host's keys are not among them
  EXPECT_HAS(ErrorOf("[plugin.x]\nisolate = true"),
             "m.toml:2:11: plugin.x.isolate = true: comes with a later version");
  EXPECT_HAS(ErrorOf("[plugin.x]\nprobe_timeout_s = 0"),
             "m.toml:2:19: plugin.x.probe_timeout_s = 0: must be 1..3600 (seconds)");
  EXPECT_HAS(ErrorOf("[plugin.x]\nprobe_in_child = 1"), "plugin.x.probe_in_child = 1: must be true or false");
  EXPECT_HAS(ErrorOf("[plugin.x]\nenabled = \"true\""),
             "plugin.x.enabled = \"true\": must be true or false, without quotes");
  EXPECT_HAS(ErrorOf("[plugin.x]\nd = 2026-01-01"), "m.toml:2:5: plugin.x.d = a date or time");
  EXPECT_HAS(ErrorOf("[plugin.x]\nl = [1, 2]"), "m.toml:2:6: plugin.x.l: a list of an option holds texts");
  EXPECT_HAS(ErrorOf("[plugin]\nx = 1"),
             "m.toml:2:1: plugin.x = 1: the options of a plugin stand in a table of their own");
}

struct Row {
  const char* text;
  const char* error;
};

TEST(FieldFailure, C01_MisspeltKeysAndTables) {
  const Row rows[] = {
      {"[model]\ncontxt = 5\n", "m.toml:2:1: no key contxt in [model]; did you mean \"context\"?"},
      {"[plcement]\nmargin = 5\n", "m.toml:1:2: no table [plcement]; did you mean \"placement\"?"},
      {"[model]\npath = \"a\"\n\n  [placement]\n\tmargni = 5\n",
       "m.toml:5:2: no key margni in [placement]; did you mean \"margin\"?"},
      {"bind_adress = \"0.0.0.0\"\n", "m.toml:1:1: no key bind_adress"},
      {"[[placement.pin]]\nwaht = \"head\"\non = \"ref:0\"\n",
       "m.toml:2:1: no key waht in [[placement.pin]]; did you mean \"what\"?"},
      {"[plugins.ref]\nx = 1\n", "m.toml:1:10: no table [plugins.ref]; did you mean [plugin.ref]?"},
      {"[zzz]\n", "m.toml:1:2: no table [zzz]; did you mean one of the tables model, kv, plugins,"},
      {"[kv]\nzzzzzz = 1\n", "m.toml:2:1: no key zzzzzz in [kv]; did you mean one of dtype, page_tokens?"},
      {"[kv]\n\"\\u001b[31m\" = 1\n", "no key \\x1b[31m in [kv]"},  // no escape codes to the terminal
  };
  for (const Row& row : rows) EXPECT_HAS(ErrorOf(row.text), row.error);
}

TEST(FieldFailure, C01_AKeyInTheWrongTableSaysWhereItBelongs) {
  const Row rows[] = {
      {"[model]\npage_tokens = 5\n", "m.toml:2:1: no key page_tokens in [model]; it belongs to [kv]"},
      {"[kv]\ncontext = 5\n", "m.toml:2:1: no key context in [kv]; it belongs to [model]"},
      {"context = 5\n[model]\n", "m.toml:1:1: context stands outside of a table; it belongs to [model]"},
      {"[model]\npage_tokns = 5\n", "did you mean \"page_tokens\" in [kv]?"},
      {"model = 5\n", "m.toml:1:1: model = 5: is a table: write a line [model]"},
      {"[[model]]\ncontext = 1\n", "is a table: write a line [model]"},
      {"[placement.pin]\nwhat = \"head\"\non = \"ref:0\"\n",
       "placement.pin = {...}: must be tables: write [[placement.pin]]"},
      {"[placement]\npin = \"head=ref:0\"\n", "m.toml:2:7: placement.pin = \"head=ref:0\": must be tables"},
      {"[[placement.pin]]\nwhat = \"head\"\n", "m.toml:1:1: [[placement.pin]] needs on = a device"},
      {"[[placement.pin]]\non = \"ref:0\"\nwhat = 7",
       "m.toml:3:8: placement.pin.what = 7: must be a text: a selector"},
  };
  for (const Row& row : rows) EXPECT_HAS(ErrorOf(row.text), row.error);
}

TEST(FieldFailure, C01_WrongTypesAndRanges) {
  const Row rows[] = {
      {"[model]\nsequences = \"8\"\n",
       "m.toml:2:13: model.sequences = \"8\": must be a whole number, without quotes: sequences = 8"},
      {"[model]\ncontext = 4096.0\n", "m.toml:2:11: model.context = 4096: must be a whole number"},
      {"[model]\ncontext = 0\n", "m.toml:2:11: model.context = 0: must be 1..1073741824"},
      {"[model]\ncontext = -1\n", "model.context = -1: must be 1.."},
      {"[model]\nsequences = 4294967297\n", "model.sequences = 4294967297: must be 1..4096"},
      {"[model]\npath = 5\n", "m.toml:2:8: model.path = 5: must be a text in quotes"},
      {"[model]\npath = \"\"\n", "model.path = \"\": must name a file"},
      {"[model]\npath = \"a\\u0000b\"\n", "holds no zero byte"},
      {"[kv]\ndtype = \"F16\"\n",
       "m.toml:2:9: kv.dtype = \"F16\": must be one of \"f32\", \"f16\", \"q8\", \"q4\""},
      {"[placement]\nmargin = \"512 MB\"\n",
       "m.toml:2:10: placement.margin: \"512 MB\" has an unknown unit \"MB\""},
      {"[placement]\nmargin = -1\n", "placement.margin = -1: must be 0.."},
      {"[placement]\nmargin = 0.5\n", "placement.margin = 0.5: must be a size"},
      {"[placement]\nmargin = \"99999999999 GiB\"\n", "too large"},
      {"[plugins]\npath = \"/opt\"\n", "plugins.path = \"/opt\": must be a list of texts"},
      {"[plugins]\npath = [1]\n", "plugins.path = [1]: must be a list of texts"},
      {"[plugins]\npath = [\"\"]\n", "none of them empty"},
      {"[sampling]\ntemperature = nan\n", "sampling.temperature = nan: must be 0..100"},
      {"[sampling]\ntop_p = -1\n", "sampling.top_p = -1: must be above 0 and at most 1"},
      {"[chat]\nraw = 1\n", "chat.raw = 1: must be true or false"},
      {"[chat]\nraw = 2026-11-30\n", "chat.raw = a date or time: must be true or false"},
      {"[model.context]\nx = 1\n", "model.context = {...}: must be a whole number"},
  };
  for (const Row& row : rows) EXPECT_HAS(ErrorOf(row.text), row.error);
}

TEST(FieldFailure, C01_IntegersBeyond63Bits) {
  EXPECT_HAS(ErrorOf("[model]\ncontext = 9223372036854775808\n"), "m.toml:2:11: ");
  EXPECT_HAS(ErrorOf("[model]\ncontext = 9223372036854775808\n"), "whole numbers are between");
  EXPECT_HAS(ErrorOf("[model]\ncontext = -9223372036854775809\n"), "m.toml:2:11: ");
  EXPECT_HAS(ErrorOf("[model]\ncontext = 0xFFFFFFFFFFFFFFFF\n"), "m.toml:2:11: ");
  EXPECT_HAS(ErrorOf("[model]\ncontext = 9223372036854775807\n"), "must be 1..1073741824");
}

TEST(FieldFailure, C01_DuplicateKeysAndTables) {
  EXPECT_HAS(ErrorOf("[model]\ncontext = 1\n  context = 2\n"), "m.toml:3:3: ");
  EXPECT_HAS(ErrorOf("[model]\ncontext = 1\ncontext = 2\n"), "a key or table may stand only once");
  EXPECT_HAS(ErrorOf("[model]\ncontext = 1\n[kv]\n[model]\n"), "m.toml:4:1: ");
  EXPECT_HAS(ErrorOf("plugin = {x = {a = 1, a = 2}}\n"), "m.toml:1:23: ");
}

TEST(FieldFailure, C01_ByteOrderMarkCrlfAndEmptyFiles) {
  for (std::string_view text : {"", "\n", "# nothing\r\n", "\xEF\xBB\xBF", "\xEF\xBB\xBF# x", "   \t  "})
    EXPECT_TRUE(ParseConfig(text, "m.toml").ok());
  const auto crlf = ParseConfig("\xEF\xBB\xBF[model]\r\ncontext = 7\r\npath = 'a'\r\n", "m.toml");
  ASSERT_TRUE(crlf.ok()) << crlf.status().ToString();
  EXPECT_EQ(crlf->model.context, 7u);
  EXPECT_EQ(crlf->model.path, "a");
  EXPECT_HAS(ErrorOf("\xEF\xBB\xBF[modle]\r\n"), "m.toml:1:2: ");  // the mark is no column
  EXPECT_HAS(ErrorOf("[model]\r\ncontxt = 7\r\n"), "m.toml:2:1: ");
  EXPECT_HAS(ErrorOf(std::string_view("\xFF\xFE[\0m\0]\0", 8)),
             "m.toml:1:1: the file is UTF-16: save it as UTF-8");
  EXPECT_HAS(ErrorOf("[model]\npath = \"é\xff\"\n"), "m.toml:2:10: the file is no valid UTF-8 here");
}

TEST(FieldFailure, C01_ColumnsCountCharactersNotBytes) {
  EXPECT_HAS(ErrorOf("plugin = {'é€😸' = {a = 2026-01-01}}"), "m.toml:1:24: ");
  EXPECT_HAS(ErrorOf("[model] # é€😸\ncontext = \"é\""), "m.toml:2:11: ");
  EXPECT_HAS(ErrorOf("plugin = {'é€😸' = {a = 9223372036854775808}}"), "m.toml:1:24: ");
}

TEST(FieldFailure, C01_BrokenTomlNamesThePlaceAndTheFix) {
  const Row rows[] = {
      {"[model]\ncontext = \n", "m.toml:2:"},
      {"[model\ncontext = 1\n", "close the table's name"},
      {"[model]\npath = a.gguf\n", "a text needs quotes around it"},
      {"[model]\npath = \"a\\qb\"\n", "unknown escape"},
      {"[model]\npath = \"abc\n", "m.toml:2:"},
      {"path = \"\"\"abc", "the file ends in the middle"},
      {"= 1\n", "m.toml:1:1: "},
      {"[model]\ncontext = 08\n", "leading zero"},
      {"[model]\ncontext = 1 2\n", "m.toml:2:13: "},
      {"[sampling]\ntop_p = 1e999\n", "m.toml:2:9: "},
  };
  for (const Row& row : rows) EXPECT_HAS(ErrorOf(row.text), row.error);
}

TEST(FieldFailure, C01_EveryProblemIsToldInTheOrderOfTheFile) {
  const std::string error = ErrorOf("[sampling]\ntop_p = 7\n[kv]\nzzzzzz = 1\n[model]\ncontext = 0\n");
  EXPECT_EQ(error.substr(0, 10), "m.toml:2:9");
  EXPECT_HAS(error, "\nm.toml:4:1: ");
  EXPECT_HAS(error, "\nm.toml:6:11: ");
  std::string many = "[kv]\n";
  for (int i = 0; i < 50; ++i) many += "zzzzzzzzzz" + std::to_string(i) + " = 1\n";
  EXPECT_HAS(ErrorOf(many), "\nand 42 more");
}

TEST(FieldFailure, C01_HostileNestingAndSizeAreBounded) {
  const std::string n(100000, '[');
  std::string dots = "plugin";
  for (int i = 0; i < 100000; ++i) dots += ".a";
  const std::string texts[] = {"a = " + n,
                               dots + " = 1",
                               "[" + dots + "]",
                               "[plugin.x]\na = " + std::string(65, '[') + std::string(65, ']'),
                               "a = " + std::string(100000, '{'),
                               "plugin.'x' = 1\n" + dots + " = 1"};
  for (const std::string& text : texts) EXPECT_HAS(ErrorOf(text), "nested too deeply");
  std::string quoted_dots = "a";
  for (int i = 0; i < 100000; ++i) quoted_dots += " . 'b'";
  EXPECT_HAS(ErrorOf(quoted_dots + " = 1"), "nested too deeply");
  EXPECT_TRUE(ParseConfig("[chat]\nsystem = \"\"\"" + std::string(1000, '.') +
                              "[[[[\"\"\"\n[plugin.x]\na.b.c = '" + std::string(1000, '.') + "'\n",
                          "m.toml")
                  .ok());
  EXPECT_HAS(ErrorOf(std::string(64 << 20, '#')), "larger than 1048576 bytes");
  EXPECT_LT(ErrorOf("[model]\npath = " + std::string(100000, 'x')).size(), 2000u);
  EXPECT_LT(ErrorOf("[model]\n" + std::string(100000, 'x') + " = 1").size(), 2000u);
}

TEST(FieldFailure, C01_ALargeFileIsRefusedBeforeItIsRead) {
  const test::TempDir dir;
  const std::string path = dir.Write("big.toml", "");
  std::filesystem::resize_file(path, 64ull << 30);  // sparse: reading it all would take minutes
  const auto begin = std::chrono::steady_clock::now();
  const auto config = LoadConfig(path);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  ASSERT_FALSE(config.ok());
  EXPECT_HAS(config.status().message(), "big.toml: larger than");
}

TEST(LoadConfig, NamesTheFileThatCannotBeRead) {
  const test::TempDir dir;
  const auto missing = LoadConfig((dir.path() / "none.toml").string());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_HAS(missing.status().message(), "none.toml: cannot be read: No such file");
  EXPECT_FALSE(LoadConfig(dir.path().string()).ok());
  const std::string path = dir.Write("sub/m.toml", "model.path = 'x.gguf'");
  EXPECT_EQ(LoadConfig(path)->model.path, (dir.path() / "sub/x.gguf").string());
}

TEST(Config, WorkersComeWithALaterIssue) {
  EXPECT_HAS(ErrorOf("[worker]\nname = \"spark2\"\n[worker.tls]\nca = \"x\""),
             "m.toml:1:2: [worker] comes with a later issue");
  EXPECT_HAS(ErrorOf("[[plugin.rpc.worker]]\nname = \"spark2\"\n"),
             "[[plugin.rpc.worker]] comes with a later issue");
}

TEST(ApplySetting, WinsOverTheFileAndTakesTextsWithoutQuotes) {
  Config config = *ParseConfig(
      "[model]\ncontext = 5\npath = 'a'\n[plugin.x]\nl = ['a', 'b', "
      "'c']\n[[placement.pin]]\nwhat='head'\non='ref:0'",
      "/x/m.toml");
  for (const char* setting :
       {"model.context=4096", "kv.dtype=q8", "model.path=dir/123", "placement.margin=1 GiB",
        "plugin.x.threads=8", "plugin.x.name=\"8\"", "plugin.x.l=['z']", "plugin.x.mode = fast",
        "chat.system=say \"hi\" # now", "chat.thinking=true", "sampling.stop=[\"a\", \"b\"]",
        "placement.devices=ref:0", "sampling.temperature=1"}) {
    const Status s = ApplySetting(config, setting);
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
  EXPECT_EQ(config.model.context, 4096u);
  EXPECT_EQ(config.Where("model.context"), "--set model.context=4096: model.context");
  EXPECT_EQ(config.kv.dtype, Format::kQ8_0);
  EXPECT_EQ(config.model.path, "dir/123");  // relative to the working directory, not to the file
  EXPECT_EQ(config.placement.margin_bytes, 1u << 30);
  EXPECT_EQ(std::get<int64_t>(Option(config, "x", "threads")->value), 8);
  EXPECT_EQ(std::get<std::string>(Option(config, "x", "name")->value), "8");
  EXPECT_EQ(std::get<std::string>(Option(config, "x", "l.0")->value), "z");
  EXPECT_EQ(Option(config, "x", "l.1"), nullptr);
  EXPECT_EQ(std::get<std::string>(Option(config, "x", "mode")->value), " fast");
  EXPECT_EQ(config.chat.system, "say \"hi\" # now");
  EXPECT_EQ(config.sampling.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.placement.devices, std::vector<std::string>{"ref:0"});
  EXPECT_TRUE(ApplySetting(config, "placement.pin=[{what=\"embed\", on=\"ref:0\"}]").ok());
  ASSERT_EQ(config.placement.pins.size(), 1u);
  EXPECT_EQ(config.placement.pins[0].what, "embed");
}

TEST(ApplySetting, RefusesWithTheSettingInTheMessage) {
  const Row rows[] = {
      {"model.context", "--set model.context: has no ="},
      {"=5", "is no key"},
      {"model..context=5", "is no key"},
      {"a b=5", "is no key"},
      {"model.contxt=5", "--set model.contxt=5: no key contxt in [model]; did you mean \"context\"?"},
      {"model.context=0", "--set model.context=0: model.context = 0: must be 1.."},
      {"model.context=x", "model.context = \"x\": must be a whole number"},
      {"model.context=1\n[kv]\npage_tokens=7",
       "must be a whole number"},  // nothing is smuggled in behind a newline
      {"context=5", "it belongs to [model]"},
      {"worker.name=x", "comes with a later issue"},
      {"model=5", "is a table"},
      {"kv.page_tokens=", "must be a whole number"},
  };
  for (const Row& row : rows) {
    Config config;
    const Status s = ApplySetting(config, row.text);
    ASSERT_FALSE(s.ok()) << row.text;
    EXPECT_HAS(s.message(), row.error);
    EXPECT_EQ(config.kv.page_tokens, 64u);
  }
  Config config;
  EXPECT_HAS(SetConfigValue(config, "sampling.seed", "9223372036854775808", "--seed").message(),
             "--seed: sampling.seed = 9223372036854775808: whole numbers are between");
  EXPECT_HAS(SetConfigValue(config, "sampling.seed", "-99999999999999999999", "--seed").message(), "are between");
  EXPECT_TRUE(SetConfigValue(config, "chat.system", "9223372036854775808", "--system").ok());
  EXPECT_HAS(SetConfigValue(config, "model.context", "0", "--context").message(),
             "--context: model.context = 0: must be 1..");
  EXPECT_FALSE(
      ApplySetting(config, "plugin.x.a=" + std::string(1 << 20, '[')).ok());  // longer than a file may be
}

}  // namespace
}  // namespace motley
