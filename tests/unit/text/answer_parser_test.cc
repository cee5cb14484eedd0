#include "core/text/answer_parser.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/text/json_slice.h"
#include "core/text/utf8.h"

namespace motley {
namespace {

constexpr char kTools[] = R"([
  {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}, "metric": {"type": "boolean"},
    "at": {"type": ["string", "null"]}, "where": {"type": "object"},
    "either": {"anyOf": [{"type": "string"}, {"type": "number"}]}, "pick": {"enum": ["1", "2"]}}}}},
  {"name": "now", "description": "the time"}])";

ToolSchemas Tools() {
  auto tools = ToolSchemas::Parse(kTools);
  EXPECT_TRUE(tools.ok()) << tools.status().ToString();
  return *std::move(tools);
}

AnswerFormat Format(ToolSyntax tools, AnswerStart start = AnswerStart::kContent) {
  AnswerFormat format;
  format.think_open = "<think>";
  format.think_close = "</think>";
  format.tools = tools;
  format.start = start;
  return format;
}
const AnswerFormat kTagged = Format(ToolSyntax::kTagged);
const AnswerFormat kLlama = Format(ToolSyntax::kJson);

// "R{...}" thinking, "C{...}" content, "T{name|arguments}": what was given, in order, those of one kind
// joined.
std::string Parse(const AnswerFormat& format, const std::vector<std::string>& pieces,
                  bool with_tools = true) {
  const ToolSchemas tools = Tools();
  AnswerParser parser(format, with_tools ? &tools : nullptr);
  std::string out;
  std::optional<AnswerPart::Kind> last;
  const auto take = [&](std::vector<AnswerPart> parts) {
    for (const AnswerPart& part : parts) {
      if (part.kind == AnswerPart::Kind::kToolCall) {
        EXPECT_TRUE(IsJson(part.call.arguments)) << part.call.arguments;
        EXPECT_EQ(part.call.arguments.front(), '{');
        out += "T{" + part.call.name + "|" + part.call.arguments + "}";
      } else if (part.kind == last) {
        out.pop_back();
        out += part.text + "}";
      } else {
        out += (part.kind == AnswerPart::Kind::kReasoning ? "R{" : "C{") + part.text + "}";
      }
      last = part.kind;
    }
  };
  for (const std::string& piece : pieces) {
    std::vector<AnswerPart> parts;
    parser.Push(piece, &parts);
    take(std::move(parts));
  }
  std::vector<AnswerPart> parts;
  parser.Finish(&parts);
  take(std::move(parts));
  return out;
}
std::string Parse(const AnswerFormat& format, const std::string& answer) {
  return Parse(format, std::vector{answer});
}

TEST(FieldFailure, M10_AnAnswerThatBeginsInsideThinking) {
  EXPECT_EQ(Parse(Format(ToolSyntax::kNone, AnswerStart::kReasoning), "r</think>A"), "R{r}C{A}");
  EXPECT_EQ(Parse(Format(ToolSyntax::kNone, AnswerStart::kReasoning), "\nr\n</think>\n\nA"), "R{r}C{A}");
}

TEST(FieldFailure, M10_ArgumentsWithAQuoteAndALineBreakAreValidJson) {
  // GLM writes strings as they are.
  EXPECT_EQ(
      Parse(kTagged,
            "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>a \"b\"\nc</arg_value>\n</tool_call>"),
      R"(T{weather|{"city": "a \"b\"\nc"}})");
  EXPECT_EQ(
      Parse(kTagged, R"(<tool_call>{"name": "weather", "arguments": {"city": "a \"b\"\nc"}}</tool_call>)"),
      R"(T{weather|{"city": "a \"b\"\nc"}})");
  // A line break that should have been escaped.
  EXPECT_EQ(
      Parse(kTagged,
            "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"a\nb\tc\x01\"}}</tool_call>"),
      R"(T{weather|{"city": "a\nb\tc\u0001"}})");
}

TEST(FieldFailure, M10_ACallThatIsCutShortIsContent) {
  for (const std::string whole :
       {"<tool_call>weather<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call>",
        "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}",
        "<tool_call><function=weather><parameter=city>\nRome\n</parameter></function>"}) {
    for (size_t bytes = 1; bytes < whole.size(); ++bytes) {
      EXPECT_EQ(Parse(kTagged, "A\n" + whole.substr(0, bytes)), "C{A\n" + whole.substr(0, bytes) + "}");
    }
    EXPECT_EQ(Parse(kTagged, "A\n" + whole), "C{A}T{weather|{\"city\": \"Rome\"}}");
  }
}

