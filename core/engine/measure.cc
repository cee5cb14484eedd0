#include "core/engine/measure.h"

#include <vector>

namespace motley {

StatusOr<Figure> Measure(const MeasureLimits& limits, const std::function<StatusOr<double>()>& once) {
  MOTLEY_ASSIGN_OR_RETURN(const double first, once());
  if (first >= limits.seconds) return Figure{first, first, first, 1};
  std::vector<double> seconds;
  Figure figure;
  uint64_t look_at = limits.min_runs;  // sorting after every run would be part of what is measured
  for (double spent = first;
       seconds.size() < limits.max_runs && (spent < limits.seconds || seconds.empty());) {
    MOTLEY_ASSIGN_OR_RETURN(const double took, once());
    spent += took;
    seconds.push_back(took);
    if (seconds.size() < look_at) continue;
    look_at += look_at / 4 + 1;
    figure = MakeFigure(seconds);
    if (ErrorOfMedian(figure) <= limits.tolerance) return figure;
  }
  return MakeFigure(seconds);
}

}  // namespace motley
