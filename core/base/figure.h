// Figure: what repeated measurements of one thing come to - the median, and how far they spread.
// Pure functions over plain data; any thread.
#pragma once

#include <cstdint>
#include <span>

namespace motley {

// In whatever unit was measured. `low` and `high` are the quartiles: half of the measurements lie between
// them, so that one that was disturbed moves neither.
struct Figure {
  double median = 0, low = 0, high = 0;
  uint32_t runs = 0;  // 0 = nothing was measured

  friend bool operator==(const Figure&, const Figure&) = default;
};

// Quartiles between two measurements are interpolated linearly. No values: an empty figure.
Figure MakeFigure(std::span<const double> values);

// amount / figure, for a rate from times: low comes from high. An empty figure, or one with a time of 0,
// gives an empty one.
Figure RateOf(double amount, const Figure& seconds);

// How well the median is known, as a share of it: its standard error as the quartiles tell it. 1 where that
// can't be told (fewer than three runs, a median of 0).
double ErrorOfMedian(const Figure& figure);

}  // namespace motley
