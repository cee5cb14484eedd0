#include "tools/motley/chat_commands.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/base/suggest.h"
#include "core/model/printable.h"
#include "core/text/utf8.h"
#include "tools/motley/output.h"

namespace motley {
namespace {

constexpr ChatCommand kCommands[] = {
    {"/help", ChatAction::kHelp, ChatArgument::kNone, "/help", "this page"},
    {"/system", ChatAction::kSystem, ChatArgument::kText, "/system TEXT",
     "what the model is told before the conversation, from now on; without TEXT shows it, /system - takes it "
     "away"},
    {"/reset", ChatAction::kReset, ChatArgument::kNone, "/reset", "begins anew; the system message stays"},
    {"/retry", ChatAction::kRetry, ChatArgument::kNone, "/retry",
     "answers the last message again; another answer needs a --temperature above 0"},
    {"/save", ChatAction::kSave, ChatArgument::kFile, "/save FILE",
     "writes the conversation as JSON messages; /save! FILE replaces a file, /save alone the one saved "
     "before"},
    {"/load", ChatAction::kLoad, ChatArgument::kFile, "/load FILE",
     "goes on with a conversation that was saved"},
    {"/thinking", ChatAction::kThinking, ChatArgument::kOnOff, "/thinking on|off",
     "whether the model thinks first, where its template knows that"},
    {"/stats", ChatAction::kStats, ChatArgument::kNone, "/stats",
     "speed of the last answer, and the context used"},
    {"/exit", ChatAction::kExit, ChatArgument::kNone, "/exit", "leaves; so does Ctrl-D"},
    {"/quit", ChatAction::kExit, ChatArgument::kNone, "", ""},  // other names of /exit, not listed
    {"/bye", ChatAction::kExit, ChatArgument::kNone, "", ""},
};

std::string Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1));
}

std::vector<std::string> ListedNames() {
  std::vector<std::string> names;
  for (const ChatCommand& command : kCommands) {
    if (!command.usage.empty()) names.emplace_back(command.name);
  }
  return names;
}

Status Unknown(const std::string& word) {
  std::string hint = DidYouMean(word, ListedNames());
  if (hint.empty()) hint = "; /help lists them";
  return InvalidArgumentError("no command \"" + Printable(word, 40) + "\"" + hint +
                              " (a message that begins with / is typed with //)");
}

Status CheckArgument(const ChatCommand& command, const std::string& argument) {
  const std::string name(command.name);
  switch (command.argument) {
    case ChatArgument::kNone:
      if (!argument.empty()) return InvalidArgumentError(name + " takes nothing behind it");
      return OkStatus();
    case ChatArgument::kOnOff:
      if (!argument.empty() && argument != "on" && argument != "off")
        return InvalidArgumentError(name + " " + Printable(argument, 40) + ": must be on or off");
      return OkStatus();
    case ChatArgument::kText:
    case ChatArgument::kFile: return OkStatus();
  }
  return OkStatus();
}

// What all of them begin with.
std::string CommonBeginning(const std::vector<std::string>& texts) {
  if (texts.empty()) return "";
  std::string common = texts[0];
  for (const std::string& text : texts) {
    const auto differs = std::mismatch(common.begin(), common.end(), text.begin(), text.end());
    common.erase(differs.first, common.end());
  }
  // Not into a character.
  while (!IsUtf8(common)) common.pop_back();
  return common;
}

std::string CompleteCommand(const std::string& before) {
  std::vector<std::string> found;
  for (const std::string& name : ListedNames()) {
    if (name.rfind(before, 0) != 0) continue;
    const auto command = std::find_if(std::begin(kCommands), std::end(kCommands),
                                      [&](const ChatCommand& row) { return row.name == name; });
    found.push_back(name + (command->argument == ChatArgument::kNone ? "" : " "));
  }
  return found.empty() ? before : CommonBeginning(found);
}

std::string CompleteFile(const std::string& typed) {
  const size_t slash = typed.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
  const std::string beginning = typed.substr(folder.size());
  std::vector<std::string> found;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(folder.empty() ? "." : ExpandHome(folder), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.rfind(beginning, 0) != 0 || (beginning.empty() && name[0] == '.')) continue;
    if (Printable(name, name.size() + 1) != name) continue;  // nothing that a terminal would obey
    std::error_code ignored;
    found.push_back(folder + name + (entry->is_directory(ignored) ? "/" : ""));
  }
  return found.empty() ? typed : CommonBeginning(found);
}

}  // namespace

std::span<const ChatCommand> ChatCommands() {
  return kCommands;
}

StatusOr<ChatLine> ParseChatLine(const std::string& text) {
  ChatLine line;
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string::npos || text[begin] != '/') {
    line.message = text;
    return line;
  }
  if (text.compare(begin, 2, "//") == 0) {
    line.message = text.substr(0, begin) + text.substr(begin + 1);
    return line;
  }
  const size_t end = std::min(text.find_first_of(" \t\n", begin), text.size());
  std::string word = text.substr(begin, end - begin);
  line.argument = Trimmed(std::string_view(text).substr(end));
  if (word == "/save!") {
    line.force = true;
    word.pop_back();
  }
  for (const ChatCommand& command : kCommands) {
    if (command.name == word) line.command = &command;
  }
  if (line.command == nullptr) return Unknown(word);
  MOTLEY_RETURN_IF_ERROR(CheckArgument(*line.command, line.argument));
  return line;
}

std::string ChatHelp(bool with_editor, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const ChatCommand& command : kCommands) {
    if (!command.usage.empty()) rows.push_back({std::string(command.usage), std::string(command.doc)});
  }
  rows.push_back({"//TEXT", "a message that begins with one /"});
  rows.push_back({"TEXT\\", "a backslash at a line's end: the message goes on"});
  rows.push_back({"\"\"\"TEXT\"\"\"", "a message of many lines"});
  rows.push_back({"Ctrl-C", "ends an answer, or clears the line; twice on an empty line leaves"});
  if (with_editor) {
    rows.push_back({"Alt-Enter", "a new line in the message; pasted lines are one message too"});
    rows.push_back({"Up, Ctrl-R", "earlier messages, searching them"});
  }
  return FormatTable(rows, width);
}

std::string CompleteChatLine(const std::string& before) {
  if (before.empty() || before[0] != '/' || before.find('\n') != std::string::npos) return before;
  const size_t blank = before.find(' ');
  if (blank == std::string::npos) return CompleteCommand(before);
  const auto line = ParseChatLine(before.substr(0, blank));
  if (!line.ok() || line->command == nullptr || line->command->argument != ChatArgument::kFile) return before;
  const size_t file = before.find_first_not_of(' ', blank);
  if (file == std::string::npos) return before;
  return before.substr(0, file) + CompleteFile(before.substr(file));
}

std::string ExpandHome(const std::string& path) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || (path != "~" && path.rfind("~/", 0) != 0)) return path;
  return home + path.substr(1);
}

}  // namespace motley
