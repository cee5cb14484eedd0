#include "core/engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace motley {
namespace {

// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

Status OutOfRange(const char* name, double value, const char* range) {
  return InvalidArgumentError(std::string(name) + " = " + std::to_string(value) + ": must be " + range);
}

void Penalize(std::span<float> logits, double penalty, const std::vector<bool>& seen) {
  for (size_t id = 0; id < seen.size() && id < logits.size(); ++id) {
    if (seen[id]) logits[id] = static_cast<float>(logits[id] > 0 ? logits[id] / penalty : logits[id] * penalty);
  }
}

}  // namespace

Status CheckSampling(const SamplingParams& params, int32_t vocab_size) {
  if (!(params.temperature >= 0 && params.temperature <= 100)) {
    return OutOfRange("temperature", params.temperature, "0..100");
  }
  if (!(params.top_p > 0 && params.top_p <= 1)) return OutOfRange("top_p", params.top_p, "above 0 and at most 1");
  if (!(params.min_p >= 0 && params.min_p <= 1)) return OutOfRange("min_p", params.min_p, "0..1");
  if (!(params.repeat_penalty > 0 && params.repeat_penalty <= 100)) {
    return OutOfRange("repeat_penalty", params.repeat_penalty, "above 0 and at most 100");
  }
  for (const auto& [id, bias] : params.logit_bias) {
    if (id < 0 || id >= vocab_size) {
      return InvalidArgumentError("logit_bias: token " + std::to_string(id) + ": must be 0.." +
                                  std::to_string(vocab_size - 1));
    }
    if (std::isnan(bias)) return InvalidArgumentError("logit_bias of token " + std::to_string(id) + ": is no number");
  }
  return OkStatus();
}

Sampler::Sampler(int32_t vocab_size) : vocab_size_(vocab_size) {
  candidates_.reserve(static_cast<size_t>(vocab_size));
  weights_.reserve(static_cast<size_t>(vocab_size));
}

StatusOr<int32_t> Sampler::Sample(std::span<float> logits, const SamplingParams& params, const std::vector<bool>& seen,
                                  uint64_t sequence, uint64_t position) {
  if (params.repeat_penalty != 1) Penalize(logits, params.repeat_penalty, seen);
  for (const auto& [id, bias] : params.logit_bias) logits[static_cast<size_t>(id)] += bias;

  int32_t best = 0;
  bool nan = false;
  for (int32_t id = 0; id < vocab_size_; ++id) {
    nan |= std::isnan(logits[static_cast<size_t>(id)]);
    if (logits[static_cast<size_t>(id)] > logits[static_cast<size_t>(best)]) best = id;
  }
  const float top = logits[static_cast<size_t>(best)];
  if (nan || !std::isfinite(top)) return DataLossError("the model's logits are not numbers at position " + std::to_string(position));
  if (params.temperature == 0 || params.top_k == 1) return best;

  // What min_p drops is not worth sorting: the likeliest has weight 1, the others exp of the distance to it.
  candidates_.clear();
  const double least = params.min_p > 0 ? top + std::log(params.min_p) * params.temperature
                                        : -std::numeric_limits<double>::infinity();
  for (int32_t id = 0; id < vocab_size_; ++id) {
    const float logit = logits[static_cast<size_t>(id)];
    if (logit >= least || id == best) candidates_.push_back({id, logit});
  }
  // Likeliest first; equal logits by id, so that the order does not depend on the sort.
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  size_t kept = candidates_.size();
  if (params.top_k > 0 && params.top_k < kept) {
    kept = params.top_k;
    std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(kept), candidates_.end(),
                      likelier);
  } else if (params.top_p < 1) {
    std::sort(candidates_.begin(), candidates_.end(), likelier);
  }  // else nothing is cut by rank, and the order of the ids is as good

  weights_.clear();
  double sum = 0;
  for (size_t i = 0; i < kept; ++i) {
    weights_.push_back(std::exp((static_cast<double>(candidates_[i].logit) - top) / params.temperature));
    sum += weights_.back();
  }
  size_t last = kept;
  double kept_sum = 0;
  for (size_t i = 0; i < kept; ++i) {
    if (i > 0 && params.top_p < 1 && kept_sum >= params.top_p * sum) {
      last = i;
      break;
    }
    kept_sum += weights_[i];
  }
  double draw = RandomUnit(params.seed, sequence, position) * kept_sum;
  for (size_t i = 0; i < last; ++i) {
    draw -= weights_[i];
    if (draw < 0) return candidates_[i].id;
  }
  return candidates_[last - 1].id;  // the sum was rounded up
}

double RandomUnit(uint64_t seed, uint64_t sequence, uint64_t position) {
  const uint64_t bits = Mix(Mix(Mix(seed + 0x9e3779b97f4a7c15ull) + sequence) + position);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace motley
