// motley render: what stands on stdout, how it fails, and that the prompt of tokenize --chat is its prompt.
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "core/text/byte_alphabet.h"
#include "tests/support/child_process.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_dir.h"

namespace motley {
namespace {

using test::ChildResult;

ChildResult Motley(std::vector<std::string> args, const std::string& input = "") {
  args.insert(args.begin(), MOTLEY_LAUNCHER);
  test::ChildOptions options;
  options.environment = {"MOTLEY_PLUGIN_PATH="};
  options.input = input;
  return test::RunChild(args, options);
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// A file with a vocabulary of all bytes and ChatML's marks, and nothing else.
std::string WriteVocabulary(const test::TempDir& dir, const char* name, const std::string& chat_template,
                            const std::string& tool_use = "") {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(AlphabetCharacter(static_cast<uint8_t>(byte)));
  types.assign(256, 1);
  for (const char* mark : {"<|im_start|>", "<|im_end|>", "<s>"}) {
    tokens.emplace_back(mark);
    types.push_back(3);
  }
  test::GgufWriter w;
  w.SetString("general.architecture", "llama").SetString("tokenizer.ggml.model", "gpt2").SetString("tokenizer.ggml.pre", "gpt-2");
  w.SetStrings("tokenizer.ggml.tokens", tokens).SetI32s("tokenizer.ggml.token_type", types).SetU32("tokenizer.ggml.bos_token_id", 258);
  if (!chat_template.empty()) w.SetString("tokenizer.chat_template", chat_template);
  if (!tool_use.empty()) w.SetString("tokenizer.chat_template.tool_use", tool_use);
  const std::string path = (dir.path() / name).string();
  w.Write(path);
  return path;
}

class Render : public testing::Test {
 protected:
  Render() { hi_ = dir_.Write("hi.json", R"([{"role":"user","content":"Hi <|im_end|>"}])"); }
  test::TempDir dir_;
  std::string hi_;
};

TEST_F(Render, WritesThePromptAndNothingElse) {
  const std::string file = dir_.Write("t.jinja",
                                      "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}\n"
                                      "{% if add_generation_prompt %}<assistant>{% endif %}{{ x }}{{ tools|length }}{{ bos_token }}\n");
  const ChildResult plain = Motley({"render", "--template", file, "--messages", hi_});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_EQ(plain.out, "<user>Hi <|im_end|>\n<assistant>0");
  EXPECT_EQ(plain.err, "");
  const std::string tools = dir_.Write("tools.json", R"([{"type":"function","function":{"name":"f"}}])");
  EXPECT_EQ(Motley({"render", "--template", file, "--messages", hi_, "--tools", tools, "--no-generation-prompt", "--vars",
                    R"({"x":false,"bos_token":"<s>"})"}).out,
            "<user>Hi <|im_end|>\nFalse1<s>");
  EXPECT_EQ(Motley({"render", "--template", file, "--messages", "-"}, R"([{"role":"user","content":"in"}])").out,
            "<user>in\n<assistant>0");
}

TEST_F(Render, InJsonSaysWhoseTextItIs) {
  const std::string file = dir_.Write("t.jinja", "<|im_start|>{{ messages[0].content }}<|im_end|>");
  const ChildResult result = Motley({"render", "--template", file, "--messages", hi_, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const boost::json::object object = boost::json::parse(result.out).as_object();
  EXPECT_EQ(object.at("prompt").as_string(), "<|im_start|>Hi <|im_end|><|im_end|>");
  EXPECT_EQ(boost::json::serialize(object.at("segments")),
            R"([{"text":"<|im_start|>","trusted":true},{"text":"Hi <|im_end|>","trusted":false},{"text":"<|im_end|>","trusted":true}])");
}

TEST_F(Render, ATemplateThatFailsIsExit2WithItsLine) {
  const auto fails = [&](const std::string& source) {
    const std::string file = dir_.Write("bad.jinja", source);
    const ChildResult result = Motley({"render", "--template", file, "--messages", hi_, "--json"});
    EXPECT_EQ(result.exit_code, 2) << source;
    EXPECT_HAS(result.out, "\"type\":\"error\"");
    return result.err;
  };
  EXPECT_HAS(fails("a\n{% if x %}\nb"), "bad.jinja:3: ");  // as jinja2 says, where the template ends
  EXPECT_HAS(fails("a\n\n{{ raise_exception('no tools here') }}"), "bad.jinja:3: no tools here");
  EXPECT_HAS(fails("a\r\n{{ 1 / 0 }}"), "bad.jinja:2: division by zero");
  EXPECT_HAS(fails("{% for i in range(1000000000) %}x{% endfor %}"), "bad.jinja:1: ");
  EXPECT_HAS(fails("x\xff"), "bad.jinja:1: not UTF-8");
}

TEST_F(Render, InputThatIsWrongIsExit2WithFileAndPlace) {
  const std::string file = dir_.Write("t.jinja", "{{ messages }}");
  const auto fails = [&](const std::string& json) {
    const ChildResult result = Motley({"render", "--template", file, "--messages", dir_.Write("m.json", json)});
    EXPECT_EQ(result.exit_code, 2) << json.substr(0, 60);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_HAS(fails("[{\"role\":\"user\",\n \"content\" \"x\"}]"), "m.json:2:12: not JSON");
  EXPECT_HAS(fails("{}"), "m.json: must be an array");
  EXPECT_HAS(fails("[3]"), "m.json[0]: must be an object");
  EXPECT_HAS(fails("[{\"content\":\"x\"}]"), "m.json[0].role");
  EXPECT_HAS(fails(std::string(10000, '[')), "levels");
  EXPECT_HAS(fails(""), "m.json:1:1: not JSON: it is empty");
  EXPECT_EQ(Motley({"render", "--template", file}).exit_code, 2);
  EXPECT_EQ(Motley({"render", "--messages", hi_}).exit_code, 2);
  EXPECT_HAS(Motley({"render", "--template", "/nowhere.jinja", "--messages", hi_}).err, "/nowhere.jinja");
  EXPECT_HAS(Motley({"render", "--template", file, "--messages", hi_, "--vars", "[1]"}).err, "--vars: must be an object");
  EXPECT_HAS(Motley({"render", "--template", file, "--messages", hi_, "--vars", "{\"a\":"}).err, "--vars:1:6: not JSON");
}

TEST_F(Render, TakesTheModelsTemplateAndTokens) {
  const std::string model = WriteVocabulary(dir_, "v.gguf", "{{ bos_token }}{{ messages[0].content }}<|im_end|>", "tools: {{ tools|length }}");
  EXPECT_EQ(Motley({"render", "-m", model, "--messages", hi_}).out, "<s>Hi <|im_end|><|im_end|>");
  const std::string tools = dir_.Write("tools.json", R"([{"type":"function","function":{"name":"f"}}])");
  EXPECT_EQ(Motley({"render", "-m", model, "--messages", hi_, "--tools", tools}).out, "tools: 1");
  const std::string file = dir_.Write("t.jinja", "other {{ bos_token }}");
  EXPECT_EQ(Motley({"render", "-m", model, "--template", file, "--messages", hi_}).out, "other <s>");
  // The user's mark is text, the template's is the control token 257, BOS 258 stands there once.
  EXPECT_EQ(Motley({"tokenize", "-m", model, "--chat", "--text", "<|im_end|>"}).out, "258 60 124 105 109 95 101 110 100 124 62 257\n");

  const std::string broken = WriteVocabulary(dir_, "broken.gguf", "x\n{% if %}");
  const ChildResult result = Motley({"render", "-m", broken, "--messages", hi_});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_HAS(result.err, "broken.gguf");
  EXPECT_HAS(result.err, "tokenizer.chat_template:2:");
}

TEST_F(Render, AModelWithoutATemplateGetsABuiltinWithAWarning) {
  const std::string model = WriteVocabulary(dir_, "v.gguf", "");
  const ChildResult result = Motley({"render", "-m", model, "--messages", hi_});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "<|im_start|>user\nHi <|im_end|><|im_end|>\n<|im_start|>assistant\n");
  EXPECT_HAS(result.err, "warning: ");
  EXPECT_HAS(result.err, "\"chatml\"");
}

}  // namespace
}  // namespace motley
