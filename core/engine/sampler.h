// Sampler: one token from a row of logits.
//
// In this order: repetition penalty, logit bias, temperature, min-p, top-k, top-p (of what is left), draw. The draw is
// a function of (seed, sequence, position) alone, so a sequence that is recomputed elsewhere goes on as it would have.
// One object a thread; does not allocate after Create.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace motley {

struct SamplingParams {
  double temperature = 0;     // 0 = the likeliest token; 0..100
  uint32_t top_k = 0;         // 0 = off
  double top_p = 1;           // 0 < p <= 1; 1 = off
  double min_p = 0;           // 0 <= p <= 1; 0 = off
  double repeat_penalty = 1;  // > 0; 1 = off; for every token that the sequence holds already
  uint64_t seed = 0;
  std::vector<std::pair<int32_t, float>> logit_bias;  // token id, added to its logit
};

// INVALID_ARGUMENT names the parameter, its value and its range.
Status CheckSampling(const SamplingParams& params, int32_t vocab_size);

class Sampler {
 public:
  // Ids >= vocab_size (padded rows) can't be chosen.
  explicit Sampler(int32_t vocab_size);

  // `seen`: a token id that the sequence holds is true; empty without a repeat penalty. logits: at least vocab_size
  // values, changed in place by penalty and bias. DATA_LOSS where one of them is NaN, or none is finite.
  StatusOr<int32_t> Sample(std::span<float> logits, const SamplingParams& params, const std::vector<bool>& seen,
                           uint64_t sequence, uint64_t position);

 private:
  struct Candidate {
    int32_t id;
    float logit;
  };

  int32_t vocab_size_;
  std::vector<Candidate> candidates_;
  std::vector<double> weights_;
};

// Uniform in [0, 1), from a hash of the three.
double RandomUnit(uint64_t seed, uint64_t sequence, uint64_t position);

}  // namespace motley
