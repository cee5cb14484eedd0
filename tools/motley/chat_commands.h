// What begins with a slash in a chat. Pure functions but for CompleteChatLine, which looks at file names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace motley {

enum class ChatAction { kHelp, kSystem, kReset, kRetry, kSave, kLoad, kStats, kThinking, kExit };

enum class ChatArgument { kNone, kText, kFile, kOnOff };

struct ChatCommand {
  std::string_view name;  // "/save"
  ChatAction action;
  ChatArgument argument;
  std::string_view usage;  // "/save FILE"
  std::string_view doc;
};

std::span<const ChatCommand> ChatCommands();

struct ChatLine {
  const ChatCommand* command = nullptr;  // nullptr: a message
  std::string argument;                  // of the command, blanks around it left out; "" = none
  bool force = false;                    // "/save! FILE"
  std::string message;
};

// A message that is to begin with a slash is typed with two. INVALID_ARGUMENT says what was meant, or what is
// missing.
StatusOr<ChatLine> ParseChatLine(const std::string& text);

// A page for /help, `width` columns wide; 0 = as wide as it is.
std::string ChatHelp(bool with_editor, size_t width);

// For Tab: `before`, longer by what can only follow: a command's name, a file's.
std::string CompleteChatLine(const std::string& before);

// "~/x" as the shell would take it.
std::string ExpandHome(const std::string& path);

}  // namespace motley
