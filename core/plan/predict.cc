#include "core/plan/predict.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace motley {
namespace {

double Elements(const LinearRow& row) {
  return static_cast<double>(row.rows) * static_cast<double>(row.cols);
}

double BytesAnElement(Format format) {
  const FormatInfo* info = FindFormat(format);
  return info == nullptr ? 0 : static_cast<double>(info->block_bytes) / info->block_elems;
}

// The measured format that is nearest in bytes a weight: `format` itself where it was measured.
std::optional<Format> NearestFormat(const DeviceProbe& probe, Format format) {
  std::optional<Format> nearest;
  double distance = 0;
  for (const LinearRow& row : probe.linears) {
    const double d =
        row.format == format ? -1 : std::abs(std::log(BytesAnElement(row.format) / BytesAnElement(format)));
    if (nearest && d >= distance) continue;
    nearest = row.format;
    distance = d;
  }
  return nearest;
}

// Seconds a weight's element takes with `tokens` rows of activation.
double SecondsAnElement(const DeviceProbe& probe, Format format, double tokens) {
  std::vector<std::pair<double, double>> points;  // tokens, seconds
  for (const LinearRow& row : probe.linears) {
    if (row.format == format)
      points.emplace_back(static_cast<double>(row.tokens), row.seconds.median / Elements(row));
  }
  std::sort(points.begin(), points.end());
  if (tokens <= points.front().first) return points.front().second;
  for (size_t i = 1; i < points.size(); ++i) {
    const auto& [t0, s0] = points[i - 1];
    const auto& [t1, s1] = points[i];
    if (tokens > t1) continue;
    return t1 > t0 ? s0 + (tokens - t0) / (t1 - t0) * (s1 - s0) : s1;
  }
  return points.back().second * tokens / points.back().first;
}

void AddOnce(std::string text, std::vector<std::string>* list) {
  if (std::find(list->begin(), list->end(), text) == list->end()) list->push_back(std::move(text));
}

}  // namespace

Prediction PredictSegment(const SegmentWork& work, const DeviceProbe& probe, const StepShape& step) {
  Prediction prediction;
  prediction.seconds =
      probe.launch_s.median + probe.node_s.median * std::max<double>(0, double(work.nodes) - 1);
  for (const LinearWork& linear : work.linears) {
    const std::optional<Format> measured = NearestFormat(probe, linear.format);
    const std::string name(FormatName(linear.format));
    if (!measured) {
      AddOnce(probe.identity.name + ": no linear node was measured", &prediction.guesses);
      prediction.possible = false;
      continue;
    }
    if (*measured != linear.format) {
      AddOnce(probe.identity.name + ": " + name + " was not measured: taken as " +
                  std::string(FormatName(*measured)),
              &prediction.guesses);
    }
    const auto tokens = static_cast<double>(linear.outputs_only ? step.outputs : step.tokens);
    if (tokens <= 0) continue;
    const double elements = linear.operations_a_row() / 2;
    prediction.seconds += elements * SecondsAnElement(probe, *measured, tokens);
  }
  const double rest = static_cast<double>(work.other_weight_bytes) +
                      static_cast<double>(work.embed_row_bytes) * static_cast<double>(step.tokens) +
                      static_cast<double>(work.kv_bytes_per_token) * static_cast<double>(step.context_tokens);
  const double rate = ReadRate(probe, static_cast<uint64_t>(rest));
  if (rate > 0) {
    prediction.seconds += rest / rate;
  } else if (rest > 0) {
    AddOnce(probe.identity.name + ": how fast it reads was not measured: the cache's bytes are left out",
            &prediction.guesses);
  }
  return prediction;
}

double CopySeconds(const DeviceProbe& probe, bool to_device, uint64_t bytes) {
  const CopyRow *small = nullptr, *large = nullptr;
  for (const CopyRow& row : probe.copies) {
    if (row.to_device != to_device) continue;
    if (small == nullptr || row.bytes < small->bytes) small = &row;
    if (large == nullptr || row.bytes > large->bytes) large = &row;
  }
  if (small == nullptr) return 0;
  const auto size = static_cast<double>(bytes);
  if (large->bytes == small->bytes)
    return small->seconds.median * std::max(1.0, size / static_cast<double>(small->bytes));
  const double slope =
      (large->seconds.median - small->seconds.median) / static_cast<double>(large->bytes - small->bytes);
  const double more = std::max(0.0, size - static_cast<double>(small->bytes));
  return small->seconds.median + std::max(0.0, slope) * more;
}

double ReadRate(const DeviceProbe& probe, uint64_t bytes) {
  for (const DeviceReadRow& row : probe.reads) {
    if (row.bytes >= bytes) return row.bytes_per_s.median;
  }
  return probe.reads.empty() ? 0 : probe.reads.back().bytes_per_s.median;
}

}  // namespace motley
