#include "core/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "core/engine/model_loader.h"
#include "core/engine/sequence.h"
#include "core/sched/page_pool.h"
#include "core/sched/prefix_cache.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }

Status CheckPrompt(const Request& request, int64_t context, const Tokenizer& tokenizer) {
  if (request.prompt.empty()) return InvalidArgumentError("prompt: has no tokens; write something");
  MOTLEY_RETURN_IF_ERROR(CheckPromptLength(request.prompt.size(), context));
  for (size_t i = 0; i < request.prompt.size(); ++i) {
    if (tokenizer.IsValid(request.prompt[i])) continue;
    return InvalidArgumentError("prompt: token " + std::to_string(i) + " = " + std::to_string(request.prompt[i]) +
                                ": must be 0.." + std::to_string(tokenizer.vocab_size() - 1));
  }
  return OkStatus();
}

}  // namespace

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kError: return "error";
  }
  return "error";
}

class Engine::Impl {
 public:
  Impl(ModelFiles files, std::unique_ptr<ModelLoader> loader, LoadedModel model)
      : files_(std::move(files)),
        model_(std::move(model)),
        loader_(std::move(loader)),
        pages_(limits().kv_pages),
        prefixes_(&pages_, limits().page_tokens),
        sampler_(files_.tokenizer->vocab_size()) {
    StartEmpty();
  }

  StatusOr<uint64_t> Submit(Request request) {
    MOTLEY_RETURN_IF_ERROR(down_);
    const int64_t context = model_.planned->report.context;
    MOTLEY_RETURN_IF_ERROR(CheckPrompt(request, context, *files_.tokenizer));
    MOTLEY_RETURN_IF_ERROR(CheckSampling(request.sampling, files_.tokenizer->vocab_size()));
    auto sequence = std::make_unique<Sequence>();
    MOTLEY_ASSIGN_OR_RETURN(sequence->stops, StopMatcher::Create(request.stop));
    sequence->id = next_id_++;
    const uint64_t room = RoomFor(request);
    sequence->token_limit = std::min(request.max_tokens.value_or(room), room);
    sequence->tokens = request.prompt;
    sequence->tokens.reserve(request.prompt.size() + sequence->token_limit);
    sequence->pages.reserve(static_cast<size_t>(limits().max_pages));
    sequence->detokenizer = std::make_unique<Detokenizer>(files_.tokenizer.get(), false, request.shown);
    sequence->detokenizer->Continue(request.prompt.back());
    sequence->raw_text.reserve(1024);
    sequence->text.reserve(1024);
    sequence->stats.prompt_tokens = request.prompt.size();
    if (request.sampling.repeat_penalty != 1) {
      sequence->seen.resize(static_cast<size_t>(files_.tokenizer->vocab_size()), false);
      for (int32_t token : request.prompt) sequence->seen[static_cast<size_t>(token)] = true;
    }
    sequence->request = std::move(request);
    sequences_.push_back(std::move(sequence));
    return sequences_.back()->id;
  }

  void Cancel(uint64_t request) {
    const std::lock_guard<std::mutex> lock(cancel_mutex_);
    cancelled_.push_back(request);
    any_cancelled_ = true;
  }

  bool busy() const { return !sequences_.empty(); }

  Status Step(std::vector<Event>* events) {
    events->clear();
    ended_.clear();
    if (any_cancelled_) EndCancelled(events);
    if (!down_.ok()) return OkStatus();  // every request has ended
    MOTLEY_RETURN_IF_ERROR(FillStep());
    if (model_.step->dims()[0] == 0) return OkStatus();
    const Clock::time_point start = Clock::now();
    const Status ran = model_.executor->Run();
    const double seconds = Seconds(start);
    if (!ran.ok() && loader_->FindLost(model_)) {
      GoOnWithoutLost(events);
      return OkStatus();
    }
    if (!ran.ok()) prefixes_.Clear();  // a device that failed may have lost them
    int64_t row = 0;  // of the step's logits
    for (Sequence* sequence : in_step_) {
      if (ran.ok()) {
        Advance(*sequence, row, seconds, events);
      } else {
        Fail(*sequence, ran, events);
      }
      row += sequence->step_outputs;
    }
    CollectEnded();
    return OkStatus();
  }

  const LoadedModel& model() const { return model_; }

