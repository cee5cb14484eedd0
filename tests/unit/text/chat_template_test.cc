#include "core/text/chat_template.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/text/tiny_vocab.h"

namespace motley {
namespace {

using test::TinyVocab;

ChatTemplate Parsed(std::string_view source) {
  auto parsed = ChatTemplate::Parse(source, "t.jinja");
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
  return *std::move(parsed);
}

std::string ReadTemplate(const std::string& name) {
  std::ifstream file(std::string(MOTLEY_TEMPLATE_FOLDER) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ChatInput Messages(std::string_view json) {
  ChatInput input;
  const Status status = input.SetMessages(json);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return input;
}

std::string Text(const ChatTemplate& chat_template, const ChatInput& input) {
  const auto segments = chat_template.Render(input);
  return segments.ok() ? TextOf(*segments) : "FAILED: " + segments.status().message();
}

std::string Text(std::string_view source, const ChatInput& input = {}) { return Text(Parsed(source), input); }

std::string ParseError(std::string_view source) {
  const auto parsed = ChatTemplate::Parse(source, "t.jinja");
  EXPECT_FALSE(parsed.ok()) << source;
  return parsed.ok() ? "" : parsed.status().message();
}

TEST(ChatTemplate, AnErrorNamesTheTemplateAndTheLine) {
  EXPECT_EQ(ParseError("a\nb\n{% if x %}\n"), "t.jinja:3: Unexpected end of template. Looking for the tag 'elif' or 'else' "
                                               "or 'endif'. The innermost block that is open is 'if'.");
  EXPECT_EQ(ParseError("a\n{{ 1 + }}").substr(0, 10), "t.jinja:2:");
  EXPECT_EQ(ParseError("\n\n{% include 'x' %}"), "t.jinja:3: the tag 'include' is not supported: a chat template stands alone");
  EXPECT_EQ(ParseError("x\n{{ y|nosuch }}"), "t.jinja:2: No filter named 'nosuch'.");
  EXPECT_EQ(Text("a\n\n{{ raise_exception('Only ' ~ 'users') }}"), "FAILED: t.jinja:3: Only users");
  EXPECT_EQ(Text("{% macro m(x) %}\n{{ x.y.z }}\n{% endmacro %}\n{{ m({}) }}"),
            "FAILED: t.jinja:2: 'dict object' has no attribute 'y'");
  EXPECT_EQ(Text("\n{{ 'a' + 1 }}"), "FAILED: t.jinja:2: can only concatenate str (not \"int\") to str");
}

TEST(ChatTemplate, ASourceThatIsNoTextIsRefused) {
  EXPECT_EQ(ParseError("a\n\xFFz"), "t.jinja:2: not UTF-8 at byte 2");
  EXPECT_NE(ParseError(std::string(5 << 20, 'x')).find("must be at most"), std::string::npos);
  EXPECT_EQ(Text(""), "");
}

TEST(ChatTemplate, MessagesMustBeAnArrayOfObjectsWithARole) {
  const auto error = [](std::string_view json) {
    ChatInput input;
    return input.SetMessages(json, "chat.json").message();
  };
  EXPECT_EQ(error("[{\"role\": \"user\",\n \"content\": }]"), "chat.json:2:13: not JSON: syntax error");
  EXPECT_EQ(error(""), "chat.json:1:1: not JSON: it is empty");
  EXPECT_EQ(error("{}"), "chat.json: must be an array of messages");
  EXPECT_EQ(error("[1]"), "chat.json[0]: must be an object with a role and content");
  EXPECT_EQ(error("[{\"role\":\"user\",\"content\":\"\"},{\"content\":\"x\"}]"), "chat.json[1].role: must be there, and a string");
  EXPECT_NE(error("[{\"role\":\"user\",\"content\":\"\xFF\"}]").find("not JSON"), std::string::npos);
  EXPECT_NE(error("[] []").find("not JSON"), std::string::npos);
  ChatInput input;
  EXPECT_EQ(input.SetTools("{}", "tools.json").message(), "tools.json: must be an array of tools, or null");
  EXPECT_EQ(input.SetTools("[\"x\"]", "tools.json").message(), "tools.json[0]: must be an object");
  EXPECT_EQ(input.SetVariables("[]", "--vars").message(), "--vars: must be an object of variables");
  EXPECT_TRUE(input.SetTools("null").ok());
  EXPECT_FALSE(input.has_tools());
}

TEST(FieldFailure, S04_DeepJsonIsRefusedBeforeItIsUsed) {
  ChatInput input;
  const std::string deep = std::string(10000, '[') + std::string(10000, ']');
  const Status field = input.SetMessages("[{\"role\":\"user\",\"content\":" + deep + "}]");
  EXPECT_NE(field.message().find("levels"), std::string::npos) << field.ToString();
  EXPECT_FALSE(input.SetTools("[{\"a\":" + std::string(3000, '[') + std::string(3000, ']') + "}]").ok());
  EXPECT_TRUE(input.SetTools("[{\"a\":" + std::string(200, '[') + std::string(200, ']') + "}]").ok());
  EXPECT_NE(Text("{{ tools|tojson }}", input).find("[[[["), std::string::npos);
  EXPECT_NE(Text("{{ tools }}", input).find("[[[["), std::string::npos);
  const auto twice = Messages("[{\"role\":\"user\",\"content\":\"a\",\"content\":\"b\"}]");
  EXPECT_EQ(Text("{{ messages[0].content }}{{ messages[0]|length }}", twice), "b2");
}

TEST(FieldFailure, M09_GlmPromptsAreExact) {
  ChatInput hi = Messages(R"([{"role":"user","content":"Hi"}])");
  ChatInput quiet = hi;
  quiet.SetVariable("enable_thinking", false);
  const auto builtin = [](std::string_view name) {
    auto made = ChatTemplate::Builtin(name);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return *std::move(made);
  };
  for (const ChatTemplate& glm46 : {Parsed(ReadTemplate("glm46.jinja")), builtin("glm4")}) {
    EXPECT_EQ(Text(glm46, hi), "[gMASK]<sop><|user|>\nHi<|assistant|>") << glm46.name();
    EXPECT_EQ(Text(glm46, quiet), "[gMASK]<sop><|user|>\nHi/nothink<|assistant|>\n<think></think>") << glm46.name();
  }
  for (const ChatTemplate& glm47 : {Parsed(ReadTemplate("glm47.jinja")), builtin("glm47")}) {
    EXPECT_EQ(Text(glm47, hi), "[gMASK]<sop><|user|>Hi<|assistant|><think>") << glm47.name();
    EXPECT_EQ(Text(glm47, quiet), "[gMASK]<sop><|user|>Hi<|assistant|></think>") << glm47.name();
  }
}

// [gMASK]<sop> comes from the template: with a BOS of that name the ids stand there once.
TEST(FieldFailure, M09_PrefixIdsStandOnce) {
  TinyVocab v;
  const int32_t mask = v.AddToken("[gMASK]", TokenType::kControl), sop = v.AddToken("<sop>", TokenType::kControl);
  v.AddToken("<|user|>", TokenType::kControl);
  v.AddToken("<|assistant|>", TokenType::kControl);
  v.source.bos_id = mask;
  v.source.add_bos = true;
  const auto tokenizer = Tokenizer::Create(v.source);
  ASSERT_TRUE(tokenizer.ok());
  std::string warning;
  const auto glm = ChatTemplate::ForModel("", *tokenizer, &warning);
  ASSERT_TRUE(glm.ok());
  EXPECT_EQ(glm->name(), "glm4");
  EXPECT_NE(warning.find("\"glm4\""), std::string::npos);
  ChatInput input;
  input.AddMessage({"user", "[gMASK]<sop>Hi"});
  const auto segments = glm->Render(input);
  ASSERT_TRUE(segments.ok());
  const auto ids = tokenizer->EncodeSegments(*segments);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(std::count(ids->begin(), ids->end(), mask), 1);
  EXPECT_EQ(std::count(ids->begin(), ids->end(), sop), 1);
  EXPECT_EQ(ids->at(0), mask);
  EXPECT_EQ(ids->at(1), sop);
}

TEST(FieldFailure, M10_ContentNullDoesNotBecomeTheWordNone) {
  const char* call = R"([{"role":"user","content":"q"},{"role":"assistant","content":null,
      "tool_calls":[{"type":"function","function":{"name":"f","arguments":{}}}]}])";
  EXPECT_EQ(Text("{% for m in messages %}[{{ m.content }}]{% endfor %}", Messages(call)), "[q][]");
  EXPECT_EQ(Text("{% for m in messages %}{{ m.role + m.content }}{% endfor %}", Messages(call)), "userqassistant");
  // A template that looks for it sees it.
  EXPECT_EQ(Text("{% for m in messages %}{{ 'null' if m.content is none else m.content }}{% endfor %}", Messages(call)), "qnull");
  const char* missing = R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]}])";
  EXPECT_EQ(Text("{{ 'a' + messages[0].content }}", Messages(missing)), "a");
}