TEST(FieldFailure, M10_AMalformedCallIsContent) {
  for (const std::string bad :
       {"<tool_call></tool_call>", "<tool_call>{}</tool_call>",
        "<tool_call>{\"name\": 3, \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": 3}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": \"x\"}</tool_call>",
        "<tool_call>{'name': 'f'}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 01}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\xff\"}}</tool_call>",
        "<tool_call>{\"name\": \"f\"} and more</tool_call>", "<tool_call>two words</tool_call>",
        "<tool_call>f<arg_key>k</arg_key>v</tool_call>", "<tool_call>f<arg_value>v</arg_value></tool_call>",
        "<tool_call><function=a b></function></tool_call>", "<tool_call><function=f>x</function></tool_call>",
        "<tool_call><b>bold</b></tool_call>", "</tool_call>", "<tool_call><tool_call>"}) {
    EXPECT_EQ(Parse(kTagged, bad), "C{" + bad + "}");
    EXPECT_EQ(Parse(kTagged, "A " + bad + "\n B\n"), "C{A " + bad + "\n B\n}");
    // And the next one is seen all the same.
    EXPECT_EQ(Parse(kTagged, bad + "<tool_call>now</tool_call>"), "C{" + bad + "}T{now|{}}");
  }
  const std::string deep = "<tool_call>{\"name\": \"f\", \"arguments\": " + std::string(3000, '[');
  EXPECT_EQ(Parse(kTagged, deep), "C{" + deep + "}");
}

struct Row {
  const char* what;
  AnswerFormat format;
  std::string answer, expected;
};

class AnswerRow : public ::testing::TestWithParam<Row> {};

TEST_P(AnswerRow, AtOnceAndByteByByte) {
  const Row& row = GetParam();
  EXPECT_EQ(Parse(row.format, row.answer), row.expected) << row.what;
  std::vector<std::string> bytes;
  for (const char c : row.answer) bytes.emplace_back(1, c);
  EXPECT_EQ(Parse(row.format, bytes), row.expected) << row.what;
}

const Row kThinkingRows[] = {
    {"nothing", kTagged, "", ""},
    {"content alone", kTagged, " A\n", "C{ A\n}"},
    {"white space alone", kTagged, " \n", "C{ \n}"},
    {"thinking and content", kTagged, "<think>r</think>A", "R{r}C{A}"},
    {"white space beside the tags", kTagged, "\n<think>\n\n r s \n</think>\n\n A \n", "R{r s}C{A \n}"},
    {"line breaks inside stay", kTagged, "<think>r\n\ns</think>A\n\nB", "R{r\n\ns}C{A\n\nB}"},
    {"no closing tag", kTagged, "<think>r s \n", "R{r s}"},
    {"half a closing tag", kTagged, "<think>r </thi", "R{r </thi}"},
    {"thinking of nothing", kTagged, "<think>\n\n</think>\n\nA", "C{A}"},
    {"repeated opening", kTagged, "<think><think>\n<think>r</think>A", "R{r}C{A}"},
    {"opening inside of thinking", kTagged, "<think>r<think>s</think>A", "R{r<think>s}C{A}"},
    {"repeated closing", kTagged, "<think>r</think>\n</think></think> A", "R{r}C{A}"},
    {"closing in the content", kTagged, "<think>r</think>A</think>B", "R{r}C{A</think>B}"},
    {"opening in the content", kTagged, "A <think>r</think>", "C{A <think>r</think>}"},
    {"closing with no opening", kTagged, "r</think>A", "C{r</think>A}"},
    {"nearly tags", kTagged, "<thin>r</thinking><", "C{<thin>r</thinking><}"},
    {"the prompt opened it", Format(ToolSyntax::kTagged, AnswerStart::kReasoning), "r</think>\nA",
     "R{r}C{A}"},
    {"the prompt opened it, and the model too", Format(ToolSyntax::kTagged, AnswerStart::kReasoning),
     "\n<think>\nr</think>A", "R{r}C{A}"},
    {"the prompt opened it, never closed", Format(ToolSyntax::kTagged, AnswerStart::kReasoning), "r\ns",
     "R{r\ns}"},
    {"the prompt closed it", Format(ToolSyntax::kTagged, AnswerStart::kAfterTag), "\n\nA", "C{A}"},
    {"the prompt closed it, and the model too", Format(ToolSyntax::kTagged, AnswerStart::kAfterTag),
     "</think>\nA", "C{A}"},
    {"thinking again", Format(ToolSyntax::kTagged, AnswerStart::kAfterTag), "<think>r</think>A", "R{r}C{A}"},
    {"calls inside of thinking are thoughts", kTagged, "<think>so <tool_call>now</tool_call></think>A",
     "R{so <tool_call>now</tool_call>}C{A}"},
    {"a format with no thinking", AnswerFormat(), "<think>r</think>A", "C{<think>r</think>A}"},
};
INSTANTIATE_TEST_SUITE_P(Thinking, AnswerRow, ::testing::ValuesIn(kThinkingRows));

