#include "tools/motley/chat_commands.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/temp_dir.h"

namespace motley {
namespace {

TEST(ParseChatLine, TellsMessagesFromCommands) {
  const struct {
    const char* typed;
    const char* command;  // "" = a message
    const char* rest;     // the argument, or the message
  } rows[] = {
      {"hello", "", "hello"},
      {"a /help b", "", "a /help b"},
      {"//help", "", "/help"},
      {"  //x", "", "  /x"},
      {"/help", "/help", ""},
      {"  /help  ", "/help", ""},
      {"/system Be brief.\nAnd kind.", "/system", "Be brief.\nAnd kind."},
      {"/save  a file.json ", "/save", "a file.json"},
      {"/quit", "/quit", ""},
      {"/thinking off", "/thinking", "off"},
  };
  for (const auto& row : rows) {
    const auto line = ParseChatLine(row.typed);
    ASSERT_TRUE(line.ok()) << row.typed << line.status().message();
    EXPECT_EQ(line->command == nullptr ? "" : line->command->name, row.command) << row.typed;
    EXPECT_EQ(line->command == nullptr ? line->message : line->argument, row.rest) << row.typed;
    EXPECT_FALSE(line->force);
  }
  const auto forced = ParseChatLine("/save! x");
  ASSERT_TRUE(forced.ok());
  EXPECT_TRUE(forced->force);
  EXPECT_EQ(forced->command->action, ChatAction::kSave);
}

TEST(ParseChatLine, RefusesWithAHint) {
  const struct {
    const char* typed;
    const char* says;
  } rows[] = {
      {"/hepl", "did you mean \"/help\"?"},
      {"/xyzzy", "/help lists them"},
      {"/usr/bin/x is odd", "is typed with //"},
      {"/help me", "takes nothing"},
      {"/thinking perhaps", "must be on or off"},
      {"/", "/help lists them"},
      {"/help!", "no command"},
      {"/\x1b[2J", "\\x1b[2J"},
  };
  for (const auto& row : rows) {
    const auto line = ParseChatLine(row.typed);
    ASSERT_FALSE(line.ok()) << row.typed;
    EXPECT_NE(line.status().message().find(row.says), std::string::npos) << line.status().message();
  }
}

TEST(ChatHelp, NamesEveryCommand) {
  const std::string help = ChatHelp(true, 0);
  for (const ChatCommand& command : ChatCommands()) {
    if (command.usage.empty()) continue;
    EXPECT_NE(help.find(command.usage), std::string::npos) << command.usage;
  }
  EXPECT_NE(help.find("Alt-Enter"), std::string::npos);
  EXPECT_EQ(ChatHelp(false, 0).find("Alt-Enter"), std::string::npos);
}

TEST(CompleteChatLine, CompletesNamesAndFilesAsFarAsTheyAreCertain) {
  const test::TempDir dir;
  dir.Write("chat one.json", "");
  dir.Write("chat two.json", "");
  dir.Write("folder/inside.json", "");
  dir.Write("evil\x1b[2J", "");
  const std::string at = dir.path().string() + "/";
  EXPECT_EQ(CompleteChatLine("/sy"), "/system ");
  EXPECT_EQ(CompleteChatLine("/s"), "/s");  // system, save, stats
  EXPECT_EQ(CompleteChatLine("/st"), "/stats");
  EXPECT_EQ(CompleteChatLine("/r"), "/re");
  EXPECT_EQ(CompleteChatLine("/nothing"), "/nothing");
  EXPECT_EQ(CompleteChatLine("hello"), "hello");
  EXPECT_EQ(CompleteChatLine(""), "");
  EXPECT_EQ(CompleteChatLine("/load " + at + "ch"), "/load " + at + "chat ");
  EXPECT_EQ(CompleteChatLine("/load " + at + "chat o"), "/load " + at + "chat one.json");
  EXPECT_EQ(CompleteChatLine("/save! " + at + "fo"), "/save! " + at + "folder/");
  EXPECT_EQ(CompleteChatLine("/load " + at + "ev"), "/load " + at + "ev");  // nothing that a terminal obeys
  EXPECT_EQ(CompleteChatLine("/load " + at + "none/x"), "/load " + at + "none/x");
  EXPECT_EQ(CompleteChatLine("/system " + at + "ch"), "/system " + at + "ch");  // a text, no file
}

TEST(ExpandHome, AsTheShellWould) {
  const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  setenv("HOME", "/h", 1);
  EXPECT_EQ(ExpandHome("~/x"), "/h/x");
  EXPECT_EQ(ExpandHome("~"), "/h");
  EXPECT_EQ(ExpandHome("~x"), "~x");
  EXPECT_EQ(ExpandHome("a/~/x"), "a/~/x");
  setenv("HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace motley
