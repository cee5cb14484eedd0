#include "tools/motley/bench_model.h"

#include <algorithm>
#include <chrono>

#include "tools/motley/alloc_count.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

// Enough for plugins to capture, pages to be touched and clocks to rise.
constexpr uint64_t kWarmUpSteps = 8;

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

uint64_t WarmUpSteps(const BenchPlan& plan) {
  return std::min(plan.decode, kWarmUpSteps);
}

// Steps for which the first of several sequences decodes while the others' prompts are still read.
uint64_t StepsAhead(uint64_t depth, uint64_t batch, uint64_t step_tokens) {
  if (batch == 1) return 0;
  const uint64_t room = std::max<uint64_t>(step_tokens, batch) - (batch - 1);
  return (batch * std::max<uint64_t>(depth, 1) + room - 1) / room + 1;
}

// Ids that are ordinary tokens: a function of the seed, so that every run reads the same.
std::vector<int32_t> MakePrompt(const Tokenizer& tokenizer, uint64_t count, uint64_t seed) {
  std::vector<int32_t> prompt;
  uint64_t state = seed;
  while (prompt.size() < count) {
    int32_t id = 0;
    for (int attempt = 0; attempt < 64 && (attempt == 0 || tokenizer.type(id) != TokenType::kNormal);
         ++attempt) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      id = static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(tokenizer.vocab_size()));
    }
    prompt.push_back(id);
  }
  return prompt;
}

}  // namespace

BenchRunner::BenchRunner(Engine& engine, const BenchPlan& plan, const Interrupt& interrupt)
    : engine_(engine), plan_(plan), interrupt_(interrupt) {
  events_.reserve(64);
}

StatusOr<PrefillRow> BenchRunner::Prefill(uint64_t tokens) {
  std::vector<double> rates;
  for (uint64_t run = 0; run <= plan_.repeat; ++run) {
    MOTLEY_RETURN_IF_ERROR(Submit(tokens, 1, 1).status());
    double seconds = 0;
    while (engine_.busy()) {
      MOTLEY_ASSIGN_OR_RETURN(const double took, Step());
      seconds += took;
    }
    if (run > 0) rates.push_back(static_cast<double>(tokens) / seconds);  // the first warms up
  }
  return PrefillRow{tokens, MakeFigure(rates)};
}

StatusOr<DecodeRow> BenchRunner::Decode(uint64_t depth, uint64_t batch) {
  DecodeRow row;
  row.depth = depth;
  row.batch = batch;
  MOTLEY_RETURN_IF_ERROR(FillCaches(std::max<uint64_t>(depth, 1), batch));
  for (uint64_t step = 0; step < WarmUpSteps(plan_); ++step) MOTLEY_RETURN_IF_ERROR(DecodeStep().status());
  row.first_kv = *std::min_element(kv_.begin(), kv_.end());
  std::vector<double> rates, bytes;
  for (uint64_t run = 0; run < plan_.repeat; ++run) {
    double seconds = 0, read = 0;
    for (uint64_t step = 0; step < plan_.decode; ++step) {
      read += StepBytes();
      const uint64_t before = AllocationCount();
      MOTLEY_ASSIGN_OR_RETURN(const double took, DecodeStep());
      allocations_ += AllocationCount() - before;
      ++decode_steps_;
      seconds += took;
    }
    rates.push_back(static_cast<double>(plan_.decode * batch) / seconds);
    bytes.push_back(read / static_cast<double>(plan_.decode));
  }
  row.last_kv = *std::max_element(kv_.begin(), kv_.end()) - 1;
  row.tokens_per_s = MakeFigure(rates);
  row.bytes_a_step = MakeFigure(bytes).median;
  MOTLEY_RETURN_IF_ERROR(EndSequences());
  return row;
}

// One step; what it took, and an error where a sequence failed.
StatusOr<double> BenchRunner::Step() {
  if (interrupt_.IsSet()) return CancelledError("interrupted");
  const Clock::time_point start = Clock::now();
  MOTLEY_RETURN_IF_ERROR(engine_.Step(&events_));
  const double seconds = Seconds(start);
  for (const Event& event : events_) {
    if (event.finish && *event.finish == FinishReason::kError) return event.error;
  }
  return seconds;
}

// A step in which every sequence makes one token.
StatusOr<double> BenchRunner::DecodeStep() {
  MOTLEY_ASSIGN_OR_RETURN(const double seconds, Step());
  uint64_t made = 0;
  for (const Event& event : events_) {
    if (event.token < 0) continue;
    ++made;
    ++kv_[IndexOf(event.request)];
  }
  if (made != ids_.size()) return InternalError("bench: a sequence ended before it was measured");
  return seconds;
}

StatusOr<uint64_t> BenchRunner::Submit(uint64_t tokens, uint64_t max_tokens, uint64_t seed) {
  Request request;
  request.prompt = MakePrompt(engine_.tokenizer(), tokens, seed);
  request.max_tokens = max_tokens;
  request.ignore_end = true;
  return engine_.Submit(std::move(request));
}

// Sequences with `depth` tokens of prompt in their caches, all of them about to decode.
Status BenchRunner::FillCaches(uint64_t depth, uint64_t batch) {
  ids_.clear();
  kv_.assign(batch, 0);
  const uint64_t room = static_cast<uint64_t>(engine_.context()) - depth + 1;
  for (uint64_t i = 0; i < batch; ++i) {
    MOTLEY_ASSIGN_OR_RETURN(const uint64_t id, Submit(depth, room, i + 1));
    ids_.push_back(id);
  }
  for (uint64_t started = 0; started < batch;) {
    MOTLEY_RETURN_IF_ERROR(Step().status());
    for (const Event& event : events_) {
      if (event.token < 0) continue;
      uint64_t& kv = kv_[IndexOf(event.request)];
      started += kv == 0 ? 1 : 0;
      kv = kv == 0 ? depth : kv + 1;
    }
  }
  return OkStatus();
}

Status BenchRunner::EndSequences() {
  for (uint64_t id : ids_) engine_.Cancel(id);
  while (engine_.busy()) MOTLEY_RETURN_IF_ERROR(Step().status());
  return OkStatus();
}

// What the next decode step will read.
double BenchRunner::StepBytes() const {
  const auto weights = static_cast<double>(engine_.DecodeReadBytes(0));
  double bytes = weights;
  for (uint64_t kv : kv_)
    bytes += static_cast<double>(engine_.DecodeReadBytes(static_cast<int64_t>(kv))) - weights;
  return bytes;
}

size_t BenchRunner::IndexOf(uint64_t request) const {
  return static_cast<size_t>(std::find(ids_.begin(), ids_.end(), request) - ids_.begin());
}

uint64_t DecodeContextFor(const BenchPlan& plan, uint64_t depth, uint64_t batch, uint64_t step_tokens) {
  return std::max<uint64_t>(depth, 1) + StepsAhead(depth, batch, step_tokens) + WarmUpSteps(plan) +
         plan.decode * plan.repeat + 1;
}

uint64_t ContextFor(const BenchPlan& plan, uint64_t step_tokens) {
  uint64_t context = 1;
  for (uint64_t tokens : plan.prompts) context = std::max(context, tokens + 1);
  for (uint64_t batch : plan.batches) {
    for (uint64_t depth : plan.depths)
      context = std::max(context, DecodeContextFor(plan, depth, batch, step_tokens));
  }
  return context;
}

}  // namespace motley