const Row kCallRows[] = {
    {"GLM-4.5", kTagged,
     "<think>r</think>\nI look.\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n"
     "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
     R"(R{r}C{I look.}T{weather|{"city": "Rome", "days": 3}})"},
    {"GLM-4.7", kTagged,
     "<tool_call>weather<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call><tool_call>now</"
     "tool_call>",
     R"(T{weather|{"city": "Rome"}}T{now|{}})"},
    {"GLM types by the schema", kTagged,
     "<tool_call>weather<arg_key>city</arg_key><arg_value>12</arg_value><arg_key>metric</"
     "arg_key><arg_value>True</arg_value>"
     "<arg_key>at</arg_key><arg_value>null</arg_value><arg_key>where</arg_key><arg_value> {\"x\": [1, 2.50]} "
     "</arg_value>"
     "<arg_key>either</arg_key><arg_value>7</arg_value><arg_key>pick</arg_key><arg_value>1</arg_value></"
     "tool_call>",
     R"(T{weather|{"city": "12", "metric": true, "at": null, "where": {"x": [1, 2.50]}, "either": 7, "pick": "1"}})"},
    {"GLM values that do not fit the schema", kTagged,
     "<tool_call>weather<arg_key>days</arg_key><arg_value>three</arg_value><arg_key>where</"
     "arg_key><arg_value>{x}</arg_value>"
     "<arg_key>at</arg_key><arg_value>12</arg_value></tool_call>",
     R"(T{weather|{"days": "three", "where": "{x}", "at": "12"}})"},
    {"GLM without a schema", kTagged,
     "<tool_call>f<arg_key>a</arg_key><arg_value>1e3</arg_value><arg_key>b</arg_key><arg_value>one</"
     "arg_value><arg_key>c</arg_key>"
     "<arg_value>[\"x\"]</arg_value><arg_key>d</arg_key><arg_value>\"q\"</arg_value><arg_key>e</"
     "arg_key><arg_value></arg_value></tool_call>",
     R"(T{f|{"a": 1e3, "b": "one", "c": ["x"], "d": "\"q\"", "e": ""}})"},
    {"GLM argument twice", kTagged,
     "<tool_call>weather<arg_key>days</arg_key><arg_value>1</arg_value><arg_key>days</arg_key><arg_value>2</"
     "arg_value></tool_call>",
     R"(T{weather|{"days": 2}})"},
    {"tags inside of a GLM value", kTagged,
     "<tool_call>weather<arg_key>city</arg_key><arg_value>a</arg_value>b</tool_call><arg_key></arg_value></"
     "tool_call>",
     R"(T{weather|{"city": "a</arg_value>b</tool_call><arg_key>"}})"},
    {"Qwen", kTagged,
     "<think>\nr\n</think>\n\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\", "
     "\"days\": 3}}\n</tool_call>",
     R"(R{r}T{weather|{"city": "Rome", "days": 3}})"},
    {"Qwen, two with text between", kTagged,
     "A\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": "
     "\"now\"}\n</tool_call>\nB",
     "C{A}T{now|{}}T{now|{}}C{\nB}"},
    {"the closing tag inside of a string", kTagged,
     R"(<tool_call>{"name": "weather", "arguments": {"city": "</tool_call>}"}}</tool_call>)",
     R"(T{weather|{"city": "</tool_call>}"}})"},
    {"arguments in a string", kTagged, R"(<tool_call>{"name": "now", "arguments": "{\"a\": 1}"}</tool_call>)",
     R"(T{now|{"a": 1}})"},
    {"digits stay", kTagged,
     R"(<tool_call>{"arguments": {"n": 12345678901234567890123, "x": 1.10}, "name": "now"}</tool_call>)",
     R"(T{now|{"n": 12345678901234567890123, "x": 1.10}})"},
    {"a name inside of the arguments", kTagged,
     R"(<tool_call>{"arguments": {"name": "x"}, "name": "now"}</tool_call>)", R"(T{now|{"name": "x"}})"},
    {"no closing tag at the end", kTagged, R"(<tool_call>{"name": "now", "arguments": {}})", "T{now|{}}"},
    {"Qwen3-Coder", kTagged,
     "I "
     "look.\n\n<tool_call>\n<function=weather>\n<parameter=city>\nRome\n\n</"
     "parameter>\n<parameter=days>\n3\n</parameter>\n"
     "<parameter=metric>\nTrue\n</parameter>\n</function>\n</tool_call>",
     R"(C{I look.}T{weather|{"city": "Rome\n", "days": 3, "metric": true}})"},
    {"Qwen3-Coder, tags inside of a value, no end", kTagged,
     "<tool_call><function=weather><parameter=city>a</parameter>b</function></parameter></function>\nB",
     R"(T{weather|{"city": "a</parameter>b</function>"}}C{B})"},
    {"white space after a call at the end", kTagged, "A<tool_call>now</tool_call>\n", "C{A}T{now|{}}"},
    {"white space before content after a call", kTagged, "<tool_call>now</tool_call>\nA", "T{now|{}}C{A}"},
    {"thinking after a call", kTagged, "<tool_call>now</tool_call>\n<think>r</think>A", "T{now|{}}R{r}C{A}"},
    {"Llama", kLlama, R"({"name": "weather", "parameters": {"city": "Rome"}})",
     R"(T{weather|{"city": "Rome"}})"},
    {"Llama with a type", kLlama, R"({"type": "function", "name": "now", "parameters": {}})", "T{now|{}}"},
    {"Llama, two", kLlama,
     R"({"name": "now", "parameters": {}}; {"name": "weather", "parameters": {"days": "3"}})",
     R"(T{now|{}}T{weather|{"days": "3"}})"},
    {"Llama behind its tag", kLlama, R"(<|python_tag|>{"name": "now", "parameters": {}})", "T{now|{}}"},
    {"Llama's own tools", kLlama, R"(<|python_tag|>search.call(query="a \"b\", c", n=3))",
     R"(T{search|{"query": "a \"b\", c", "n": 3}})"},
    {"Llama's code", kLlama, "<|python_tag|>print(1)", "C{<|python_tag|>print(1)}"},
    {"JSON that calls no tool that is known", kLlama, R"({"name": "Rome", "parameters": {}})",
     R"(C{{"name": "Rome", "parameters": {}}})"},
    {"JSON that is an answer", kLlama, R"({"name": "now"} )", R"(C{{"name": "now"} })"},
    {"JSON in the content", kLlama, R"(So: {"name": "now", "parameters": {}})",
     R"(C{So: {"name": "now", "parameters": {}}})"},
    {"text behind Llama's call", kLlama, R"({"name": "now", "parameters": {}} ; so)", "T{now|{}}C{; so}"},
};
INSTANTIATE_TEST_SUITE_P(Calls, AnswerRow, ::testing::ValuesIn(kCallRows));

