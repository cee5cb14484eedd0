#include "tools/motley/conversation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"
#include "tools/motley/whole_file.h"

namespace motley {
namespace {

TEST(Conversation, IsJsonMessagesOneALine) {
  Conversation conversation;
  conversation.system = "Be \"brief\".";
  conversation.turns = {{"user", "line\nline\xFF", "", {}}, {"assistant", "yes", "hm", {}}};
  EXPECT_EQ(ConversationJson(conversation),
            "[{\"role\":\"system\",\"content\":\"Be \\\"brief\\\".\"},\n"
            " {\"role\":\"user\",\"content\":\"line\\nline\xEF\xBF\xBD\"},\n"
            " {\"role\":\"assistant\",\"content\":\"yes\",\"reasoning_content\":\"hm\"}]\n");
  EXPECT_EQ(ConversationJson({}), "[]\n");
}

TEST(Conversation, ComesBackWithAllThatAMessageHeld) {
  const std::string json =
      "[{\"role\":\"system\",\"content\":\"s\"},\n"
      " {\"role\":\"user\",\"content\":\"u\"},\n"
      " {\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"call_0\",\"type\":\"function\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\n"
      " {\"role\":\"tool\",\"content\":\"r\",\"tool_call_id\":\"call_0\"},\n"
      " {\"role\":\"assistant\",\"content\":\"a\",\"reasoning_content\":\"hm\"}]\n";
  const auto conversation = ParseConversation(json, "chat.json");
  ASSERT_TRUE(conversation.ok()) << conversation.status().message();
  EXPECT_EQ(conversation->system, "s");
  ASSERT_EQ(conversation->turns.size(), 4u);
  EXPECT_EQ(conversation->turns[3].reasoning, "hm");
  EXPECT_EQ(ConversationJson(*conversation), json);
  EXPECT_TRUE(ParseConversation("{\"model\":\"x\",\"messages\":[]}", "request.json").ok());
  EXPECT_TRUE(ParseConversation("[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[]}]", "c").ok());
}

TEST(Conversation, WhatIsNoneIsRefusedByName) {
  const struct {
    const char* json;
    const char* says;
  } rows[] = {
      {"", "chat.json: is no JSON"},
      {"[", "chat.json: is no JSON"},
      {"\"text\"", "must be a list of messages"},
      {"{\"messages\":1}", "must be a list of messages"},
      {"[1]", "messages[0]: must be an object"},
      {"[{\"role\":\"user\",\"content\":1}]", "messages[0].content: must be a text"},
      {"[{\"content\":\"x\"}]", "messages[0].role = \"\""},
      {"[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"system\",\"content\":\"x\"}]",
       "messages[1].role = \"system\""},
  };
  for (const auto& row : rows) {
    const auto conversation = ParseConversation(row.json, "chat.json");
    ASSERT_FALSE(conversation.ok()) << row.json;
    EXPECT_EQ(conversation.status().code(), Code::kInvalidArgument);
    EXPECT_NE(conversation.status().message().find(row.says), std::string::npos)
        << conversation.status().message();
  }
  EXPECT_FALSE(ParseConversation(std::string(1 << 20, '['), "deep").ok());
}

TEST(WriteWholeFile, IsWholeOrNotThereAndAsksBeforeItReplaces) {
  const test::TempDir dir;
  const auto read = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string path = (dir.path() / "file").string();
  ASSERT_TRUE(WriteWholeFile(path, "one", false).ok());
  EXPECT_EQ(read(path), "one");
  EXPECT_EQ(WriteWholeFile(path, "two", false).code(), Code::kFailedPrecondition);
  EXPECT_EQ(read(path), "one");
  ASSERT_TRUE(WriteWholeFile(path, "two", true).ok());
  EXPECT_EQ(read(path), "two");
  EXPECT_EQ(WriteWholeFile(dir.path().string(), "x", true).code(), Code::kInvalidArgument);
  EXPECT_EQ(WriteWholeFile("/dev/null", "x", true).code(), Code::kInvalidArgument);
  EXPECT_EQ(WriteWholeFile(path + "/below", "x", true).code(), Code::kInvalidArgument);
  EXPECT_EQ(WriteWholeFile("/dev/full", "x", true).code(), Code::kInvalidArgument);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) files += entry.is_regular_file();
  EXPECT_EQ(files, 1u);  // nothing unfinished is left
}

}  // namespace
}  // namespace motley
