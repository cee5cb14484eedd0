// near-tie-same: the rule of "the same" between plugins and against references (design, §6).
//
// Fed the same tokens, at every position the NMSE of the centred logits is at most `nmse`, and the argmax differs
// only where the reference's top-2 gap is at most `gap`. Centred = less the row's own mean.
//
//   const NearTieReport report = CompareLogits(golden.logits, got, n_positions, n_vocab, NearTieTolerance("f32"));
//   EXPECT_TRUE(report.ok) << report.text;
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace motley::test {

struct Tolerance {
  double nmse = 0;
  double gap = 0;  // of two logits
};

// By how a kernel rounds activations: "f32", "f16", "bf16", "int8", "fp4". A word that is none tolerates nothing.
Tolerance NearTieTolerance(std::string_view math);

struct NearTieReport {
  bool ok = false;
  double worst_nmse = 0;
  int64_t worst_position = -1;      // of worst_nmse; -1 where there is no position
  int64_t argmax_changes = 0;       // positions at which the argmax differs
  double widest_changed_gap = 0;    // the largest reference gap among those
  int64_t widest_changed_position = -1;
  std::string text;                 // for people: the verdict, the worst position, each rule that was broken
};

// reference, got: [n_positions, n_vocab]. A size that does not fit, or a value that is not finite, is never ok.
NearTieReport CompareLogits(std::span<const double> reference, std::span<const float> got, int64_t n_positions,
                            int64_t n_vocab, Tolerance tolerance);

// The first index of the largest value, and how far the second largest value is below it (0 for ties).
struct TopTwo {
  int64_t argmax = 0;
  double gap = 0;
};
TopTwo FindTopTwo(std::span<const double> row);

// Fills in ok and text from the other fields. For other comparisons than CompareLogits.
void Judge(Tolerance tolerance, int64_t n_positions, NearTieReport* report);

}  // namespace motley::test
