#include "core/model/rope.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>

#include "core/model/printable.h"

namespace motley {
namespace {

// Far wider than any model's: what is outside is a broken file, and would turn angles into noise or no numbers.
constexpr double kLeastBase = 1, kMostBase = 1e18;
constexpr double kLeastScale = 1e-3, kMostScale = 1e6;

std::string Decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

std::string Range(double low, double high) { return Decimal(low) + ".." + Decimal(high); }

// The rotary dim at which `rotations` full turns fit in `context` tokens. Peng et al. 2023 (YaRN), appendix A.
double CorrectionDim(double rotations, double dim, double base, double context) {
  return dim * std::log(context / (rotations * 2 * std::numbers::pi)) / (2 * std::log(base));
}

// YaRN: high frequencies stay as they are, low ones are divided by `factor`, those between are blended.
void ScaleYarn(std::vector<double>* frequencies, double factor, double base, double context, double beta_fast,
               double beta_slow) {
  const double dim = 2.0 * static_cast<double>(frequencies->size());
  const double low = std::max(0.0, std::floor(CorrectionDim(beta_fast, dim, base, context)));
  double high = std::min(dim - 1, std::ceil(CorrectionDim(beta_slow, dim, base, context)));
  if (high <= low) high = low + 0.001;
  for (size_t i = 0; i < frequencies->size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    (*frequencies)[i] *= ramp / factor + (1.0 - ramp);
  }
}

Status DivideByTensor(const WeightsFile& file, std::vector<double>* frequencies) {
  const StoredTensor* divisors = file.FindTensor("rope_freqs.weight");
  if (divisors == nullptr) return OkStatus();
  if (divisors->format != Format::kF32 || divisors->elems != frequencies->size()) {
    return InvalidArgumentError(file.metadata().origin() + ": rope_freqs.weight: must be F32[" +
                                std::to_string(frequencies->size()) + "]");
  }
  for (size_t i = 0; i < frequencies->size(); ++i) {
    float divisor;
    std::memcpy(&divisor, divisors->data + i * sizeof(float), sizeof(float));
    // Huge ones are in use: they switch the rotation of a pair off.
    if (!(std::isfinite(divisor) && divisor >= kLeastScale)) {
      return InvalidArgumentError(file.metadata().origin() + ": rope_freqs.weight[" + std::to_string(i) + "] = " +
                                  Decimal(divisor) + ": must be a number of at least " + Decimal(kLeastScale));
    }
    (*frequencies)[i] /= divisor;
  }
  return OkStatus();
}

// A number in [low, high], or `fallback` where the key is absent.
StatusOr<double> NumberOr(const Metadata& metadata, const std::string& key, double fallback, double low, double high) {
  MOTLEY_ASSIGN_OR_RETURN(const std::optional<double> value, metadata.FindF64(key));
  if (value && !(*value >= low && *value <= high)) {  // also nan
    return metadata.Error(key, "= " + Decimal(*value) + ": must be " + Range(low, high));
  }
  return value.value_or(fallback);
}

StatusOr<double> ScaleOr(const Metadata& metadata, const std::string& key, double fallback) {
  return NumberOr(metadata, key, fallback, kLeastScale, kMostScale);
}

}  // namespace

StatusOr<RopeTable> RopeTable::Create(const WeightsFile& file, const std::string& arch, int64_t rotary_dim) {
  const Metadata& metadata = file.metadata();
  const std::string prefix = arch + ".rope.";
  MOTLEY_ASSIGN_OR_RETURN(const double base, NumberOr(metadata, prefix + "freq_base", 10000.0, kLeastBase, kMostBase));
  RopeTable table;
  for (int64_t i = 0; i < rotary_dim / 2; ++i) {
    table.inverse_frequency_.push_back(std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(rotary_dim)));
  }
  MOTLEY_RETURN_IF_ERROR(DivideByTensor(file, &table.inverse_frequency_));

  const std::string type_key = prefix + "scaling.type";
  MOTLEY_ASSIGN_OR_RETURN(const auto type, metadata.FindString(type_key));
  MOTLEY_ASSIGN_OR_RETURN(const double legacy_factor, ScaleOr(metadata, prefix + "scale_linear", 1.0));
  MOTLEY_ASSIGN_OR_RETURN(const double factor, ScaleOr(metadata, prefix + "scaling.factor", legacy_factor));
  if (!type || *type == "linear") {
    for (double& frequency : table.inverse_frequency_) frequency /= factor;
  } else if (*type == "yarn") {
    const std::string context_key = prefix + "scaling.original_context_length";
    MOTLEY_ASSIGN_OR_RETURN(const uint64_t context, metadata.GetU64(context_key));
    if (context < 1 || context > 0x7fffffff) {
      return metadata.Error(context_key, "= " + std::to_string(context) + ": must be 1..2147483647 tokens");
    }
    // The rule divides by the base's logarithm.
    if (base <= 1) return metadata.Error(prefix + "freq_base", "= " + Decimal(base) + ": must be above 1 with yarn");
    MOTLEY_ASSIGN_OR_RETURN(const double fast, ScaleOr(metadata, prefix + "scaling.yarn_beta_fast", 32.0));
    MOTLEY_ASSIGN_OR_RETURN(const double slow, ScaleOr(metadata, prefix + "scaling.yarn_beta_slow", 1.0));
    MOTLEY_ASSIGN_OR_RETURN(const double extra, ScaleOr(metadata, prefix + "scaling.attn_factor", 1.0));
    ScaleYarn(&table.inverse_frequency_, factor, base, static_cast<double>(context), fast, slow);
    table.attention_factor_ = extra * (factor > 1 ? 0.1 * std::log(factor) + 1.0 : 1.0);
  } else if (*type != "none") {
    return metadata.Error(type_key, "= \"" + Printable(*type) + "\": must be none, linear or yarn");
  }
  return table;
}

void RopeTable::Fill(int64_t position, float* out) const {
  const size_t half = inverse_frequency_.size();
  for (size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * inverse_frequency_[i];
    out[i] = static_cast<float>(std::cos(angle) * attention_factor_);
    out[half + i] = static_cast<float>(std::sin(angle) * attention_factor_);
  }
}

}  // namespace motley