TEST(AnswerParser, WithoutToolsThereAreNoCalls) {
  EXPECT_EQ(Parse(kTagged, {"<think>r</think><tool_call>now</tool_call>"}, false),
            "R{r}C{<tool_call>now</tool_call>}");
  EXPECT_EQ(Parse(kLlama, {R"({"name": "now", "parameters": {}})"}, false),
            R"(C{{"name": "now", "parameters": {}}})");
}

TEST(AnswerParser, CallsAreNumbered) {
  const ToolSchemas tools = Tools();
  AnswerParser parser(kTagged, &tools, 7);
  std::vector<AnswerPart> parts;
  parser.Push("<tool_call>now</tool_call><tool_call>now</tool_call>", &parts);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].call.id, "call_7");
  EXPECT_EQ(parts[1].call.id, "call_8");
  EXPECT_EQ(parser.next_call(), 9u);
}

TEST(AnswerParser, TextIsGivenAsSoonAsItIsCertain) {
  const ToolSchemas tools = Tools();
  AnswerParser parser(kTagged, &tools);
  const auto push = [&](std::string_view piece) {
    std::vector<AnswerPart> parts;
    parser.Push(piece, &parts);
    std::string text;
    for (const AnswerPart& part : parts) text += part.text;
    return text;
  };
  EXPECT_EQ(push("<think>"), "");
  EXPECT_EQ(push("one two"), "one two");
  EXPECT_EQ(push(" <b></"), " <b>");
  EXPECT_EQ(push("b>"), "</b>");
  EXPECT_EQ(push("</think>\n"), "");
  EXPECT_EQ(push("A<tool_cal"), "A");
  EXPECT_EQ(push("m "), "<tool_calm");
  EXPECT_EQ(push("<tool_call>two words\n"), " <tool_call>two words");
}

