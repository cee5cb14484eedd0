// ChatModel: what a chat needs of a model: answers to conversations. An interface, so that the chat can be
// tried without a model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/engine/engine.h"
#include "tools/motley/conversation.h"
#include "tools/motley/interrupt.h"

namespace motley {

// Thinking is shown apart from the answer.
enum class Channel { kAnswer, kReasoning };

// Who is told of an answer as it comes.
struct AnswerSink {
  // A token with all of its text, which may be empty; -1: text alone.
  std::function<void(int32_t token, std::string_view text, Channel channel)> on_piece;
  // Called before each step, so that one knows that there is something to wait for.
  std::function<void()> on_step;
};

struct AnswerOptions {
  std::optional<bool> thinking;  // absent = as the template does by itself
  uint64_t seed = 0;
};

struct AnsweredTurn {
  FinishReason reason = FinishReason::kStop;
  RequestStats stats;
  Turn turn;  // the assistant's
};

class ChatModel {
 public:
  virtual ~ChatModel() = default;
  // The answer to the last message, told piece by piece. It ends early where `interrupt` is set; that is no
  // error. INVALID_ARGUMENT: this conversation can't be answered (too long, a template that refuses it).
  virtual StatusOr<AnsweredTurn> Answer(const Conversation& conversation, const AnswerOptions& options,
                                        Interrupt& interrupt, const AnswerSink& sink) = 0;
  // Tokens that a conversation may have.
  virtual int64_t context() const = 0;
  // Whether the template knows thinking on and off.
  virtual bool can_switch_thinking() const = 0;
};

}  // namespace motley
