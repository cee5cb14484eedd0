#include "tools/motley/chat.h"

#include <utility>

#include "core/base/units.h"
#include "tools/motley/answer_printer.h"
#include "tools/motley/answer_report.h"
#include "tools/motley/launcher.h"
#include "tools/motley/whole_file.h"

namespace motley {
namespace {

constexpr char kStillEnding[] = "\nthe step that is under way has to end; Ctrl-C once more leaves motley\n";

bool IsBlank(const std::string& text) {
  return text.find_first_not_of(" \t\n") == std::string::npos;
}

}  // namespace

Chat::Chat(ChatModel& model, LineReader& reader, History& history, ChatOptions options, Output& out,
           Interrupt& interrupt)
    : model_(model),
      reader_(reader),
      history_(history),
      options_(std::move(options)),
      out_(out),
      interrupt_(interrupt) {
  conversation_.system = options_.system;
}

Status Chat::Run() {
  bool asked_to_leave = false;
  for (;;) {
    const TypedMessage typed = reader_.Read(history_.entries());
    interrupt_.Clear();
    if (interrupt_.terminated()) return CancelledError("interrupted");
    switch (typed.kind) {
      case TypedMessage::kEnd: EndLine(); return OkStatus();
      case TypedMessage::kInterrupt:
        if (!typed.text.empty()) break;
        if (std::exchange(asked_to_leave, true)) return CancelledError("interrupted");
        out_.Note("Ctrl-C again or Ctrl-D leaves; /help lists the commands");
        continue;
      case TypedMessage::kMessage:
        if (!IsBlank(typed.text) && Handle(typed.text) == Next::kLeave) return OkStatus();
        if (interrupt_.terminated()) return CancelledError("interrupted");
        interrupt_.Clear();
        break;
    }
    asked_to_leave = false;
  }
}

// The prompt stands where the next shell's is to be.
void Chat::EndLine() {
  if (out_.stdout_is_terminal()) {
    out_.Print("\n");
  } else {
    out_.NotePart("\n");
  }
}

Chat::Next Chat::Handle(const std::string& text) {
  if (const Status kept = history_.Add(text); !kept.ok()) {
    out_.Note("warning: " + kept.message());
    History in_memory;  // said once
    for (const std::string& entry : history_.entries()) (void)in_memory.Add(entry);
    history_ = std::move(in_memory);
  }
  auto line = ParseChatLine(text);
  if (!line.ok()) {
    out_.Note(line.status().message());
    return Next::kGoOn;
  }
  if (line->command != nullptr) return RunCommand(*line);
  conversation_.turns.push_back({"user", std::move(line->message), "", {}});
  Answer();
  return Next::kGoOn;
}

Chat::Next Chat::RunCommand(const ChatLine& line) {
  Status status;
  switch (line.command->action) {
    case ChatAction::kHelp: out_.Print(ChatHelp(out_.terminal_can_edit(), out_.columns())); break;
    case ChatAction::kSystem: System(line.argument); break;
    case ChatAction::kReset: Reset(); break;
    case ChatAction::kRetry: Retry(); break;
    case ChatAction::kSave: status = Save(line.argument, line.force); break;
    case ChatAction::kLoad: status = Load(line.argument); break;
    case ChatAction::kThinking: Thinking(line.argument); break;
    case ChatAction::kStats: Stats(); break;
    case ChatAction::kExit: return Next::kLeave;
  }
  if (!status.ok()) out_.Note(status.message());
  return Next::kGoOn;
}

void Chat::System(const std::string& text) {
  if (text.empty()) {
    out_.Note(conversation_.system.empty() ? "no system message; /system TEXT sets one"
                                           : "system message: " + conversation_.system);
    return;
  }
  conversation_.system = text == "-" ? "" : text;
  out_.Note(conversation_.system.empty() ? "the system message is gone" : "the system message is set");
}

void Chat::Reset() {
  conversation_.turns.clear();
  last_.reset();
  out_.Note("the conversation begins anew");
}

void Chat::Retry() {
  std::vector<Turn>& turns = conversation_.turns;
  const std::vector<Turn> before = turns;
  while (!turns.empty() && turns.back().role != "user") turns.pop_back();
  if (turns.empty()) {
    turns = before;
    out_.Note("there is no message to answer again");
    return;
  }
  ++options_.seed;
  Answer();
  if (turns.empty() || turns.back().role != "assistant") turns = before;  // nothing came of it
}

Status Chat::Save(std::string file, bool overwrite) {
  if (conversation_.turns.empty()) return InvalidArgumentError("/save: there is nothing to save yet");
  if (file.empty() && file_.empty()) return InvalidArgumentError("/save: to which file? Write /save FILE");
  file = file.empty() ? file_ : ExpandHome(file);
  const Status written = WriteWholeFile(file, ConversationJson(conversation_), overwrite || file == file_);
  if (written.code() == Code::kFailedPrecondition)
    return FailedPreconditionError(written.message() + "; /save! " + file + " replaces it");
  MOTLEY_RETURN_IF_ERROR(written);
  file_ = file;
  out_.Note("saved " + std::to_string(conversation_.turns.size()) + " messages to " + file);
  return OkStatus();
}

Status Chat::Load(const std::string& file) {
  if (file.empty()) return InvalidArgumentError("/load: which file? Write /load FILE");
  const std::string path = ExpandHome(file);
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostConversationBytes));
  MOTLEY_ASSIGN_OR_RETURN(conversation_, ParseConversation(text, path));
  file_ = path;
  last_.reset();
  out_.Note(std::to_string(conversation_.turns.size()) + " messages of " + path);
  return OkStatus();
}