  uint64_t DecodeReadBytes(int64_t kv_len) const {
    return step_read_bytes_ + kv_read_bytes_per_token_ * static_cast<uint64_t>(kv_len);
  }

  const ModelFiles files_;

 private:
  const GraphLimits& limits() const { return model_.planned->limits; }

  // Tokens that the context leaves for the answer.
  uint64_t RoomFor(const Request& request) const {
    return static_cast<uint64_t>(model_.planned->report.context) - request.prompt.size() + 1;
  }

  // Every page and row is free, nothing is cached.
  void StartEmpty() {
    pages_ = PagePool(limits().kv_pages);
    prefixes_ = PrefixCache(&pages_, limits().page_tokens);
    free_rows_.clear();
    for (int64_t row = limits().max_seqs - 1; row >= 0; --row) free_rows_.push_back(static_cast<int32_t>(row));
    step_read_bytes_ = kv_read_bytes_per_token_ = 0;
    for (const SegmentWork& segment : model_.planned->segment_work) {
      step_read_bytes_ += segment.decode_weight_bytes();
      kv_read_bytes_per_token_ += segment.kv_bytes_per_token;
    }
  }

  // The model moves to the devices that are left. Keys and values of every sequence are computed anew there, from the
  // tokens; what the requests were told stays told.
  void GoOnWithoutLost(std::vector<Event>* events) {
    down_ = loader_->LoadAgain(files_, &model_);
    if (down_.ok()) StartEmpty();
    for (const auto& sequence : sequences_) {
      sequence->Rewind();
      if (!down_.ok()) {
        Fail(*sequence, down_, events);
      } else if (const Status fits = CheckRoom(*sequence); !fits.ok()) {
        Fail(*sequence, fits, events);
      } else {
        sequence->token_limit = std::min(sequence->token_limit, RoomFor(sequence->request));
      }
    }
    CollectEnded();
  }

  // The context may have fallen below what a sequence holds already.
  Status CheckRoom(const Sequence& sequence) const {
    const int64_t context = model_.planned->report.context;
    if (static_cast<int64_t>(sequence.tokens.size()) <= context) return OkStatus();
    return UnavailableError("a device was lost, and what is left has room for a context of " + std::to_string(context) +
                            " tokens, where this request has " + std::to_string(sequence.tokens.size()) + " already");
  }

  // Decoding sequences first, so that nobody who is being answered waits for somebody's prompt.
  Status FillStep() {
    model_.step->Clear();
    in_step_.clear();
    for (const bool prefill : {false, true}) {
      for (const auto& sequence : sequences_) {
        if (model_.step->tokens_left() == 0) return OkStatus();
        if (sequence->waits() && !Admit(*sequence)) continue;
        if (sequence->prefilling() == prefill) MOTLEY_RETURN_IF_ERROR(AddToStep(*sequence));
      }
    }
    return OkStatus();
  }

  bool Admit(Sequence& sequence) {
    if (free_rows_.empty()) return false;
    sequence.row = free_rows_.back();
    free_rows_.pop_back();
    if (sequence.request.reuse && !sequence.request.all_logits) StartFromPrefix(sequence);
    return true;
  }

  // The last token of the prompt is left to do: its logits are wanted.
  void StartFromPrefix(Sequence& sequence) {
    const std::span<const int32_t> prompt = sequence.tokens;
    PrefixCache::Prefix prefix = prefixes_.Take(prompt.first(prompt.size() - 1));
    for (const int32_t page : prefix.pages) AddPage(sequence, page);
    sequence.kv_len = prefix.tokens;
    sequence.stats.reused_tokens = static_cast<uint64_t>(prefix.tokens);
  }

  void AddPage(Sequence& sequence, int32_t page) {
    model_.step->SetPage(static_cast<uint32_t>(sequence.row), static_cast<int64_t>(sequence.pages.size()), page);
    sequence.pages.push_back(page);
  }

