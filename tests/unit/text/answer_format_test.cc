#include "core/text/answer_format.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/text/tiny_vocab.h"

namespace motley {
namespace {

using test::TinyVocab;

Tokenizer Make(const TinyVocab& v) {
  auto tokenizer = Tokenizer::Create(v.source);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  return *std::move(tokenizer);
}

// What public templates say of calls and thinking (facts of the interface, in few words).
TEST(AnswerFormat, TheTemplateDecides) {
  const struct {
    const char* what;
    const char* chat_template;
    const char* think_close;
    ToolSyntax tools;
  } rows[] = {
      {"GLM", "{{ '<tool_call>' + tc.name }}<arg_key>{{ k }}</arg_key> {{ '<think></think>' }}", "</think>",
       ToolSyntax::kTagged},
      {"Qwen 3", "{{- '<tool_call>\\n{\"name\": \"' }} {{- '<think>\\n\\n</think>\\n\\n' }}", "</think>",
       ToolSyntax::kTagged},
      {"Qwen 2.5", "{{- '<tool_call>\\n{\"name\": \"' }}", "", ToolSyntax::kTagged},
      {"Llama 3.2", "{{- '<|start_header_id|>' }}{{- '\"parameters\": ' }}", "", ToolSyntax::kJson},
      {"SmolLM2", "{{'<|im_start|>' + message['role']}}", "", ToolSyntax::kNone},
      {"Ministral", "{{ '[THINK]' + t + '[/THINK]' }}", "[/THINK]", ToolSyntax::kNone},
      {"drops old thinking", "{{ content.split('</think>')[-1] }}", "</think>", ToolSyntax::kNone},
      {"another use of the word", "{{ '{\"parameters\": ' }}", "", ToolSyntax::kNone},
  };
  for (const auto& row : rows) {
    const AnswerFormat format = FindAnswerFormat(row.chat_template, nullptr);
    EXPECT_EQ(format.think_close, row.think_close) << row.what;
    EXPECT_EQ(format.think_open.empty(), format.think_close.empty()) << row.what;
    EXPECT_EQ(format.tools, row.tools) << row.what;
    EXPECT_EQ(format.start, AnswerStart::kContent);
    EXPECT_NE(format.reason.find(';'), std::string::npos) << format.reason;
  }
}

TEST(AnswerFormat, WithoutATemplateTheVocabularyDecides) {
  TinyVocab glm;
  for (const char* name : {"<think>", "</think>", "<tool_call>", "</tool_call>"})
    glm.AddToken(name, TokenType::kUserDefined);
  const Tokenizer with = Make(glm);
  EXPECT_EQ(FindAnswerFormat("", &with).think_open, "<think>");
  EXPECT_EQ(FindAnswerFormat("", &with).tools, ToolSyntax::kTagged);
  // Thinking may be written though the template does not speak of it.
  EXPECT_EQ(FindAnswerFormat("{{ m }}", &with).think_open, "<think>");
  EXPECT_EQ(FindAnswerFormat("{{ m }}", &with).tools, ToolSyntax::kNone);

  TinyVocab llama;
  llama.AddToken("<|python_tag|>", TokenType::kControl);
  const Tokenizer python = Make(llama);
  EXPECT_EQ(FindAnswerFormat("", &python).tools, ToolSyntax::kJson);
  EXPECT_FALSE(FindAnswerFormat("", &python).has_thinking());
}

TEST(AnswerFormat, ThePromptsEndSaysWhereTheAnswerBegins) {
  const AnswerFormat format = FindAnswerFormat("<think></think>", nullptr);
  EXPECT_EQ(FindAnswerStart("<|user|>Hi<|assistant|><think>", format), AnswerStart::kReasoning);
  EXPECT_EQ(FindAnswerStart("<|im_start|>assistant\n<think>\n", format), AnswerStart::kReasoning);
  EXPECT_EQ(FindAnswerStart("<|assistant|>\n<think></think>", format), AnswerStart::kAfterTag);
  EXPECT_EQ(FindAnswerStart("<think>\n\n</think>\n\n", format), AnswerStart::kAfterTag);
  EXPECT_EQ(FindAnswerStart("<|im_start|>assistant\n", format), AnswerStart::kContent);
  EXPECT_EQ(FindAnswerStart("", format), AnswerStart::kContent);
  EXPECT_EQ(FindAnswerStart("<|assistant|><think>", AnswerFormat()), AnswerStart::kContent);
}

TEST(AnswerFormat, MarksAreTheControlTokensThatWouldLeaveNoText) {
  TinyVocab v;
  const int32_t open = v.AddToken("<think>", TokenType::kControl);
  const int32_t close = v.AddToken("</think>", TokenType::kControl);
  const int32_t call = v.AddToken("<tool_call>", TokenType::kControl);
  v.AddToken("</tool_call>", TokenType::kUserDefined);  // leaves text anyway
  v.AddToken("<|user|>", TokenType::kControl);
  const Tokenizer t = Make(v);
  AnswerFormat format = FindAnswerFormat("<think></think><tool_call>", &t);
  EXPECT_EQ(AnswerMarks(format, t), (std::vector<int32_t>{open, close, call}));
  format.tools = ToolSyntax::kNone;
  EXPECT_EQ(AnswerMarks(format, t), (std::vector<int32_t>{open, close}));
  EXPECT_TRUE(AnswerMarks(AnswerFormat(), t).empty());
}

}  // namespace
}  // namespace motley
