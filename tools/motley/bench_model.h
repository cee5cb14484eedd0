// Runs a model for bench: prompts, and decoding at chosen depths and numbers of sequences, step by step.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/figure.h"
#include "core/base/status.h"
#include "core/engine/engine.h"
#include "tools/motley/interrupt.h"

namespace motley {

struct BenchPlan {
  std::vector<uint64_t> prompts;  // tokens, each >= 1
  std::vector<uint64_t> depths;   // tokens in the cache when decoding begins; 0 is measured as 1
  std::vector<uint64_t> batches;  // sequences at once, each >= 1
  uint64_t decode = 64;           // tokens of each sequence a run
  uint64_t repeat = 3;            // runs, of which the median counts; what warms up is not one of them
};

struct PrefillRow {
  uint64_t tokens = 0;
  Figure tokens_per_s;
};

struct DecodeRow {
  uint64_t depth = 0, batch = 0;
  uint64_t first_kv = 0, last_kv = 0;  // tokens in a sequence's cache at the first and the last measured step
  Figure tokens_per_s;                 // of all sequences
  double bytes_a_step = 0;             // weights once, and every sequence's cache; the median run's
};

// Tokens of context that a sequence needs at most; step_tokens: of one step, at most.
uint64_t ContextFor(const BenchPlan& plan, uint64_t step_tokens);
uint64_t DecodeContextFor(const BenchPlan& plan, uint64_t depth, uint64_t batch, uint64_t step_tokens);

// The engine has a context of ContextFor and as many sequences as the largest batch. One thread; CANCELLED
// after an interruption.
class BenchRunner {
 public:
  BenchRunner(Engine& engine, const BenchPlan& plan, const Interrupt& interrupt);

  // A prompt of its own in each run.
  StatusOr<PrefillRow> Prefill(uint64_t tokens);
  // The caches are filled once, by prompts of `depth` tokens; from there on the runs follow each other.
  StatusOr<DecodeRow> Decode(uint64_t depth, uint64_t batch);

  uint64_t allocations() const { return allocations_; }    // in the measured decode steps
  uint64_t decode_steps() const { return decode_steps_; }  // that were measured

 private:
  StatusOr<double> Step();
  StatusOr<double> DecodeStep();
  StatusOr<uint64_t> Submit(uint64_t tokens, uint64_t max_tokens, uint64_t seed);
  Status FillCaches(uint64_t depth, uint64_t batch);
  Status EndSequences();
  double StepBytes() const;
  size_t IndexOf(uint64_t request) const;

  Engine& engine_;
  const BenchPlan plan_;
  const Interrupt& interrupt_;
  std::vector<Event> events_;
  std::vector<uint64_t> ids_;  // of the sequences that decode
  std::vector<uint64_t> kv_;   // tokens in the cache of each
  uint64_t allocations_ = 0, decode_steps_ = 0;
};

}  // namespace motley
