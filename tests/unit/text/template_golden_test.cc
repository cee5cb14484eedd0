// The interpreter of chat templates against Python's jinja2 (tests/golden/templates, made by make.py there): small
// templates, one a rule, and templates like those of public model families over conversations.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "core/text/chat_template.h"

namespace motley {
namespace {

namespace json = boost::json;

std::string ReadFile(const std::string& name) {
  std::ifstream file(std::string(MOTLEY_TEMPLATE_FOLDER) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

json::array ReadRows(const std::string& name) {
  const std::string text = ReadFile(name);
  EXPECT_FALSE(text.empty()) << name;
  return json::parse(text).as_array();
}

std::string Field(const json::object& row, std::string_view name) { return std::string(row.at(name).as_string()); }

StatusOr<std::string> RenderOnce(const std::string& source, const ChatInput& input) {
  MOTLEY_ASSIGN_OR_RETURN(const ChatTemplate parsed, ChatTemplate::Parse(source, "snippet"));
  MOTLEY_ASSIGN_OR_RETURN(const auto segments, parsed.Render(input));
  return TextOf(segments);
}

TEST(TemplateGolden, SmallTemplatesGiveWhatJinjaGives) {
  ChatInput input;
  ASSERT_TRUE(input.SetVariables(ReadFile("snippets_context.json")).ok());
  int texts = 0, refusals = 0;
  for (const json::value& value : ReadRows("snippets.json")) {
    const json::object& row = value.as_object();
    const std::string source = Field(row, "template");
    const auto text = RenderOnce(source, input);
    if (row.contains("error")) {
      if (text.ok()) {
        ADD_FAILURE() << source << "\n gave: " << *text << "\n though Jinja refuses it";
        continue;
      }
      EXPECT_EQ(text.status().code(), Code::kInvalidArgument) << source << ": " << text.status().ToString();
      ++refusals;
    } else if (!text.ok()) {
      ADD_FAILURE() << source << "\n " << text.status().ToString();
    } else {
      EXPECT_EQ(*text, Field(row, "text")) << source;
      ++texts;
    }
  }
  EXPECT_GT(texts, 150);
  EXPECT_GT(refusals, 200);
}

ChatInput InputOf(const json::object& conversation) {
  ChatInput input;
  EXPECT_TRUE(input.SetMessages(json::serialize(conversation.at("messages"))).ok());
  if (conversation.contains("tools")) {
    EXPECT_TRUE(input.SetTools(json::serialize(conversation.at("tools"))).ok());
  }
  if (conversation.contains("vars")) {
    EXPECT_TRUE(input.SetVariables(json::serialize(conversation.at("vars"))).ok());
  }
  if (conversation.contains("add_generation_prompt")) {
    input.add_generation_prompt = conversation.at("add_generation_prompt").as_bool();
  }
  return input;
}

TEST(TemplateGolden, TemplatesOfPublicFamiliesGiveWhatJinjaGives) {
  std::map<std::string, ChatInput> inputs;
  for (const json::value& value : ReadRows("conversations.json")) {
    const json::object& conversation = value.as_object();
    inputs.emplace(Field(conversation, "name"), InputOf(conversation));
  }
  EXPECT_GE(inputs.size(), 20u);
  int equal = 0, refused = 0, prepared = 0;
  for (const json::value& value : ReadRows("prompts.json")) {
    const json::object& row = value.as_object();
    const std::string place = Field(row, "template") + " over " + Field(row, "conversation");
    const auto text = RenderOnce(ReadFile(Field(row, "template")), inputs.at(Field(row, "conversation")));
    const json::array none;
    const json::array& others = row.contains("prepared") ? row.at("prepared").as_array() : none;
    if (text.ok() && row.contains("text") && *text == Field(row, "text")) {
      ++equal;
    } else if (text.ok() && std::find(others.begin(), others.end(), json::value(*text)) != others.end()) {
      ++prepared;
    } else if (text.ok()) {
      EXPECT_EQ(*text, row.contains("text") ? Field(row, "text") : "(Jinja refuses it)") << place;
    } else {
      // An image where a template takes text: Jinja writes the list into the prompt.
      const bool as_list = row.contains("text") && Field(row, "text").find("[{'type': ") != std::string::npos &&
                           text.status().message().find("takes text alone") != std::string::npos;
      EXPECT_TRUE(row.contains("error") || as_list) << place << ": " << text.status().ToString();
      ++refused;
    }
  }
  EXPECT_GT(equal, 250);
  EXPECT_GT(refused, 5);
  EXPECT_GT(prepared, 3);
}

}  // namespace
}  // namespace motley
