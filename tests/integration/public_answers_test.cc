// Public chat templates against the parser of answers: what a template writes as an earlier answer is read back, and
// thinking is switched by the variables that are set for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "core/engine/chat_prompter.h"
#include "core/text/answer_parser.h"
#include "tests/integration/cached_file.h"

namespace motley::test {
namespace {

constexpr char kTools[] = R"([{"type":"function","function":{"name":"weather","description":"It.","parameters":
  {"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"where":{"type":"object"}}}}}])";
constexpr char kUser[] = R"({"role":"user","content":"Hi"})";

// The source, "" where it was not fetched.
std::string PublicTemplate(const std::string& name) {
  std::ifstream file(CacheFolder() / "public" / "templates" / (name + ".jinja"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

StatusOr<std::string> Render(const ChatTemplate& chat_template, const std::string& messages, const std::string& tools,
                             const std::string& variables, bool generation) {
  ChatInput input;
  MOTLEY_RETURN_IF_ERROR(input.SetMessages(messages));
  if (!tools.empty()) MOTLEY_RETURN_IF_ERROR(input.SetTools(tools));
  MOTLEY_RETURN_IF_ERROR(input.SetVariables(variables));
  input.add_generation_prompt = generation;
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<TextSegment> segments, chat_template.Render(input));
  return TextOf(segments);
}

#define NEED_TEMPLATE(source, name)                        \
  const std::string source = PublicTemplate(name);         \
  if (source.empty()) GTEST_SKIP() << "skipped: " << name << " is not in the cache; tools/check fetches it"; \
  const StatusOr<ChatTemplate> chat_template = ChatTemplate::Parse(source, name, {"<s>", "</s>", {}, {}});   \
  ASSERT_TRUE(chat_template.ok()) << chat_template.status().ToString()

struct CallCase {
  const char* name;
  bool reasoning;  // is written with the answer
  bool content;    // is written beside a call
};

class PublicCalls : public ::testing::TestWithParam<CallCase> {};

TEST_P(PublicCalls, WhatTheTemplateWritesIsReadBack) {
  NEED_TEMPLATE(source, GetParam().name);
  const std::string arguments = R"({"city":"a \"b\"\nc","days":3,"where":{"x":[1,"y"]}})";
  const std::string answer =
      std::string(R"({"role":"assistant","content":")") + (GetParam().content ? "I look." : "") + "\"" +
      (GetParam().reasoning ? R"(,"reasoning_content":"r s")" : "") +
      R"(,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":)" + arguments + "}}]}";
  const std::string messages = std::string("[") + kUser + "]";
  const auto prompt = Render(*chat_template, messages, kTools, "{}", true);
  const auto whole = Render(*chat_template, std::string("[") + kUser + "," + answer + "]", kTools, "{}", false);
  ASSERT_TRUE(prompt.ok() && whole.ok()) << prompt.status().ToString() << whole.status().ToString();
  const size_t common = static_cast<size_t>(
      std::mismatch(prompt->begin(), prompt->end(), whole->begin(), whole->end()).first - prompt->begin());
  std::string text = whole->substr(common);
  for (const char* end : {"<|im_end|>", "<|eot_id|>", "<|observation|>", "<|user|>"}) text = text.substr(0, text.find(end));

  AnswerFormat format = FindAnswerFormat(source, nullptr);
  format.start = FindAnswerStart(prompt->substr(0, common), format);
  const auto tools = ToolSchemas::Parse(kTools);
  ASSERT_TRUE(tools.ok());
  AnswerParser parser(format, &*tools);
  std::vector<AnswerPart> parts;
  for (const char c : text) parser.Push(std::string_view(&c, 1), &parts);
  parser.Finish(&parts);
  std::string reasoning, content;
  std::vector<ToolCall> calls;
  for (const AnswerPart& part : parts) {
    if (part.kind == AnswerPart::Kind::kReasoning) reasoning += part.text;
    if (part.kind == AnswerPart::Kind::kContent) content += part.text;
    if (part.kind == AnswerPart::Kind::kToolCall) calls.push_back(part.call);
  }
  ASSERT_EQ(calls.size(), 1u) << text;
  EXPECT_EQ(calls[0].name, "weather");
  EXPECT_EQ(boost::json::parse(calls[0].arguments), boost::json::parse(arguments)) << text;
  EXPECT_EQ(reasoning, GetParam().reasoning ? "r s" : "") << text;
  while (!content.empty() && content.back() == '\n') content.pop_back();  // the form's, behind the answer
  EXPECT_EQ(content, GetParam().content ? "I look." : "") << text;
}

INSTANTIATE_TEST_SUITE_P(
    Templates, PublicCalls,
    ::testing::Values(CallCase{"GLM-4.6", true, true}, CallCase{"GLM-4.7-Flash", true, true},
                      CallCase{"Qwen-Qwen3-0.6B", true, true}, CallCase{"Qwen-Qwen2.5-7B-Instruct", false, true},
                      CallCase{"Qwen3-Coder", false, true}, CallCase{"Qwen3.5-4B", true, true},
                      CallCase{"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", true, true},
                      CallCase{"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", false, false},
                      CallCase{"meta-llama-Llama-3.1-8B-Instruct", false, false},
                      CallCase{"meta-llama-Llama-3.2-3B-Instruct", false, false},
                      CallCase{"meta-llama-Llama-3.3-70B-Instruct", false, false}),
    [](const auto& info) {
      std::string name = info.param.name;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

struct ThinkingCase {
  const char* name;
  AnswerStart on, off;
};

class PublicThinking : public ::testing::TestWithParam<ThinkingCase> {};

TEST_P(PublicThinking, OnAndOffLeaveTheAnswerWhereTheyShould) {
  NEED_TEMPLATE(source, GetParam().name);
  const AnswerFormat format = FindAnswerFormat(source, nullptr);
  std::string texts[2];
  for (const bool on : {false, true}) {
    const auto prompt = Render(*chat_template, std::string("[") + kUser + "]", "",
                               ThinkingVariables(*chat_template, source, on), true);
    ASSERT_TRUE(prompt.ok()) << prompt.status().ToString();
    EXPECT_EQ(FindAnswerStart(*prompt, format), on ? GetParam().on : GetParam().off) << *prompt;
    texts[on] = *prompt;
  }
  EXPECT_NE(texts[0], texts[1]);
}

constexpr AnswerStart kContent = AnswerStart::kContent, kReasoning = AnswerStart::kReasoning, kAfterTag = AnswerStart::kAfterTag;
INSTANTIATE_TEST_SUITE_P(
    Templates, PublicThinking,
    ::testing::Values(ThinkingCase{"GLM-4.6", kContent, kAfterTag}, ThinkingCase{"GLM-4.7-Flash", kReasoning, kAfterTag},
                      ThinkingCase{"Qwen-Qwen3-0.6B", kContent, kAfterTag}, ThinkingCase{"Qwen3.5-4B", kReasoning, kAfterTag},
                      ThinkingCase{"HuggingFaceTB-SmolLM3-3B", kContent, kAfterTag},
                      ThinkingCase{"deepseek-ai-DeepSeek-V3.1", kReasoning, kAfterTag},
                      ThinkingCase{"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", kReasoning, kAfterTag},
                      ThinkingCase{"ibm-granite-granite-3.3-2B-Instruct", kContent, kContent},
                      ThinkingCase{"openai-gpt-oss-120b", kContent, kContent},
                      ThinkingCase{"tencent-Hy3", kContent, kContent}),
    [](const auto& info) {
      std::string name = info.param.name;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

}  // namespace
}  // namespace motley::test
