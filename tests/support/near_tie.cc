#include "tests/support/near_tie.h"

#include <cmath>
#include <cstdio>
#include <limits>

namespace motley::test {
namespace {

double Mean(const auto& row) {
  double sum = 0;
  for (auto value : row) sum += value;
  return sum / static_cast<double>(row.size());
}

// Of the centred rows; infinite where `got` has a value that is not finite, or a constant reference is missed.
double CentredNmse(std::span<const double> reference, std::span<const float> got) {
  for (float value : got) {
    if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
  }
  const double reference_mean = Mean(reference), got_mean = Mean(got);
  double error = 0, power = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double want = reference[i] - reference_mean;
    const double difference = got[i] - got_mean - want;
    error += difference * difference;
    power += want * want;
  }
  if (power > 0) return error / power;
  return error == 0 ? 0 : std::numeric_limits<double>::infinity();
}

int64_t ArgMax(std::span<const float> row) {
  int64_t best = 0;
  for (size_t i = 1; i < row.size(); ++i) {
    if (row[i] > row[best]) best = static_cast<int64_t>(i);
  }
  return best;
}

template <typename... Args>
std::string Text(const char* format, Args... args) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, args...);
  return buffer;
}

}  // namespace

Tolerance NearTieTolerance(std::string_view math) {
  if (math == "f32") return {1e-8, 1e-3};
  if (math == "f16") return {1e-5, 0.02};
  if (math == "bf16") return {1e-3, 0.1};
  if (math == "int8") return {1e-2, 1.0};
  if (math == "fp4") return {3e-2, 2.0};
  return {};
}

TopTwo FindTopTwo(std::span<const double> row) {
  TopTwo top;
  double second = -std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < row.size(); ++i) {
    const double value = row[i];
    if (value > row[top.argmax]) {
      second = row[top.argmax];
      top.argmax = static_cast<int64_t>(i);
    } else if (value > second) {
      second = value;
    }
  }
  if (!row.empty()) top.gap = row[top.argmax] - second;
  return top;
}

void Judge(Tolerance tolerance, int64_t n_positions, NearTieReport* report) {
  // Written so that a NaN fails.
  const bool nmse_ok = report->worst_nmse <= tolerance.nmse;
  const bool argmax_ok = report->argmax_changes == 0 || report->widest_changed_gap <= tolerance.gap;
  report->ok = nmse_ok && argmax_ok;
  report->text = Text("%s: worst NMSE %.3g at position %lld of %lld (tolerance %.3g)%s; ",
                     report->ok ? "near-tie-same" : "DIFFERENT", report->worst_nmse,
                     static_cast<long long>(report->worst_position), static_cast<long long>(n_positions),
                     tolerance.nmse, nmse_ok ? "" : " TOO LARGE");
  if (report->argmax_changes == 0) {
    report->text += "argmax the same everywhere";
  } else {
    report->text += Text("argmax differs at %lld, widest top-2 gap there %.4g at position %lld (tolerance %.3g)%s",
                        static_cast<long long>(report->argmax_changes), report->widest_changed_gap,
                        static_cast<long long>(report->widest_changed_position), tolerance.gap,
                        argmax_ok ? "" : " TOO WIDE");
  }
}

NearTieReport CompareLogits(std::span<const double> reference, std::span<const float> got, int64_t n_positions,
                            int64_t n_vocab, Tolerance tolerance) {
  NearTieReport report;
  if (n_positions <= 0 || n_vocab <= 0 || static_cast<uint64_t>(n_positions) > reference.size() / n_vocab ||
      reference.size() != static_cast<uint64_t>(n_positions * n_vocab) || got.size() != reference.size()) {
    report.text = Text("NOT COMPARED: %lld positions of %lld logits, but %zu reference and %zu other values",
                       static_cast<long long>(n_positions), static_cast<long long>(n_vocab), reference.size(),
                       got.size());
    return report;
  }
  report.worst_nmse = -1;
  for (int64_t position = 0; position < n_positions; ++position) {
    const auto want = reference.subspan(position * n_vocab, n_vocab);
    const auto have = got.subspan(position * n_vocab, n_vocab);
    const double nmse = CentredNmse(want, have);
    if (!(nmse <= report.worst_nmse)) {
      report.worst_nmse = nmse;
      report.worst_position = position;
    }
    const TopTwo top = FindTopTwo(want);
    if (ArgMax(have) == top.argmax) continue;
    ++report.argmax_changes;
    if (report.widest_changed_position < 0 || top.gap > report.widest_changed_gap) {
      report.widest_changed_gap = top.gap;
      report.widest_changed_position = position;
    }
  }
  Judge(tolerance, n_positions, &report);
  return report;
}

}  // namespace motley::test