TEST(ChatTemplate, ArgumentsAsTextBecomeAnObjectWhereTheTemplateNeedsOne) {
  const char* call = R"([{"role":"assistant","content":"","tool_calls":[{"type":"function",
      "function":{"name":"f","arguments":"{\"a\":1,\"b\":\"x \\\"y\\\"\\n\"}"}}]}])";
  const std::string args = "{% set a = messages[0].tool_calls[0].function.arguments %}";
  EXPECT_EQ(Text(args + "{% for k, v in a.items() %}{{ k }}={{ v }};{% endfor %}", Messages(call)), "a=1;b=x \"y\"\n;");
  EXPECT_EQ(Text(args + "{{ a|tojson }}", Messages(call)), R"({"a": 1, "b": "x \"y\"\n"})");
  EXPECT_EQ(Text("{{ messages[0].tool_calls|tojson }}", Messages(call)),
            R"([{"type": "function", "function": {"name": "f", "arguments": {"a": 1, "b": "x \"y\"\n"}}}])");
  // Text that the template writes as it is stays as it came.
  EXPECT_EQ(Text(args + "{{ a if a is string else a|tojson }}", Messages(call)), "{\"a\":1,\"b\":\"x \\\"y\\\"\\n\"}");
  EXPECT_EQ(Text(args + "{{ 'call ' + a }}", Messages(call)), "call {\"a\":1,\"b\":\"x \\\"y\\\"\\n\"}");
  // Text that is no object, a call that was cut, stays text.
  const char* cut = R"([{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{\"a\": 1"}}]}])";
  EXPECT_EQ(Text(args + "{{ a|tojson }}", Messages(cut)), R"("{\"a\": 1")");
}

