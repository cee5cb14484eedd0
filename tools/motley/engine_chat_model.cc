#include "tools/motley/engine_chat_model.h"

#include <utility>

#include "tools/motley/answer.h"

namespace motley {
namespace {

// One event a token: its first part goes with the token, further ones are text alone.
void Tell(const ChatPiece& piece, const AnswerSink& sink) {
  int32_t token = piece.token;
  for (const AnswerPart& part : piece.parts) {
    if (part.kind == AnswerPart::Kind::kToolCall) continue;
    sink.on_piece(token, part.text,
                  part.kind == AnswerPart::Kind::kReasoning ? Channel::kReasoning : Channel::kAnswer);
    token = -1;
  }
  if (token >= 0) sink.on_piece(token, "", Channel::kAnswer);
}

}  // namespace

EngineChatModel::EngineChatModel(Engine& engine, std::optional<ChatPrompter> prompter, const Config& config)
    : engine_(engine), sampling_(config.sampling) {
  if (prompter) session_.emplace(engine, *std::move(prompter));
}

StatusOr<AnsweredTurn> EngineChatModel::Answer(const Conversation& conversation, const AnswerOptions& options,
                                               Interrupt& interrupt, const AnswerSink& sink) {
  Request request = MakeRequest(sampling_, options.seed);
  if (!session_) return AnswerRaw(conversation, std::move(request), interrupt, sink);
  MOTLEY_RETURN_IF_ERROR(session_->SetMessages(ConversationJson(conversation), "the conversation"));
  MOTLEY_RETURN_IF_ERROR(session_->prompter().SetThinking(options.thinking));
  const auto is_cancelled = [&] {
    if (sink.on_step) sink.on_step();
    return interrupt.IsSet();
  };
  MOTLEY_ASSIGN_OR_RETURN(ChatAnswer answer,
                          session_->Answer(request, [&](const ChatPiece& p) { Tell(p, sink); }, is_cancelled));
  AnsweredTurn answered;
  answered.turn.role = "assistant";
  answered.turn.content = std::move(answer.content);
  answered.turn.reasoning = std::move(answer.reasoning);
  answered.reason = answer.reason;
  answered.stats = answer.stats;
  return answered;
}

StatusOr<AnsweredTurn> EngineChatModel::AnswerRaw(const Conversation& conversation, Request request,
                                                  Interrupt& interrupt, const AnswerSink& sink) {
  MOTLEY_ASSIGN_OR_RETURN(request.prompt, engine_.tokenizer().Encode(conversation.turns.back().content));
  AnsweredTurn answered;
  answered.turn.role = "assistant";
  const auto on_token = [&](int32_t token, std::string_view text) {
    answered.turn.content += text;
    sink.on_piece(token, text, Channel::kAnswer);
  };
  MOTLEY_ASSIGN_OR_RETURN(const struct Answer answer,
                          RunRequest(engine_, std::move(request), interrupt, on_token, sink.on_step));
  answered.reason = answer.reason;
  answered.stats = answer.stats;
  return answered;
}

Request MakeRequest(const Config::Sampling& sampling, uint64_t seed) {
  Request request;
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
