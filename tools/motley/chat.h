// Chat: a conversation on a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "tools/motley/chat_commands.h"
#include "tools/motley/chat_model.h"
#include "tools/motley/conversation.h"
#include "tools/motley/history.h"
#include "tools/motley/line_reader.h"
#include "tools/motley/output.h"

namespace motley {

struct ChatOptions {
  std::string system;  // "" = none
  std::optional<bool> thinking;
  uint64_t seed = 0;
  bool stats = false;  // behind every answer
};

class Chat {
 public:
  // Everything that is handed in must outlive the chat.
  Chat(ChatModel& model, LineReader& reader, History& history, ChatOptions options, Output& out,
       Interrupt& interrupt);

  // Until its user leaves. Whatever goes wrong with a message or a command is told and the chat goes on.
  // CANCELLED: left by Ctrl-C, or ended by a signal.
  Status Run();

 private:
  enum class Next { kGoOn, kLeave };

  void EndLine();
  Next Handle(const std::string& text);
  Next RunCommand(const ChatLine& line);
  void System(const std::string& text);
  void Reset();
  void Retry();
  Status Save(std::string file, bool overwrite);
  Status Load(const std::string& file);
  void Thinking(const std::string& word);
  void Stats();
  // Answers the conversation as it stands; where there is none, the last message is taken back.
  void Answer();
  void TellEnd(const AnsweredTurn& answer);

  ChatModel& model_;
  LineReader& reader_;
  History& history_;
  ChatOptions options_;
  Output& out_;
  Interrupt& interrupt_;
  Conversation conversation_;
  std::string file_;  // saved to or loaded from, "" = none
  std::optional<AnsweredTurn> last_;
};

}  // namespace motley