TEST(ChatTemplate, TextPartsBecomeTextUnlessTheTemplateLooksAtThem) {
  const char* parts = R"([{"role":"user","content":[{"type":"text","text":"one "},{"type":"text","text":"two"}]}])";
  EXPECT_EQ(Text("{{ messages[0].content }}", Messages(parts)), "one two");
  EXPECT_EQ(Text("{{ messages[0].content|trim }}", Messages(parts)), "one two");
  EXPECT_EQ(Text("{{ '<' + messages[0].content + '>' }}", Messages(parts)), "<one two>");
  EXPECT_EQ(Text("{% for p in messages[0].content %}({{ p.text }}){% endfor %}", Messages(parts)), "(one )(two)");
  const char* image = R"([{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"x"}}]}])";
  EXPECT_EQ(Text("{{ messages[0].content }}", Messages(image)),
            "FAILED: messages[0].content[1] is of type image_url: this template takes text alone");
  EXPECT_EQ(Text("{% for p in messages[0].content %}{{ p.type }} {% endfor %}", Messages(image)), "text image_url ");
}

TEST(ChatTemplate, VariablesAndTokensReachTheTemplate) {
  auto made = ChatTemplate::Parse("{{ bos_token }}{{ x }}{{ eos_token is defined }}{{ add_generation_prompt }}{{ tools is defined }}",
                                  "t", {.bos = "<s>", .eos = {}, .unk = {}, .pad = {}});
  ASSERT_TRUE(made.ok());
  ChatInput input;
  input.SetVariable("x", "value");
  EXPECT_EQ(Text(*made, input), "<s>valueFalseTrueFalse");
  input.add_generation_prompt = false;
  ASSERT_TRUE(input.SetVariables(R"({"bos_token":"[B]","x":12345678901234567890123,"eos_token":""})").ok());
  EXPECT_EQ(Text(*made, input), "[B]12345678901234567890123TrueFalseFalse");
  EXPECT_FALSE(input.SetVariables(R"({"messages":[]})").ok());
  EXPECT_TRUE(made->Mentions("x"));
  EXPECT_FALSE(made->Mentions("enable_thinking"));
}

TEST(ChatTemplate, StrftimeNowTakesTheGivenTime) {
  setenv("TZ", "UTC", 1);
  ChatInput input;
  input.now = std::chrono::system_clock::from_time_t(1764547200);  // 2025-12-01 00:00:00
  EXPECT_EQ(Text("{{ strftime_now('%Y-%m-%d %d %b %Y %B %d, %Y') }}", input), "2025-12-01 01 Dec 2025 December 01, 2025");
  EXPECT_EQ(Text("{{ strftime_now('') }}|{{ strftime_now('%%') }}", input), "|%");
  EXPECT_NE(Text("{{ strftime_now('%99999999d') }}", input).find("FAILED"), std::string::npos);
}