  Status AddToStep(Sequence& sequence) {
    using Outputs = StepData::Outputs;
    const int64_t left = static_cast<int64_t>(sequence.tokens.size()) - sequence.kv_len;
    int64_t count = std::min(left, model_.step->tokens_left());
    Outputs outputs = Outputs::kNone;
    if (sequence.request.all_logits && sequence.made() == 0) {
      count = std::min(count, model_.step->outputs_left());
      outputs = Outputs::kAll;
    } else if (sequence.kv_len + count == static_cast<int64_t>(sequence.tokens.size())) {
      if (model_.step->outputs_left() == 0) return OkStatus();
      outputs = Outputs::kLast;
    }
    if (count == 0) return OkStatus();
    MOTLEY_RETURN_IF_ERROR(ReachPages(sequence, sequence.kv_len + count));
    const std::span<const int32_t> all = sequence.tokens;
    const auto first = static_cast<size_t>(sequence.kv_len), tokens = static_cast<size_t>(count);
    MOTLEY_RETURN_IF_ERROR(model_.step->AddSequence(static_cast<uint32_t>(sequence.row), sequence.kv_len,
                                                    all.subspan(first, tokens), outputs));
    sequence.step_tokens = count;
    sequence.step_outputs = outputs == Outputs::kAll ? count : outputs == Outputs::kLast ? 1 : 0;
    in_step_.push_back(&sequence);
    return OkStatus();
  }

  Status ReachPages(Sequence& sequence, int64_t tokens) {
    while (static_cast<int64_t>(sequence.pages.size()) * limits().page_tokens < tokens) {
      const int32_t page = prefixes_.TakePage();
      if (page < 0) return InternalError("no KV page is left, though every sequence has its own");
      AddPage(sequence, page);
    }
    return OkStatus();
  }

  // What the step's result means for one sequence; its rows of logits begin at `row`.
  void Advance(Sequence& sequence, int64_t row, double seconds, std::vector<Event>* events) {
    const bool decoding = !sequence.prefilling();
    (decoding ? sequence.stats.decode_s : sequence.stats.prefill_s) += seconds;
    if (decoding) sequence.stats.decode_read_bytes += DecodeReadBytes(sequence.kv_len);
    sequence.kv_len += sequence.step_tokens;
    for (int64_t i = 0; i < sequence.step_outputs && sequence.request.on_logits; ++i) {
      const int64_t position = sequence.kv_len - sequence.step_outputs + i;
      if (position < sequence.logits_given) continue;  // computed once more, after a device was lost
      sequence.request.on_logits(position, Logits(row + i));
      sequence.logits_given = position + 1;
    }
    if (sequence.kv_len < static_cast<int64_t>(sequence.tokens.size())) return;  // more of the prompt waits
    if (sequence.token_limit == 0) return End(sequence, FinishReason::kLength, events);
    StatusOr<int32_t> token = sampler_.Sample(Logits(row + sequence.step_outputs - 1), sequence.request.sampling,
                                              sequence.seen, sequence.id, static_cast<uint64_t>(sequence.kv_len));
    if (!token.ok()) return Fail(sequence, token.status(), events);
    Accept(sequence, *token, events);
  }

  // A row of the step's logits; the sampler may change it.
  std::span<float> Logits(int64_t row) {
    const auto vocab = static_cast<size_t>(files_.model->params().vocab_rows);
    const std::span<const float> all = model_.executor->output(model_.planned->graph->logits);
    return {const_cast<float*>(all.data()) + static_cast<size_t>(row) * vocab, vocab};
  }

  void Accept(Sequence& sequence, int32_t token, std::vector<Event>* events) {
    sequence.tokens.push_back(token);
    ++sequence.stats.completion_tokens;
    if (!sequence.seen.empty()) sequence.seen[static_cast<size_t>(token)] = true;
    sequence.raw_text.clear();
    sequence.text.clear();
    const bool end = files_.tokenizer->IsEndOfTurn(token) && !sequence.request.ignore_end;
    if (!end) sequence.detokenizer->Push(token, &sequence.raw_text);
    const bool stopped = sequence.stops.Push(sequence.raw_text, &sequence.text);
    Event event;
    event.request = sequence.id;
    event.token = token;
    event.text = sequence.text;
    events->push_back(std::move(event));
    if (end || stopped) return End(sequence, FinishReason::kStop, events);
    if (sequence.stats.completion_tokens >= sequence.token_limit) End(sequence, FinishReason::kLength, events);
  }

  void Fail(Sequence& sequence, const Status& status, std::vector<Event>* events) {
    End(sequence, FinishReason::kError, events);
    events->back().error = status;
  }

