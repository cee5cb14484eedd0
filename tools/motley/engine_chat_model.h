// EngineChatModel: the ChatModel of an engine that is loaded, with the sampling of the configuration.
#pragma once

#include <optional>

#include "core/engine/chat.h"
#include "core/engine/config.h"
#include "tools/motley/chat_model.h"

namespace motley {

// The engine must outlive it.
class EngineChatModel final : public ChatModel {
 public:
  // prompter: absent = raw, the last turn's text as it is, and the answer as it comes.
  EngineChatModel(Engine& engine, std::optional<ChatPrompter> prompter, const Config& config);

  StatusOr<AnsweredTurn> Answer(const Conversation& conversation, const AnswerOptions& options,
                                Interrupt& interrupt, const AnswerSink& sink) override;
  int64_t context() const override { return engine_.context(); }
  bool can_switch_thinking() const override { return session_ && session_->prompter().can_switch_thinking(); }

 private:
  StatusOr<AnsweredTurn> AnswerRaw(const Conversation& conversation, Request request, Interrupt& interrupt,
                                   const AnswerSink& sink);

  Engine& engine_;
  std::optional<ChatSession> session_;
  Config::Sampling sampling_;
};

// What the configuration says of sampling, as the engine takes it; without a prompt.
Request MakeRequest(const Config::Sampling& sampling, uint64_t seed);

}  // namespace motley