TEST(ChatTemplate, EveryBuiltinRendersAConversation) {
  const auto none = ChatTemplate::Builtin("nosuch");
  EXPECT_EQ(none.status().code(), Code::kNotFound);
  const char* talk = R"([{"role":"system","content":"S"},{"role":"user","content":"U1"},
                         {"role":"assistant","content":"A1"},{"role":"user","content":"U2"}])";
  const std::pair<const char*, const char*> rows[] = {
      {"chatml", "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU1<|im_end|>\n<|im_start|>assistant\nA1<|im_end|>\n"
                 "<|im_start|>user\nU2<|im_end|>\n<|im_start|>assistant\n"},
      {"llama3", "<s><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nU1"
                 "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA1<|eot_id|>"
                 "<|start_header_id|>user<|end_header_id|>\n\nU2<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
      {"glm4", "[gMASK]<sop><|system|>\nS<|user|>\nU1<|assistant|>\n<think></think>\nA1<|user|>\nU2<|assistant|>"},
      {"glm47", "[gMASK]<sop><|system|>S<|user|>U1<|assistant|></think>A1<|user|>U2<|assistant|><think>"},
      {"gemma", "<s><start_of_turn>user\nS\n\nU1<end_of_turn>\n<start_of_turn>model\nA1<end_of_turn>\n"
                "<start_of_turn>user\nU2<end_of_turn>\n<start_of_turn>model\n"},
      {"phi3", "<|system|>\nS<|end|>\n<|user|>\nU1<|end|>\n<|assistant|>\nA1<|end|>\n<|user|>\nU2<|end|>\n<|assistant|>\n"},
      {"deepseek", "<s>S<｜User｜>U1<｜Assistant｜>A1</s><｜User｜>U2<｜Assistant｜>"},
      {"mistral", "<s>[INST] S\n\nU1[/INST] A1</s>[INST] U2[/INST]"},
  };
  for (const auto& [name, expected] : rows) {
    auto made = ChatTemplate::Builtin(name, {.bos = "<s>", .eos = "</s>", .unk = {}, .pad = {}});
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_EQ(Text(*made, Messages(talk)), expected) << name;
  }
}

TEST(ChatTemplate, AModelWithoutOneGetsTheBuiltinOfItsControlTokens) {
  const std::pair<std::vector<const char*>, const char*> rows[] = {
      {{"<|im_start|>", "<|im_end|>"}, "chatml"},
      {{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}, "llama3"},
      {{"[gMASK]", "<sop>", "<|user|>", "<|assistant|>"}, "glm4"},
      {{"<start_of_turn>", "<end_of_turn>"}, "gemma"},
      {{"<|user|>", "<|assistant|>", "<|end|>"}, "phi3"},
      {{"[INST]", "[/INST]"}, "mistral"},
  };
  for (const auto& [tokens, expected] : rows) {
    TinyVocab v;
    for (const char* token : tokens) v.AddToken(token, TokenType::kControl);
    const auto tokenizer = Tokenizer::Create(v.source);
    ASSERT_TRUE(tokenizer.ok());
    std::string warning;
    const auto made = ChatTemplate::ForModel("", *tokenizer, &warning);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->name(), expected);
    EXPECT_NE(warning.find(std::string("\"") + expected + "\""), std::string::npos) << warning;
  }
  const auto plain = Tokenizer::Create(TinyVocab().source);
  ASSERT_TRUE(plain.ok());
  std::string warning;
  ASSERT_TRUE(ChatTemplate::ForModel("", *plain, &warning).ok());
  EXPECT_NE(warning.find("lacks its control tokens"), std::string::npos) << warning;
  ASSERT_TRUE(ChatTemplate::ForModel("{{ 1 }}", *plain, &warning).ok());
  EXPECT_EQ(warning, "");
}

TEST(ChatTemplate, MessagesFromStructsAreThoseFromJson) {
  ChatInput structs;
  structs.AddMessage({"user", "q"});
  structs.AddMessage({"assistant", "a", "why", {{"id1", "f", "{\"x\":1}"}}});
  const ChatInput json = Messages(R"([{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"why",
      "tool_calls":[{"type":"function","function":{"name":"f","arguments":"{\"x\":1}"},"id":"id1"}]}])");
  EXPECT_EQ(structs.message_count(), 2u);
  EXPECT_EQ(Text("{{ messages|tojson }}", structs), Text("{{ messages|tojson }}", json));
  const ChatInput copy = structs;
  structs.AddMessage({"user", "more"});
  EXPECT_EQ(copy.message_count(), 2u);
}

}  // namespace
}  // namespace motley
