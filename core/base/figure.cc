#include "core/base/figure.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace motley {
namespace {

double Quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Figure MakeFigure(std::span<const double> values) {
  if (values.empty()) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {Quantile(sorted, 0.5), Quantile(sorted, 0.25), Quantile(sorted, 0.75),
          static_cast<uint32_t>(sorted.size())};
}

Figure RateOf(double amount, const Figure& seconds) {
  if (seconds.runs == 0 || !(seconds.low > 0)) return {};
  return {amount / seconds.median, amount / seconds.high, amount / seconds.low, seconds.runs};
}

double ErrorOfMedian(const Figure& figure) {
  if (figure.runs < 3 || !(figure.median > 0)) return 1;
  // Of a normal distribution: sigma = IQR / 1.349, and the median's standard error is 1.2533 sigma / sqrt(n).
  const double sigma = (figure.high - figure.low) / 1.349;
  return 1.2533 * sigma / std::sqrt(static_cast<double>(figure.runs)) / figure.median;
}

}  // namespace motley