void Chat::Thinking(const std::string& word) {
  if (!word.empty()) options_.thinking = word == "on";
  const std::string state = !options_.thinking   ? "as the template does by itself"
                            : *options_.thinking ? "on"
                                                 : "off";
  out_.Note("thinking: " + state +
            (model_.can_switch_thinking()
                 ? ""
                 : "; the model's template has no such switch, so it changes nothing"));
}

void Chat::Stats() {
  if (!last_) {
    out_.Note("no answer yet; the context holds " + std::to_string(model_.context()) + " tokens");
    return;
  }
  const RequestStats& stats = last_->stats;
  out_.Note(StatsLine(stats, {}) +
            "\ncontext: " + std::to_string(stats.prompt_tokens + stats.completion_tokens) + " of " +
            std::to_string(model_.context()) + " tokens");
}

void Chat::Answer() {
  interrupt_.WarnFirst(kStillEnding);
  AnswerPrinter printer(out_, interrupt_);
  auto answer = model_.Answer(conversation_, {options_.thinking, options_.seed}, interrupt_, printer.Sink());
  printer.End();
  interrupt_.WarnFirst("");
  if (!answer.ok()) {
    out_.Complain(answer.status());
    if (answer.status().code() == Code::kInvalidArgument)
      out_.Note("the message was taken back; /reset begins anew");
  } else {
    TellEnd(*answer);
    if (!answer->turn.content.empty() || !answer->turn.reasoning.empty()) {
      conversation_.turns.push_back(answer->turn);
      last_ = *std::move(answer);
      return;
    }
  }
  conversation_.turns.pop_back();
}

void Chat::TellEnd(const AnsweredTurn& answer) {
  const uint64_t used = answer.stats.prompt_tokens + answer.stats.completion_tokens;
  if (answer.reason == FinishReason::kCancelled) out_.Note("(interrupted)");
  if (answer.reason == FinishReason::kLength)
    out_.Note(used >= static_cast<uint64_t>(model_.context()) ? "(the context is full: /reset begins anew)"
                                                              : "(cut off by --max-tokens)");
  if (answer.reason == FinishReason::kStop && answer.turn.content.empty() && answer.turn.reasoning.empty())
    out_.Note("(the model said nothing)");
  if (options_.stats) out_.Note(StatsLine(answer.stats, {}));
}

}  // namespace motley