  // The last event, with what was held back: half a character, the beginning of a stop string.
  void End(Sequence& sequence, FinishReason reason, std::vector<Event>* events) {
    sequence.raw_text.clear();
    sequence.detokenizer->Flush(&sequence.raw_text);
    sequence.stops.Push(sequence.raw_text, &sequence.last_text);
    sequence.stops.Flush(&sequence.last_text);
    Event event;
    event.request = sequence.id;
    event.text = sequence.last_text;
    event.finish = reason;
    event.stats = sequence.stats;
    events->push_back(std::move(event));
    GiveUpPages(sequence, reason);
    if (sequence.row >= 0) free_rows_.push_back(sequence.row);
    sequence.ended = true;
  }

  void GiveUpPages(Sequence& sequence, FinishReason reason) {
    if (sequence.request.reuse && reason != FinishReason::kError && sequence.kv_len > 0) {
      sequence.tokens.resize(static_cast<size_t>(sequence.kv_len));
      prefixes_.Keep(std::move(sequence.tokens), std::move(sequence.pages));
      return;
    }
    for (int32_t page : sequence.pages) pages_.Give(page);
  }

  void EndCancelled(std::vector<Event>* events) {
    const std::lock_guard<std::mutex> lock(cancel_mutex_);
    for (const auto& sequence : sequences_) {
      if (std::find(cancelled_.begin(), cancelled_.end(), sequence->id) == cancelled_.end()) continue;
      End(*sequence, FinishReason::kCancelled, events);
    }
    cancelled_.clear();
    any_cancelled_ = false;
    CollectEnded();
  }

  // Ended sequences live until the next step, as events refer to their text.
  void CollectEnded() {
    for (auto& sequence : sequences_) {
      if (sequence->ended) ended_.push_back(std::move(sequence));
    }
    std::erase(sequences_, nullptr);
  }

  LoadedModel model_;
  std::unique_ptr<ModelLoader> loader_;
  Status down_;  // why nothing can run any more
  PagePool pages_;
  PrefixCache prefixes_;
  Sampler sampler_;
  std::vector<int32_t> free_rows_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // in the order in which they came
  std::vector<std::unique_ptr<Sequence>> ended_;
  std::vector<Sequence*> in_step_;                    // in the order of the step's rows
  uint64_t next_id_ = 1;
  uint64_t step_read_bytes_ = 0, kv_read_bytes_per_token_ = 0;
  std::mutex cancel_mutex_;
  std::vector<uint64_t> cancelled_;
  std::atomic<bool> any_cancelled_{false};
};

StatusOr<std::unique_ptr<Engine>> Engine::Open(const Config& config, const Backends& backends, Logger& logger,
                                               const EngineOptions& options, ModelFiles files) {
  if (config.model.path.empty()) {
    return InvalidArgumentError("no model is named; give one with -m, or as model.path in the TOML file");
  }
  StatusOr<ModelFiles> opened =
      files.file == nullptr ? OpenModel(config.model.path, logger) : OpenModel(std::move(files), logger);
  if (!opened.ok()) return opened.status();
  files = *std::move(opened);
  auto loader = std::make_unique<ModelLoader>(config, backends, logger, options);
  MOTLEY_ASSIGN_OR_RETURN(LoadedModel model, loader->Load(files));
  return std::unique_ptr<Engine>(
      new Engine(std::make_unique<Impl>(std::move(files), std::move(loader), std::move(model))));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const Tokenizer& Engine::tokenizer() const { return *impl_->files_.tokenizer; }
const Model& Engine::model() const { return *impl_->files_.model; }
const std::string& Engine::chat_template() const { return impl_->files_.chat_template; }
const PlanReport& Engine::plan() const { return impl_->model().planned->report; }
const PlannedModel& Engine::planned() const { return *impl_->model().planned; }
StatusOr<uint64_t> Engine::Submit(Request request) { return impl_->Submit(std::move(request)); }
void Engine::Cancel(uint64_t request) { impl_->Cancel(request); }
bool Engine::busy() const { return impl_->busy(); }
Status Engine::Step(std::vector<Event>* events) { return impl_->Step(events); }
uint64_t Engine::DecodeReadBytes(int64_t kv_len) const { return impl_->DecodeReadBytes(kv_len); }
LoadStats Engine::load_stats() const { return impl_->model().stats; }
ExecutorStats Engine::executor_stats() const {
  const Executor* executor = impl_->model().executor.get();
  return executor == nullptr ? ExecutorStats{} : executor->stats();
}

}  // namespace motley
