// EngineChatModel: the ChatModel of an engine that is loaded, with the sampling of the configuration.
#pragma once

#include "core/engine/config.h"
#include "tools/motley/chat_model.h"
#include "tools/motley/prompter.h"

namespace motley {

// The engine must outlive it.
class EngineChatModel final : public ChatModel {
 public:
  EngineChatModel(Engine& engine, Prompter prompter, const Config& config);

  StatusOr<AnsweredTurn> Answer(const Conversation& conversation, const AnswerOptions& options,
                                Interrupt& interrupt, const AnswerSink& sink) override;
  int64_t context() const override { return engine_.context(); }
  bool can_switch_thinking() const override { return false; }

 private:
  Engine& engine_;
  Prompter prompter_;
  Config::Sampling sampling_;
};

// What the configuration says of sampling, as the engine takes it.
Request MakeRequest(const Config::Sampling& sampling, std::vector<int32_t> prompt, uint64_t seed);

}  // namespace motley
