// Public chat templates over conversations of our own: every prompt is the one that Python's jinja2 makes, and where
// that raises, ours is an error (public_templates.py fetches the templates and asks jinja2).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "core/text/chat_template.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_dir.h"

namespace motley {
namespace {

namespace json = boost::json;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Field(const json::object& row, std::string_view name) { return std::string(row.at(name).as_string()); }

// A conversation as the files and flags of motley render.
struct Conversation {
  std::string messages, tools, vars;
  bool generation_prompt = true;
};

std::map<std::string, Conversation> ReadConversations() {
  std::map<std::string, Conversation> all;
  const std::string text = ReadFile(std::string(MOTLEY_SOURCE_DIR) + "/tests/golden/templates/conversations.json");
  const json::value parsed = json::parse(text);
  for (const json::value& value : parsed.as_array()) {
    const json::object& row = value.as_object();
    Conversation c;
    c.messages = json::serialize(row.at("messages"));
    if (row.contains("tools")) c.tools = json::serialize(row.at("tools"));
    if (row.contains("vars")) c.vars = json::serialize(row.at("vars"));
    if (row.contains("add_generation_prompt")) c.generation_prompt = row.at("add_generation_prompt").as_bool();
    all.emplace(Field(row, "name"), std::move(c));
  }
  return all;
}

StatusOr<std::string> RenderHere(const StatusOr<ChatTemplate>& parsed, const Conversation& c) {
  if (!parsed.ok()) return parsed.status();
  ChatInput input;
  MOTLEY_RETURN_IF_ERROR(input.SetMessages(c.messages));
  if (!c.tools.empty()) MOTLEY_RETURN_IF_ERROR(input.SetTools(c.tools));
  if (!c.vars.empty()) MOTLEY_RETURN_IF_ERROR(input.SetVariables(c.vars));
  input.add_generation_prompt = c.generation_prompt;
  MOTLEY_ASSIGN_OR_RETURN(const auto segments, parsed->Render(input));
  return TextOf(segments);
}

StatusOr<std::string> RenderByCommand(const test::TempDir& dir, const std::string& path, const Conversation& c) {
  std::vector<std::string> command = {MOTLEY_LAUNCHER, "render", "--template", path, "--messages", dir.Write("messages.json", c.messages)};
  if (!c.tools.empty()) command.insert(command.end(), {"--tools", dir.Write("tools.json", c.tools)});
  if (!c.vars.empty()) command.insert(command.end(), {"--vars", c.vars});
  if (!c.generation_prompt) command.push_back("--no-generation-prompt");
  const test::ChildResult result = test::RunChild(command);
  if (result.exit_code == 0) return result.out;
  EXPECT_EQ(result.exit_code, 2) << path << ": " << result.err;
  return InvalidArgumentError(result.err);
}

// How a rendering stands to jinja2's.
enum class Verdict { kEqual, kBothRefuse, kPrepared, kNoImage, kDiffers };

Verdict Judge(const StatusOr<std::string>& text, const json::object& row) {
  const bool jinja_has = row.contains("text");
  if (!text.ok()) {
    if (!jinja_has) return Verdict::kBothRefuse;
    // An image where a template takes text: jinja2 writes the list into the prompt.
    const bool as_list = Field(row, "text").find("[{'type': ") != std::string::npos;
    return as_list && text.status().message().find("takes text alone") != std::string::npos ? Verdict::kNoImage : Verdict::kDiffers;
  }
  if (jinja_has && *text == Field(row, "text")) return Verdict::kEqual;
  // Content null or a list, arguments as text, changed into what the template knows.
  const json::array& prepared = row.at("prepared").as_array();
  return std::find(prepared.begin(), prepared.end(), json::value(*text)) != prepared.end() ? Verdict::kPrepared : Verdict::kDiffers;
}

TEST(PublicTemplates, EveryPromptIsTheOneThatJinja2Makes) {
  const test::TempDir dir;
  const std::string rows = (dir.path() / "rows.jsonl").string();
  const std::string script = std::string(MOTLEY_SOURCE_DIR) + "/tests/integration/public_templates.py";
  if (std::system(("python3 '" + script + "' '" + rows + "'").c_str()) != 0) {
    GTEST_SKIP() << "skipped: the public templates or jinja2 could not be fetched (the script says why above)";
  }
  const std::map<std::string, Conversation> conversations = ReadConversations();
  int counts[5] = {}, by_command[5] = {}, templates = 0;
  size_t turn = 0;
  std::string path;
  std::optional<StatusOr<ChatTemplate>> parsed;
  std::ifstream lines(rows);
  for (std::string line; std::getline(lines, line);) {
    const json::object row = json::parse(line).as_object();
    if (Field(row, "template") != path) {
      path = Field(row, "template");
      parsed.emplace(ChatTemplate::Parse(ReadFile(path), path));
      ++templates;
      turn = 0;
    }
    const Conversation& conversation = conversations.at(Field(row, "conversation"));
    const StatusOr<std::string> text = RenderHere(*parsed, conversation);
    const Verdict verdict = Judge(text, row);
    ++counts[static_cast<int>(verdict)];
    EXPECT_NE(verdict, Verdict::kDiffers) << path << " over " << Field(row, "conversation") << "\n ours: "
                                          << (text.ok() ? *text : text.status().message()) << "\n jinja2's: "
                                          << (row.contains("text") ? Field(row, "text") : Field(row, "error"));
    // The command itself: each template once, over one conversation and another.
    if (turn++ != static_cast<size_t>(templates) % conversations.size()) continue;
    const Verdict command = Judge(RenderByCommand(dir, path, conversation), row);
    ++by_command[static_cast<int>(command)];
    EXPECT_EQ(command, verdict) << path << " over " << Field(row, "conversation") << " by motley render";
  }
  std::printf("%d templates x %zu conversations: %d equal, %d refused by both, %d with a form changed, %d with an image refused, "
              "%d differ; by motley render %d equal, %d refused by both\n",
              templates, conversations.size(), counts[0], counts[1], counts[2], counts[3], counts[4], by_command[0], by_command[1]);
  EXPECT_GE(templates, 60);
  EXPECT_GE(conversations.size(), 20u);
  EXPECT_GT(counts[0], templates * 20);
}

}  // namespace
}  // namespace motley
