#include "tools/motley/engine_chat_model.h"

#include <utility>

#include "tools/motley/answer.h"

namespace motley {

EngineChatModel::EngineChatModel(Engine& engine, Prompter prompter, const Config& config)
    : engine_(engine), prompter_(std::move(prompter)), sampling_(config.sampling) {}

StatusOr<AnsweredTurn> EngineChatModel::Answer(const Conversation& conversation, const AnswerOptions& options,
                                               Interrupt& interrupt, const AnswerSink& sink) {
  MOTLEY_ASSIGN_OR_RETURN(std::vector<int32_t> prompt, prompter_.Encode(conversation, engine_.tokenizer()));
  AnsweredTurn answered;
  answered.turn.role = "assistant";
  const auto on_token = [&](int32_t token, std::string_view text) {
    answered.turn.content += text;
    sink.on_piece(token, text, Channel::kAnswer);
  };
  Request request = MakeRequest(sampling_, std::move(prompt), options.seed);
  MOTLEY_ASSIGN_OR_RETURN(const struct Answer answer,
                          RunRequest(engine_, std::move(request), interrupt, on_token, sink.on_step));
  answered.reason = answer.reason;
  answered.stats = answer.stats;
  return answered;
}

Request MakeRequest(const Config::Sampling& sampling, std::vector<int32_t> prompt, uint64_t seed) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = sampling.temperature;
  request.sampling.top_k = sampling.top_k;
  request.sampling.top_p = sampling.top_p;
  request.sampling.min_p = sampling.min_p;
  request.sampling.repeat_penalty = sampling.repeat_penalty;
  request.sampling.seed = seed;
  request.max_tokens = sampling.max_tokens;
  request.stop = sampling.stop;
  return request;
}

}  // namespace motley
