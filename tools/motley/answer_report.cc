#include "tools/motley/answer_report.h"

#include <cstdio>

#include "core/base/units.h"
#include "tools/motley/answer.h"

namespace motley {
namespace {

std::string Number(double value, const char* format = "%.1f") {
  char buffer[48];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

}  // namespace

std::string StatsLine(const RequestStats& stats, const Bandwidth& limit) {
  std::string line = "prompt " + std::to_string(stats.prompt_tokens) + " tokens, " +
                     Number(PrefillRate(stats)) + " tokens/s; answer " +
                     std::to_string(stats.completion_tokens) + " tokens, " + Number(DecodeRate(stats)) +
                     " tokens/s, reading " + Number(ReadRate(stats) / 1e9) + " GB/s";
  if (limit.bytes_per_s > 0) {
    line += ", " + Number(100 * ReadRate(stats) / limit.bytes_per_s, "%.0f") + " % of the " +
            Number(limit.bytes_per_s / 1e9) + " GB/s measured just before over " +
            FormatSize(limit.buffer_bytes);
  }
  return line;
}

boost::json::object EndJson(FinishReason reason, const RequestStats& stats, const Bandwidth& limit) {
  boost::json::object end{{"type", "end"},
                          {"reason", FinishReasonName(reason)},
                          {"prompt_tokens", stats.prompt_tokens},
                          {"completion_tokens", stats.completion_tokens},
                          {"prefill_tokens_per_s", PrefillRate(stats)},
                          {"decode_tokens_per_s", DecodeRate(stats)},
                          {"read_bytes_per_s", ReadRate(stats)}};
  if (limit.bytes_per_s > 0) end["bandwidth_bytes_per_s"] = limit.bytes_per_s;
  return end;
}

}  // namespace motley