// Whatever is written and wherever it is cut: the same parts, nothing lost but tags and white space.
TEST(AnswerParser, StreamedIsWholeWhereverItIsCut) {
  const std::vector<std::string> letters = {
      "<think>",
      "</think>",
      "<tool_call>",
      "</tool_call>",
      "<arg_key>",
      "</arg_key>",
      "<arg_value>",
      "</arg_value>",
      "<function=",
      "weather",
      ">",
      "<parameter=",
      "</parameter>",
      "</function>",
      "city",
      "{\"name\": \"now\", \"arguments\": ",
      "{\"a\": \"",
      "\"}",
      "}",
      "{}",
      "\\",
      "\"",
      " ",
      "\n",
      "A",
      "<",
      "</",
      "\u00E9",
      "now",
      ";",
      "<|python_tag|>",
      ".call(",
      "<tool_call>weather<arg_key>city</arg_key><arg_value>",
      "</arg_value></tool_call>",
      ")",
      "k=",
      ",",
      "<tool_call>{\"name\": \"now\", \"arguments\": {}}\n</tool_call>",
      "{\"name\": \"now\", \"parameters\": {}}",
      "<tool_call>weather\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
      "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>"};
  std::mt19937 random(5);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  int calls = 0, thoughts = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string answer;
    for (size_t n = 1 + below(14); n > 0; --n) answer += letters[below(letters.size())];
    const AnswerFormat format = Format(static_cast<ToolSyntax>(below(3)), static_cast<AnswerStart>(below(3)));
    const std::string whole = Parse(format, answer);
    std::vector<std::string> pieces;
    for (size_t at = 0; at < answer.size();) {
      const size_t size = 1 + below(6);
      pieces.push_back(answer.substr(at, size));
      at += size;
    }
    ASSERT_EQ(Parse(format, pieces), whole) << answer;
    calls += whole.find("T{") != std::string::npos;
    thoughts += whole.find("R{") != std::string::npos;
    // What is no tag is in a part.
    const auto count = [](const std::string& text, char c) {
      return std::count(text.begin(), text.end(), c);
    };
    ASSERT_EQ(count(whole, 'A'), count(answer, 'A')) << answer << " gives " << whole;
  }
  EXPECT_GT(calls, 500);
  EXPECT_GT(thoughts, 2000);
}

TEST(AnswerParser, ALongCallTakesTimeInProportion) {
  std::string answer;
  for (int i = 0; i < 20000; ++i) answer += "<tool_call>weather<arg_key>city</arg_key><arg_value>";
  EXPECT_EQ(Parse(kTagged, answer), "C{" + answer + "}");
}

TEST(ToolSchemas, WhatIsNoListOfToolsIsRefusedByItsPlace) {
  const auto message = [](std::string_view tools) {
    const auto parsed = ToolSchemas::Parse(tools);
    EXPECT_FALSE(parsed.ok()) << tools;
    return parsed.status().message();
  };
  EXPECT_NE(message("").find("tools"), std::string::npos);
  EXPECT_NE(message("{}").find("array"), std::string::npos);
  EXPECT_NE(message("[3]").find("tools[0]"), std::string::npos);
  EXPECT_NE(message(R"([{"name": "f"}, {"function": {"name": 3}}])").find("tools[1].function.name"),
            std::string::npos);
  EXPECT_NE(message(R"([{"function": 3}])").find("tools[0].function"), std::string::npos);
  EXPECT_NE(message(std::string(3000, '[')).find("tools"), std::string::npos);
  EXPECT_TRUE(ToolSchemas::Parse("[]").ok());
  EXPECT_TRUE(
      ToolSchemas::Parse(R"([{"name": "f", "parameters": {"properties": {"a": true, "b": {"$ref": "#"}}}}])")
          .ok());
}

}  // namespace
}  // namespace motley
