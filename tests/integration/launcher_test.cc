// The launcher as scripts see it: exit codes, what goes to stdout and what to stderr, JSON.
#include <gtest/gtest.h>

#include <signal.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/child_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

namespace motley {
namespace {

using test::ChildOptions;
using test::ChildResult;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// Where nothing is to be found by accident.
ChildOptions Quiet() {
  ChildOptions options;
  options.environment = {"MOTLEY_PLUGIN_PATH=", "XDG_STATE_HOME=/nonexistent"};  // and no profile
  return options;
}

ChildResult Motley(std::vector<std::string> args, ChildOptions options = Quiet()) {
  args.insert(args.begin(), MOTLEY_LAUNCHER);
  return test::RunChild(args, options);
}

std::vector<boost::json::object> JsonLines(const std::string& text) {
  std::vector<boost::json::object> objects;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(line, error);
    EXPECT_FALSE(error) << line;
    EXPECT_TRUE(value.is_object()) << line;
    if (value.is_object()) objects.push_back(value.as_object());
  }
  return objects;
}

std::string Text(const boost::json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

class Launcher : public testing::Test {
 protected:
  Launcher() {
    const test::TinyModelSpec* spec = test::FindTinyModel("llama-tied-f32");
    model_ = (dir_.path() / "tiny.gguf").string();
    if (spec == nullptr || !test::WriteTinyModel(*spec, model_).ok()) ADD_FAILURE() << "no tiny model";
  }
  // run, plan, ... over the tiny model on the portable plugin.
  std::vector<std::string> On(std::string command, std::vector<std::string> more = {}) const {
    std::vector<std::string> args{std::move(command), "-m", model_, "--device", "ref:0", "--kv", "f32"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }

  test::TempDir dir_;
  std::string model_;
};

TEST_F(Launcher, HelpTeachesAndVersionTells) {
  const ChildResult help = Motley({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  for (const char* word : {"run", "plan", "devices", "plugins", "probe", "bench", "inspect", "check", "tokenize", "render",
                           "logits", "perplexity", "new-plugin", "completion", "Examples", "130"})
    EXPECT_HAS(help.out, word);
  const ChildResult run = Motley({"run", "--help"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* word : {"motley run", "--temperature", "--pin", "--stop", "Examples"})
    EXPECT_HAS(run.out, word);
  EXPECT_HAS(Motley({"--version"}).out, "motley 0.");
}

TEST_F(Launcher, WrongUsageIsExitCode2AndSaysWhatWasMeant) {
  const std::string toml = dir_.Write("bad.toml", "[model]\ncontxt = 5\n");
  const struct {
    std::vector<std::string> args;
    const char* says;
  } rows[] = {
      {{}, "which command?"},
      {{"rn"}, "no command \"rn\"; did you mean \"run\"?"},
      {{"serve"}, "comes with a later version"},
      {{"new-plugin"}, "NAME"},
      {{"new-plugin", "mine"}, "DIR"},
      {{"probe", "--format", "Q4_X"}, "--format Q4_X: no such format; did you mean"},
      {{"probe", "--device", "nope:0"}, "no device \"nope:0\""},
      {{"plan", "-m", model_, "--profile", "nope.toml"}, "--profile: probe.profile: nope.toml: cannot be read"},
      {{"bench", "-m", model_, "--prompt-tokens", "600"}, "--prompt-tokens 600 does not fit in the model's context of 512"},
      {{"bench", "-m", model_, "--prefill", "8", "--depth", "0,500"}, "--depth 0,500 with --batch 1, --decode 64"},
      {{"bench", "-m", model_, "--prefill", "8", "--context", "16"}, "does not fit in --context 16"},
      {{"run", "--temprature", "1"}, "did you mean \"--temperature\"?"},
      {{"run"}, "no model"},
      {{"run", "-m", "nope.gguf", "hi"}, "nope.gguf"},
      {{"inspect"}, "MODEL"},
      {{"inspect", toml}, "bad.toml"},
      {{"check", toml}, "bad.toml:2:1: no key contxt in [model]; did you mean \"context\"?"},
      {{"check", "nope.toml"}, "nope.toml: cannot be read"},
      {{"check"}, "which file?"},
      {{"run", "-m", model_, "hi", "--context", "0"}, "--context: model.context = 0: must be 1.."},
      {{"run", "-m", model_, "hi", "--seed", "9223372036854775808"}, "--seed: sampling.seed = 9223372036854775808: whole"},
      {{"run", "-m", model_, "hi", "--color", "sometimes"}, "--color"},
      {{"run", "-m", model_, "hi", "--kv", "f17"}, "--kv: kv.dtype = \"f17\": must be one of"},
      {{"run", "-m", model_, "hi", "--set", "model.contxt=5"}, "did you mean \"context\"?"},
      {{"run", "-m", model_, "hi", "--pin", "layers.1"}, "write SELECTOR=DEVICE"},
      {{"run", "-m", model_, "hi", "--device", "nope:0"}, "no device \"nope:0\""},
      {{"run", "-m", model_, "hi", "--plugin-path", "/nope"}, "/nope"},
      {{"run", "-m", model_, "hi", "--thinking", "maybe"}, "must be on or off"},
      {{"run", "-m", model_, "hi", "--stop", ""}, "--stop[0] = \"\": is empty"},
      {{"run", "-m", model_, "hi", "-f", "x"}, "not both"},
      {{"plan", "-m", model_, "--pin", "layers.*.experts=ref:0"}, "matches nothing"},
      {{"plan", "-m", model_, "--pin", "layers.0-99=ref:0"}, "partly outside the model"},
      {{"plan", "-m", model_, "--pin", "layers.*=rfe:0"}, "did you mean \"ref:0\"?"},
      {{"tokenize", "-m", model_}, "--text"},
      {{"logits", "-m", model_, "--tokens", "1 x", "-o", "o.npy"}, "\"x\" is no token id"},
      {{"plugins", "nope"}, "no plugin \"nope\""},
      {{"bench", "--op", "linear", "--format", "Q4_X"}, "no such format"},
      {{"bench", "--op", "conv"}, "must be linear"},
  };
  for (const auto& row : rows) {
    const ChildResult result = Motley(row.args);
    std::string command;
    for (const std::string& arg : row.args) command += arg + " ";
    EXPECT_EQ(result.exit_code, 2) << command << result.err;
    EXPECT_EQ(result.out, "") << command;
    EXPECT_NE(result.err.find(row.says), std::string::npos) << command << "\n" << result.err;
  }
}

TEST_F(Launcher, WithJsonEveryFailureIsAnObjectOnStdoutAndTextOnStderr) {
  const std::vector<std::string> commands[] = {{"rn"},
                                               {"worker"},
                                               {"run", "hi"},
                                               {"plan", "-m", "nope.gguf"},
                                               {"devices", "--plugin-path", "/nope"},
                                               {"plugins", "nope"},
                                               {"bench", "-m", "nope.gguf"},
                                               {"inspect", "nope.gguf"},
                                               {"check", "nope.toml"},
                                               {"tokenize", "-m", "nope.gguf", "--text", "x"},
                                               {"logits", "-m", "nope.gguf", "--tokens", "1", "-o", "x.npy"},
                                               {"perplexity", "-m", "nope.gguf", "-f", "nope.txt"},
                                               {"run", "--nope"}};
  for (std::vector<std::string> args : commands) {
    args.push_back("--json");
    const ChildResult result = Motley(args);
    EXPECT_EQ(result.exit_code, 2) << args[0];
    const auto objects = JsonLines(result.out);
    ASSERT_EQ(objects.size(), 1u) << args[0] << ": " << result.out;
    EXPECT_EQ(Text(objects[0], "type"), "error");
    EXPECT_TRUE(Text(objects[0], "code") == "NOT_FOUND" || Text(objects[0], "code") == "INVALID_ARGUMENT" ||
                Text(objects[0], "code") == "UNIMPLEMENTED")
        << result.out;
    EXPECT_FALSE(Text(objects[0], "message").empty());
    EXPECT_HAS(result.err, Text(objects[0], "message"));
  }
}

TEST_F(Launcher, WhatDoesNotFitIsExitCode3) {
  const ChildResult result = Motley(On("plan", {"--context", "1000000000", "--sequences", "4096", "--json"}));
  EXPECT_EQ(result.exit_code, 3) << result.err;
  const auto objects = JsonLines(result.out);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(Text(objects[0], "code"), "RESOURCE_EXHAUSTED");
}

TEST_F(Launcher, LostResultsAreExitCode1) {
  ChildOptions options = Quiet();
  options.stdout_path = "/dev/full";
  const ChildResult result = Motley({"inspect", model_}, options);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_HAS(result.err, "results were lost");
}

TEST_F(Launcher, TokenizePrintsIdsAloneAndTakesExactBytes) {
  const ChildResult text = Motley({"tokenize", "-m", model_, "--text", "ab c"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  EXPECT_EQ(text.out.find_first_not_of("0123456789 \n"), std::string::npos) << text.out;
  ChildOptions options = Quiet();
  options.input = std::string("a\0b\xff\n", 5);
  const auto objects = JsonLines(Motley({"tokenize", "-m", model_, "-f", "-", "--json"}, options).out);
  ASSERT_EQ(objects.size(), 1u);
  std::string joined;
  for (const auto& piece : objects[0].at("pieces").as_array())
    joined +=
        piece.as_string().c_str() == std::string() ? std::string(1, '\0') : std::string(piece.as_string());
  EXPECT_EQ(joined, std::string("a\0b\xEF\xBF\xBD\n", 7));  // a byte that is no UTF-8 is shown as U+FFFD
  EXPECT_EQ(objects[0].at("tokens").as_array().size(), objects[0].at("pieces").as_array().size());
}

TEST_F(Launcher, InspectTellsWhatTheFileHolds) {
  const ChildResult text = Motley({"inspect", model_});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* part : {"llama.block_count", "token_embd.weight", "pre-tokenizer smollm", "320 tokens",
                           "3 layers, hidden 96", "6 heads, 2 of keys and values", "bytes a weight  4.000",
                           "eos 2 <|im_end|>", "cache a token   f16 384 bytes", "blk.*.attn_q.weight"})
    EXPECT_HAS(text.out, part);
  EXPECT_EQ(text.out.find("blk.1.attn_q.weight"), std::string::npos);
  EXPECT_HAS(Motley({"inspect", model_, "--tensors"}).out, "blk.1.attn_q.weight");
  EXPECT_EQ(text.out.find('\x1b'), std::string::npos);  // no colour in a pipe
  const auto objects = JsonLines(Motley({"inspect", model_, "--json"}).out);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(Text(objects[0].at("metadata").as_object(), "general.architecture"), "llama");
  EXPECT_TRUE(objects[0].at("metadata").at("llama.block_count").is_int64());
  EXPECT_EQ(objects[0].at("model").at("layers").as_int64(), 3);
  EXPECT_EQ(objects[0].at("model").at("kv_bytes_per_token").at("f16").as_int64(), 384);
  EXPECT_EQ(objects[0].at("tokenizer").at("special_ids").at("eos").as_int64(), 2);
  EXPECT_EQ(objects[0].at("tensors").as_array().size(), 29u);
  EXPECT_EQ(objects[0].at("tensors").at(0).at("shape").as_array().size(), 2u);
}

TEST_F(Launcher, DevicesAndPluginsNameWhatWasFound) {
  const auto devices = JsonLines(Motley({"devices", "--json"}).out);
  ASSERT_EQ(devices.size(), 1u);
  bool found = false;
  for (const auto& device : devices[0].at("devices").as_array()) {
    found = found || Text(device.as_object(), "name") == "ref:0";
    EXPECT_TRUE(device.as_object().contains("kind") && device.as_object().contains("arch") &&
                device.as_object().contains("memory_bytes"));
  }
  EXPECT_TRUE(found);
  // A plugin that cannot be used is there too, by name and with its reason.
  dir_.Write("plugins/broken.plugin.toml",
             "library = \"broken.so\"\nabi = \"0.1\"\narch = \"z80\"\nkind = \"cpu\"\n");
  std::filesystem::permissions(dir_.path() / "plugins", std::filesystem::perms::owner_all);
  const auto skipped =
      JsonLines(Motley({"devices", "--json", "--plugin-path", (dir_.path() / "plugins").string()}).out);
  ASSERT_EQ(skipped.size(), 1u);
  ASSERT_GE(skipped[0].at("skipped").as_array().size(), 1u);
  EXPECT_EQ(Text(skipped[0].at("skipped").at(0).as_object(), "plugin"), "broken");
  EXPECT_HAS(Text(skipped[0].at("skipped").at(0).as_object(), "reason"), "z80");
  const ChildResult schema = Motley({"plugins", "ref", "--schema"});
  EXPECT_EQ(schema.exit_code, 0);
  EXPECT_HAS(schema.out, "[plugin.ref]");
}

TEST_F(Launcher, PlanPrintsBytesPinsAndATomlThatLeadsToTheSamePlan) {
  const ChildResult json = Motley(On("plan", {"--json", "--pin", "layers.1=ref:0"}));
  EXPECT_EQ(json.exit_code, 0) << json.err;
  const auto objects = JsonLines(json.out);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_TRUE(objects[0].at("fits").as_bool());
  for (const char* key :
       {"name", "pool", "weights_bytes", "kv_bytes", "workspace_bytes", "margin_bytes", "capacity_bytes"})
    EXPECT_TRUE(objects[0].at("devices").at(0).as_object().contains(key)) << key;
  EXPECT_GT(objects[0].at("devices").at(0).at("weights_bytes").as_int64(), 0);
  EXPECT_EQ(objects[0].at("pins").at(0).at("matches").as_int64(),
            3);  // attention, ffn, kv of layer 1, not of 10 to 19
  const ChildResult text = Motley(On("plan", {"--pin", "layers.1=ref:0", "--explain"}));
  EXPECT_HAS(text.out, "pin layers.1 = ref:0: 3 parts");
  const ChildResult toml = Motley(On("plan", {"--toml"}));
  const std::string file = dir_.Write("plan.toml", "model.path = \"tiny.gguf\"\n" + toml.out);
  const ChildResult again = Motley({"plan", "-c", file, "--device", "ref:0", "--kv", "f32", "--toml"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, toml.out);
}

TEST_F(Launcher, CheckReadsNoWeightsAndReportsPins) {
  const std::string file = dir_.Write(
      "m.toml",
      "[model]\npath = \"tiny.gguf\"\n[[placement.pin]]\nwhat = \"layers.*.ffn\"\non = \"ref:0\"\n");
  const ChildResult text = Motley({"check", file});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_HAS(text.out, "ok");
  const auto objects = JsonLines(Motley({"check", file, "--json"}).out);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_GT(objects[0].at("pins").at(0).at("matches").as_int64(), 0);
  const std::string bare = dir_.Write("bare.toml", "[kv]\npage_tokens = 16\n");
  EXPECT_HAS(Motley({"check", bare}).out, "names no model");
  const std::string unknown = dir_.Write(
      "unknown.toml", "[model]\npath = \"tiny.gguf\"\n[[placement.pin]]\nwhat = \"head\"\non = \"CUDA9\"\n");
  const ChildResult refused = Motley({"check", unknown});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_HAS(refused.err, "unknown.toml:5:6");
  const std::string option = dir_.Write("option.toml", "[plugin.ref]\n\nthraeds = 8\n");
  const ChildResult wrong = Motley({"check", option});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_HAS(wrong.err, "option.toml:3:11");
  EXPECT_HAS(Motley({"check", "--keys"}).out, "placement.margin");
}

TEST_F(Launcher, RunStreamsObjectsWhoseTextIsThatOfThePlainAnswer) {
  const std::vector<std::string> args = On("run", {"--raw", "Once upon", "-n", "24", "-q"});
  const ChildResult plain = Motley(args);
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_EQ(plain.err, "");
  std::vector<std::string> with_json = args;
  with_json.push_back("--json");
  const ChildResult json = Motley(with_json);
  EXPECT_EQ(json.exit_code, 0) << json.err;
  const auto objects = JsonLines(json.out);
  ASSERT_GE(objects.size(), 3u);
  EXPECT_EQ(Text(objects[0], "type"), "start");
  const auto& end = objects.back();
  EXPECT_EQ(Text(end, "type"), "end");
  EXPECT_EQ(end.at("completion_tokens").as_int64(), static_cast<int64_t>(objects.size()) - 2);
  EXPECT_EQ(end.at("prompt_tokens").as_int64(), objects[0].at("prompt_tokens").as_int64());
  std::string text;
  for (size_t i = 1; i + 1 < objects.size(); ++i) {
    EXPECT_EQ(Text(objects[i], "type"), "token");
    EXPECT_GE(objects[i].at("id").as_int64(), 0);
    text += Text(objects[i], "text");
  }
  if (text.empty() || text.back() != '\n') text += "\n";
  EXPECT_EQ(plain.out, text);
  EXPECT_TRUE(Text(end, "reason") == "length" || Text(end, "reason") == "stop");
}

TEST_F(Launcher, TheSameSeedGivesTheSameAnswerAndFlagsBeatTheFile) {
  const auto answer = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--raw", "Once", "-n", "16", "-q"});
    return Motley(On("run", more)).out;
  };
  const std::string seven = answer({"--temperature", "5", "--seed", "7"});
  EXPECT_EQ(answer({"--temperature", "5", "--seed", "7"}), seven);
  EXPECT_NE(answer({"--temperature", "5", "--seed", "8"}), seven);
  const std::string file = dir_.Write("seed.toml", "[sampling]\ntemperature = 5\nseed = 8\n");
  EXPECT_EQ(answer({"-c", file, "--seed", "7"}), seven);
  EXPECT_EQ(answer({"-c", file, "--set", "sampling.seed=7"}), seven);
}

TEST_F(Launcher, ThePromptComesFromAnArgumentAFileOrStandardInput) {
  const std::string expected = Motley(On("run", {"--raw", "Once upon", "-n", "8", "-q"})).out;
  const std::string file = dir_.Write("prompt.txt", "Once upon");
  EXPECT_EQ(Motley(On("run", {"--raw", "-f", file, "-n", "8", "-q"})).out, expected);
  ChildOptions options = Quiet();
  options.input = "Once upon";
  EXPECT_EQ(Motley(On("run", {"--raw", "-", "-n", "8", "-q"}), options).out, expected);
  EXPECT_EQ(Motley(On("run", {"--raw", "-n", "8", "-q"}), options).out, expected);
  EXPECT_EQ(Motley(On("run", {"--raw", "-n", "8", "-q"})).exit_code, 2);  // nothing to read
}

TEST_F(Launcher, InterruptionEndsTheAnswerWithExitCode130) {
  ChildOptions options = Quiet();
  options.signal = SIGINT;
  options.signal_when = [](std::string_view out) { return out.find("\"token\"") != std::string_view::npos; };
  const ChildResult result = Motley(On("run", {"--raw", "Once upon", "--json", "-q"}), options);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  const auto objects = JsonLines(result.out);
  ASSERT_GE(objects.size(), 2u);
  EXPECT_EQ(Text(objects.back(), "type"), "end");
  EXPECT_EQ(Text(objects.back(), "reason"), "cancelled");
}

std::vector<float> ReadNpy(const std::string& path, std::string* header) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (bytes.size() < 64 || bytes.compare(0, 6, "\x93NUMPY") != 0) return {};
  const size_t begin =
      10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  *header = bytes.substr(10, begin - 10);
  std::vector<float> values((bytes.size() - begin) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
  return values;
}

TEST_F(Launcher, LogitsAndPerplexityAgree) {
  const std::string text = "Once upon a time there was a text.";
  const auto tokens = JsonLines(Motley({"tokenize", "-m", model_, "--text", text, "--json"}).out);
  ASSERT_EQ(tokens.size(), 1u);
  std::vector<int64_t> ids;
  std::string list;
  for (const auto& id : tokens[0].at("tokens").as_array()) {
    ids.push_back(id.as_int64());
    list += std::to_string(id.as_int64()) + " ";
  }
  const std::string out = (dir_.path() / "out.npy").string();
  const ChildResult logits = Motley(On("logits", {"--tokens", list, "-o", out}));
  EXPECT_EQ(logits.exit_code, 0) << logits.err;
  EXPECT_EQ(logits.out, "");
  std::string header;
  const std::vector<float> values = ReadNpy(out, &header);
  EXPECT_HAS(header, "'<f4'");
  EXPECT_HAS(header, "(" + std::to_string(ids.size()) + ", 320)");
  ASSERT_EQ(values.size(), ids.size() * 320);
  double sum = 0;
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    double total = 0;
    for (size_t v = 0; v < 320; ++v) total += std::exp(static_cast<double>(values[i * 320 + v]));
    sum += std::log(total) - values[i * 320 + static_cast<size_t>(ids[i + 1])];
  }
  const std::string file = dir_.Write("text.txt", text);
  const auto perplexity = JsonLines(Motley(On("perplexity", {"-f", file, "--json"})).out);
  ASSERT_EQ(perplexity.size(), 1u);
  EXPECT_EQ(perplexity[0].at("tokens").as_int64(), static_cast<int64_t>(ids.size()) - 1);
  EXPECT_NEAR(perplexity[0].at("perplexity").as_double(), std::exp(sum / static_cast<double>(ids.size() - 1)),
              1e-6 * std::exp(sum / static_cast<double>(ids.size() - 1)));
  // In windows of 8 each window's first token is not scored.
  const auto windows = JsonLines(Motley(On("perplexity", {"-f", file, "--json", "--context", "8"})).out);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].at("tokens").as_int64(), static_cast<int64_t>(ids.size() - (ids.size() + 7) / 8));
}

TEST_F(Launcher, AFailedCommandLeavesNoFileBehind) {
  const std::string out = (dir_.path() / "half.npy").string();
  EXPECT_EQ(Motley(On("logits", {"--tokens", "1 2 999999", "-o", out})).exit_code, 2);
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path()))
    EXPECT_EQ(entry.path().filename().string().find("half.npy"), std::string::npos) << entry.path();
}

TEST_F(Launcher, APromptOfMoreThan64MiBIsRefusedBeforeItIsTokenized) {
  const std::string file = dir_.Write("big.txt", "");
  std::filesystem::resize_file(file, (uint64_t{64} << 20) + 1);
  for (const std::vector<std::string>& args : {On("run", {"-f", file}), {"tokenize", "-m", model_, "-f", file}}) {
    const ChildResult result = Motley(args);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_HAS(result.err, "big.txt: larger than 64 MiB");
  }
}

TEST_F(Launcher, BenchCountsNoAllocationsInADecodeStep) {
  const ChildResult result =
      Motley(On("bench", {"--prefill", "16", "--decode", "16", "--repeat", "2", "--json"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto objects = JsonLines(result.out);
  ASSERT_EQ(objects.size(), 1u);
  for (const char* key : {"prefill_tokens_per_s", "decode_tokens_per_s", "read_bytes_per_s",
                          "bandwidth_bytes_per_s", "fraction", "bytes_per_token"}) {
    ASSERT_TRUE(objects[0].contains(key)) << key;
    EXPECT_GT(objects[0].at(key).as_double(), 0) << key;
  }
  if (!objects[0].contains("allocations_per_decode_step"))
    GTEST_SKIP() << "this build does not count allocations";
  EXPECT_GT(objects[0].at("allocations").as_int64(), 1000);  // the counter does count
  EXPECT_EQ(objects[0].at("allocations_per_decode_step").as_double(), 0);
}

TEST_F(Launcher, BenchMeasuresOneLinearOp) {
  const ChildResult result = Motley({"bench", "--op", "linear", "--format", "Q4_K", "--rows", "512", "--cols",
                                     "512", "--device", "ref:0", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto objects = JsonLines(result.out);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0].at("stored_bytes").as_int64(), 512 * 512 / 256 * 144);
  EXPECT_GT(objects[0].at("read_bytes_per_s").as_double(), 0);
}

TEST_F(Launcher, BenchMeasuresPromptsDepthsAndBatchesEachBesideItsLimit) {
  const ChildResult result = Motley(On("bench", {"--prompt-tokens", "8,40", "--depth", "0,100", "--batch", "1,3",
                                                 "--decode", "4", "--repeat", "3", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto objects = JsonLines(result.out);
  ASSERT_EQ(objects.size(), 1u);
  const auto& prefill = objects[0].at("prefill").as_array();
  ASSERT_EQ(prefill.size(), 2u);
  EXPECT_EQ(prefill[1].at("tokens").as_int64(), 40);
  const auto& decode = objects[0].at("decode").as_array();
  ASSERT_EQ(decode.size(), 4u);
  for (const auto& row : prefill) {
    for (const char* key : {"tokens_per_s", "tokens_per_s_low", "ops_per_s", "limit_ops_per_s", "fraction"})
      EXPECT_GT(row.at(key).as_double(), 0) << key;
  }
  double bytes[4] = {};
  for (size_t i = 0; i < 4; ++i) {
    const auto& row = decode[i].as_object();
    for (const char* key : {"tokens_per_s", "bytes_per_token", "read_bytes_per_s", "limit_bytes_per_s", "fraction"})
      EXPECT_GT(row.at(key).as_double(), 0) << key;
    EXPECT_LE(row.at("tokens_per_s_low").as_double(), row.at("tokens_per_s").as_double());
    EXPECT_GE(row.at("tokens_per_s_high").as_double(), row.at("tokens_per_s").as_double());
    EXPECT_EQ(row.at("sequences").as_int64(), i < 2 ? 1 : 3);
    EXPECT_EQ(row.at("depth").as_int64(), i % 2 == 0 ? 0 : 100);
    // The cache really holds that much when the measuring begins: the prompt, and what warmed up.
    const int64_t first = row.at("first_depth").as_int64(), last = row.at("last_depth").as_int64();
    EXPECT_GE(first, row.at("depth").as_int64() + 4);
    EXPECT_LE(last, row.at("depth").as_int64() + 4 + 12 + 8);
    EXPECT_GE(last - first, 11);
    bytes[i] = row.at("bytes_per_token").as_double();
  }
  EXPECT_GT(bytes[1], bytes[0]);  // the deeper cache is read
  EXPECT_LT(bytes[2], bytes[0]);  // three sequences share the weights' bytes
  EXPECT_EQ(Text(objects[0], "prediction"), "not probed");
  EXPECT_GT(objects[0].at("load").at("file_bytes").as_int64(), 0);
}

TEST_F(Launcher, BenchPrintsTablesThatPeopleRead) {
  const ChildResult result = Motley(On("bench", {"--prefill", "8", "--decode", "4", "--repeat", "2"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"tokens/s", "of the limit", "read limit", "multiply limit", "Loading: ", "not probed",
                           "Allocations in a decode step: "})
    EXPECT_HAS(result.out, part);
}

class Probe : public Launcher {
 protected:
  // Short, of one device and one format.
  ChildResult Measure(std::vector<std::string> more, ChildOptions options = Quiet()) const {
    std::vector<std::string> args{"probe", "--quick", "--seconds", "1", "--device", "ref:0", "--format", "F32"};
    args.insert(args.end(), more.begin(), more.end());
    return Motley(args, options);
  }
  static std::string Read(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static void Write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Replaced(std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in\n" << text;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
};

TEST_F(Probe, WritesAProfileThatPlanPredictsFromAndBenchCompares) {
  const std::string profile = (dir_.path() / "new/folder/profile.toml").string();
  const ChildResult probe = Measure({"-o", profile, "--json"});
  ASSERT_EQ(probe.exit_code, 0) << probe.err;
  const auto measured = JsonLines(probe.out);
  ASSERT_EQ(measured.size(), 1u);
  EXPECT_EQ(Text(measured[0], "profile"), profile);
  EXPECT_GE(measured[0].at("host").at("read").as_array().size(), 1u);
  const auto& device = measured[0].at("devices").at(0).as_object();
  EXPECT_EQ(Text(device, "name"), "ref:0");
  EXPECT_EQ(Text(device, "build").size(), 64u);
  EXPECT_GT(device.at("launch_s").at("median").as_double(), 0);
  EXPECT_EQ(device.at("copy").as_array().size(), 4u);
  EXPECT_GE(device.at("read").as_array().size(), 1u);
  std::vector<int64_t> tokens;
  for (const auto& row : device.at("linear").as_array()) {
    EXPECT_EQ(Text(row.as_object(), "format"), "F32");
    EXPECT_GT(row.at("ops_per_s").as_double(), 0);
    tokens.push_back(row.at("tokens").as_int64());
  }
  EXPECT_EQ(tokens, (std::vector<int64_t>{1, 8, 512}));

  const ChildResult plan = Motley(On("plan", {"--json", "--profile", profile}));
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(plan.err, "");
  const auto planned = JsonLines(plan.out);
  ASSERT_EQ(planned.size(), 1u);
  const auto& times = planned[0].at("times").as_object();
  EXPECT_EQ(Text(times, "basis"), "by probe of " + Text(measured[0], "date"));
  ASSERT_TRUE(times.at("known").as_bool());
  EXPECT_GT(times.at("decode_seconds").as_double(), 0);
  EXPECT_GT(times.at("prefill_seconds").as_double(), times.at("decode_seconds").as_double());
  double segments = 0;
  for (const auto& segment : times.at("segments").as_array()) segments += segment.at("decode_seconds").as_double();
  EXPECT_NEAR(segments, planned[0].at("devices").at(0).at("decode_seconds").as_double(), 1e-12);

  const ChildResult bench = Motley(On("bench", {"--prefill", "8", "--decode", "4", "--repeat", "2", "--json", "--set",
                                                "probe.profile=" + profile}));
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const auto benched = JsonLines(bench.out);
  ASSERT_EQ(benched.size(), 1u);
  EXPECT_EQ(Text(benched[0], "prediction"), "by probe of " + Text(measured[0], "date"));
  EXPECT_GT(benched[0].at("decode").at(0).at("predicted_tokens_per_s").as_double(), 0);
}

TEST_F(Probe, AProfileOfAnotherMachineOrBuildIsNamedAndIgnored) {
  const std::string profile = (dir_.path() / "p.toml").string();
  ASSERT_EQ(Measure({"-o", profile}).exit_code, 0);
  const std::string text = Read(profile);
  const auto plan = [&](const std::string& changed) {
    Write(profile, changed);
    const ChildResult result = Motley(On("plan", {"--json", "--profile", profile}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto objects = JsonLines(result.out);
    if (objects.size() != 1) return std::pair<std::string, std::string>();
    return std::pair(Text(objects[0].at("times").as_object(), "basis"), result.err);
  };
  const auto [same, nothing] = plan(text);
  EXPECT_EQ(same.rfind("by probe of ", 0), 0u) << same;
  EXPECT_EQ(nothing, "");
  const auto [other_cpu, cpu_warning] = plan(Replaced(text, "cpu = \"", "cpu = \"Z80 "));
  EXPECT_EQ(other_cpu, "not probed");
  EXPECT_HAS(cpu_warning, "of another machine: its CPU is \"Z80 ");
  const auto [other_build, build_warning] = plan(Replaced(text, "build = \"", "build = \"0"));
  EXPECT_EQ(other_build, "not probed");
  EXPECT_HAS(build_warning, "what it says of ref:0 is ignored: plugin ref was built anew");
  const auto [other_schema, schema_warning] = plan(Replaced(text, "schema = 1", "schema = 99"));
  EXPECT_EQ(other_schema, "not probed");
  EXPECT_HAS(schema_warning, "schema 99");
}

TEST_F(Probe, ACorruptDefaultProfileStopsPlanWithItsPlaceButNotRun) {
  ChildOptions options = Quiet();
  options.environment.push_back("XDG_STATE_HOME=" + dir_.path().string());
  const std::filesystem::path profile = dir_.path() / "motley/profile.toml";
  ASSERT_EQ(Measure({}, options).exit_code, 0);  // the folder is made
  ASSERT_TRUE(std::filesystem::exists(profile));
  const ChildResult known = Motley(On("plan"), options);
  EXPECT_EQ(known.exit_code, 0) << known.err;
  EXPECT_HAS(known.out, "by probe of ");
  Write(profile, "schema = 1\ndate = 5\n");
  const ChildResult plan = Motley(On("plan"), options);
  EXPECT_EQ(plan.exit_code, 2);
  EXPECT_HAS(plan.err, "profile.toml:2:8: date = 5: must be a text");
  EXPECT_EQ(Motley(On("bench", {"--prefill", "8", "--decode", "4"}), options).exit_code, 2);
  const ChildResult run = Motley(On("run", {"--raw", "Once", "-n", "2"}), options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_HAS(run.err, "profile.toml:2:8: date = 5");
  // One that the configuration names is the operator's word.
  EXPECT_EQ(Motley(On("run", {"--raw", "Once", "-n", "2", "--set", "probe.profile=" + profile.string()}), options).exit_code, 2);
}

TEST_F(Probe, SaysWhereItCannotWriteAndLeavesNothingBehind) {
  dir_.Write("file", "");
  const ChildResult result = Measure({"-o", (dir_.path() / "file/profile.toml").string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_HAS(result.err, "file/profile.toml: cannot be written");
  EXPECT_HAS(result.err, "-o");
}

}  // namespace
}  // namespace motley
