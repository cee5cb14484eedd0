#include "core/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "core/engine/sequence.h"
#include "core/sched/page_pool.h"
#include "core/sched/prefix_cache.h"
#include "core/sched/weight_loader.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }

Status CheckPromptLength(uint64_t tokens, int64_t context) {
  // The last token's answer needs no place of its own in the cache.
  if (tokens <= static_cast<uint64_t>(context)) return OkStatus();
  return InvalidArgumentError("prompt: " + std::to_string(tokens) + " tokens do not fit in the context of " +
                              std::to_string(context) + "; shorten it, or ask for a larger --context");
}

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
  Impl(ModelFiles files, std::unique_ptr<PlannedModel> planned)
      : files_(std::move(files)),
        planned_(std::move(planned)),
        pages_(planned_->limits.kv_pages),
        prefixes_(&pages_, planned_->limits.page_tokens),
        sampler_(files_.tokenizer->vocab_size()) {
    for (int64_t row = planned_->limits.max_seqs - 1; row >= 0; --row) free_rows_.push_back(static_cast<int32_t>(row));
  }

  Status Load(const LoadProgress& progress) {
    LoadRequest request;
    request.model = planned_->graph.get();
    request.file = files_.file.get();
    request.limits = &planned_->limits;
    request.node_device = planned_->node_device;
    for (const DeviceProfile& profile : planned_->profiles) request.devices.push_back(&profile);
    const Clock::time_point start = Clock::now();
    MOTLEY_ASSIGN_OR_RETURN(residents_, LoadTensors(request, progress));
    load_.seconds = Seconds(start);
    load_.file_bytes = LoadedFileBytes();
    step_ = std::make_unique<StepData>(planned_->limits, planned_->graph->step, files_.model->rope());
    MOTLEY_ASSIGN_OR_RETURN(executor_, Executor::Create(*planned_->compiled, residents_, *step_));
    for (const SegmentWork& segment : planned_->segment_work) {
      step_read_bytes_ += segment.decode_weight_bytes();
      kv_read_bytes_per_token_ += segment.kv_bytes_per_token;
    }
    return OkStatus();
  }

  StatusOr<uint64_t> Submit(Request request) {
    const int64_t context = planned_->report.context;
    MOTLEY_RETURN_IF_ERROR(CheckPrompt(request, context, *files_.tokenizer));
    MOTLEY_RETURN_IF_ERROR(CheckSampling(request.sampling, files_.tokenizer->vocab_size()));
    auto sequence = std::make_unique<Sequence>();
    MOTLEY_ASSIGN_OR_RETURN(sequence->stops, StopMatcher::Create(request.stop));
    sequence->id = next_id_++;
    const auto room = static_cast<uint64_t>(context) - request.prompt.size() + 1;
    sequence->token_limit = std::min(request.max_tokens.value_or(room), room);
    sequence->tokens = request.prompt;
    sequence->tokens.reserve(request.prompt.size() + sequence->token_limit);
    sequence->pages.reserve(static_cast<size_t>(planned_->limits.max_pages));
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
    MOTLEY_RETURN_IF_ERROR(FillStep());
    if (step_->dims()[0] == 0) return OkStatus();
    const Clock::time_point start = Clock::now();
    const Status ran = executor_->Run();
    const double seconds = Seconds(start);
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

  LoadStats load_stats() const { return load_; }

  uint64_t DecodeReadBytes(int64_t kv_len) const {
    return step_read_bytes_ + kv_read_bytes_per_token_ * static_cast<uint64_t>(kv_len);
  }

  ModelFiles files_;
  std::unique_ptr<PlannedModel> planned_;
  std::vector<std::unique_ptr<ResidentTensors>> residents_;
  std::unique_ptr<StepData> step_;
  std::unique_ptr<Executor> executor_;

 private:
  uint64_t LoadedFileBytes() const {
    const Graph& graph = planned_->graph->graph;
    uint64_t bytes = 0;
    for (const Tensor& tensor : graph.tensors) {
      if (tensor.role != Role::kWeight) continue;
      const StoredTensor* stored = files_.file->FindTensor(tensor.name);
      if (stored != nullptr) bytes += stored->bytes;
    }
    return bytes;
  }

  // Decoding sequences first, so that nobody who is being answered waits for somebody's prompt.
  Status FillStep() {
    step_->Clear();
    in_step_.clear();
    for (const bool prefill : {false, true}) {
      for (const auto& sequence : sequences_) {
        if (step_->tokens_left() == 0) return OkStatus();
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
    step_->SetPage(static_cast<uint32_t>(sequence.row), static_cast<int64_t>(sequence.pages.size()), page);
    sequence.pages.push_back(page);
  }

  Status AddToStep(Sequence& sequence) {
    using Outputs = StepData::Outputs;
    int64_t count = std::min(static_cast<int64_t>(sequence.tokens.size()) - sequence.kv_len, step_->tokens_left());
    Outputs outputs = Outputs::kNone;
    if (sequence.request.all_logits && sequence.made() == 0) {
      count = std::min(count, step_->outputs_left());
      outputs = Outputs::kAll;
    } else if (sequence.kv_len + count == static_cast<int64_t>(sequence.tokens.size())) {
      if (step_->outputs_left() == 0) return OkStatus();
      outputs = Outputs::kLast;
    }
    if (count == 0) return OkStatus();
    MOTLEY_RETURN_IF_ERROR(ReachPages(sequence, sequence.kv_len + count));
    const std::span<const int32_t> all = sequence.tokens;
    MOTLEY_RETURN_IF_ERROR(step_->AddSequence(static_cast<uint32_t>(sequence.row), sequence.kv_len,
                                              all.subspan(static_cast<size_t>(sequence.kv_len), static_cast<size_t>(count)),
                                              outputs));
    sequence.step_tokens = count;
    sequence.step_outputs = outputs == Outputs::kAll ? count : outputs == Outputs::kLast ? 1 : 0;
    in_step_.push_back(&sequence);
    return OkStatus();
  }

  Status ReachPages(Sequence& sequence, int64_t tokens) {
    while (static_cast<int64_t>(sequence.pages.size()) * planned_->limits.page_tokens < tokens) {
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
      sequence.request.on_logits(sequence.kv_len - sequence.step_outputs + i, Logits(row + i));
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
    const std::span<const float> all = executor_->output(planned_->graph->logits);
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

  PagePool pages_;
  PrefixCache prefixes_;
  Sampler sampler_;
  std::vector<int32_t> free_rows_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // in the order in which they came
  std::vector<std::unique_ptr<Sequence>> ended_;
  std::vector<Sequence*> in_step_;                    // in the order of the step's rows
  uint64_t next_id_ = 1;
  LoadStats load_;
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
  MOTLEY_ASSIGN_OR_RETURN(auto planned, MakePlan(config, *files.model, *files.file, backends, {options.max_outputs, options.profile}));
  MOTLEY_RETURN_IF_ERROR(CheckPromptLength(options.prompt_tokens, planned->report.context));
  for (const std::string& notice : planned->report.notices) logger.Write(LogLevel::kWarning, "plan", notice);
  for (const std::string& name : files.model->UnusedTensors(planned->graph->graph)) {
    logger.Write(LogLevel::kWarning, "model", "tensor " + name + " is not used");
  }
  auto impl = std::make_unique<Impl>(std::move(files), std::move(planned));
  MOTLEY_RETURN_IF_ERROR(impl->Load(options.progress));
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const Tokenizer& Engine::tokenizer() const { return *impl_->files_.tokenizer; }
const Model& Engine::model() const { return *impl_->files_.model; }
const std::string& Engine::chat_template() const { return impl_->files_.chat_template; }
const PlanReport& Engine::plan() const { return impl_->planned_->report; }
const PlannedModel& Engine::planned() const { return *impl_->planned_; }
StatusOr<uint64_t> Engine::Submit(Request request) { return impl_->Submit(std::move(request)); }
void Engine::Cancel(uint64_t request) { impl_->Cancel(request); }
bool Engine::busy() const { return impl_->busy(); }
Status Engine::Step(std::vector<Event>* events) { return impl_->Step(events); }
uint64_t Engine::DecodeReadBytes(int64_t kv_len) const { return impl_->DecodeReadBytes(kv_len); }
LoadStats Engine::load_stats() const { return impl_->load_stats(); }
ExecutorStats Engine::executor_stats() const { return impl_->executor_->stats(); }

}  // namespace motley
