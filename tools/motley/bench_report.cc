#include "tools/motley/bench_report.h"

#include <cstdio>

#include <boost/json/array.hpp>

#include "core/base/units.h"
#include "core/text/utf8.h"

namespace motley {
namespace {

std::string Number(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

double Share(double rate, double limit) {
  return limit > 0 ? rate / limit : 0;
}

std::string ShareText(double rate, double limit) {
  return limit > 0 ? Number("%.0f %%", 100 * rate / limit) : std::string("-");
}

std::string Spread(const Figure& figure) {
  return Number("%.1f", figure.low) + " to " + Number("%.1f", figure.high);
}

std::string Predicted(const std::optional<double>& tokens_per_s) {
  return tokens_per_s ? Number("%.1f", *tokens_per_s) : "-";
}

// Of a prompt: what its linear nodes multiply a second.
double OpsPerSecond(const PrefillResult& result) {
  return result.operations / static_cast<double>(result.row.tokens) * result.row.tokens_per_s.median;
}
double PrefillReadRate(const PrefillResult& result) {
  return result.read_bytes / static_cast<double>(result.row.tokens) * result.row.tokens_per_s.median;
}
double BytesAToken(const DecodeRow& row) {
  return row.bytes_a_step / static_cast<double>(row.batch);
}
double DecodeReadRate(const DecodeRow& row) {
  return BytesAToken(row) * row.tokens_per_s.median;
}

std::string PrefillTable(const BenchReport& report) {
  std::vector<std::vector<std::string>> rows{
      {"prefill", "tokens/s", "half of the runs", "Gop/s", "multiply limit", "of the limit", "predicted"}};
  for (const PrefillResult& result : report.prefill) {
    rows.push_back({std::to_string(result.row.tokens), Number("%.1f", result.row.tokens_per_s.median),
                    Spread(result.row.tokens_per_s), Number("%.1f", OpsPerSecond(result) / 1e9),
                    Number("%.1f", result.limit_ops_per_s / 1e9),
                    ShareText(OpsPerSecond(result), result.limit_ops_per_s), Predicted(result.predicted)});
  }
  return FormatTable(rows);
}

std::string DecodeTable(const BenchReport& report) {
  std::vector<std::vector<std::string>> rows{{"decode at", "sequences", "tokens/s", "half of the runs",
                                              "bytes a token", "GB/s", "read limit", "of the limit",
                                              "predicted"}};
  for (const DecodeResult& result : report.decode) {
    const DecodeRow& row = result.row;
    rows.push_back({std::to_string(row.depth), std::to_string(row.batch),
                    Number("%.1f", row.tokens_per_s.median), Spread(row.tokens_per_s),
                    FormatSize(static_cast<uint64_t>(BytesAToken(row))),
                    Number("%.2f", DecodeReadRate(row) / 1e9), Number("%.2f", result.limit_bytes_per_s / 1e9),
                    ShareText(DecodeReadRate(row), result.limit_bytes_per_s), Predicted(result.predicted)});
  }
  return FormatTable(rows);
}

void PrintText(const BenchReport& report, Output& out) {
  out.Print(PrefillTable(report) + "\n" + DecodeTable(report) + "\n");
  out.Print(
      "Limits are measured in this run, beside the model: the same linear nodes alone and over and over, "
      "and\n"
      "reading as many bytes as a step does. " +
      std::to_string(report.plan.repeat) + " runs of " + std::to_string(report.plan.decode) +
      " tokens a sequence; what warms up is not counted.\n"
      "Predicted: " +
      report.prediction + ".\n");
  if (report.load.seconds > 0) {
    const double rate = static_cast<double>(report.load.file_bytes) / report.load.seconds;
    out.Print("Loading: " + FormatSize(report.load.file_bytes) + " in " +
              FormatTimeNs(static_cast<uint64_t>(report.load.seconds * 1e9)) + ", " +
              Number("%.2f", rate / 1e9) + " GB/s");
    if (report.cached_read_bytes_per_s > 0) {
      out.Print(", " + ShareText(rate, report.cached_read_bytes_per_s) + " of the " +
                Number("%.2f", report.cached_read_bytes_per_s / 1e9) +
                " GB/s at which the cached file is read");
    }
    out.Print("\n");
  }
  if (!report.counts_allocations) {
    out.Print("Allocations in a decode step: not counted in this build\n");
  } else if (report.decode_steps > 0) {
    out.Print(
        "Allocations in a decode step: " +
        Number("%.3g", static_cast<double>(report.allocations) / static_cast<double>(report.decode_steps)) +
        "\n");
  }
}

boost::json::object RateJson(const Figure& tokens_per_s) {
  return {{"tokens_per_s", tokens_per_s.median},
          {"tokens_per_s_low", tokens_per_s.low},
          {"tokens_per_s_high", tokens_per_s.high}};
}

boost::json::object PrefillJson(const PrefillResult& result) {
  boost::json::object object = RateJson(result.row.tokens_per_s);
  object["tokens"] = result.row.tokens;
  object["ops_per_s"] = OpsPerSecond(result);
  object["limit_ops_per_s"] = result.limit_ops_per_s;
  object["fraction"] = Share(OpsPerSecond(result), result.limit_ops_per_s);
  object["read_bytes_per_s"] = PrefillReadRate(result);
  if (result.predicted) object["predicted_tokens_per_s"] = *result.predicted;
  return object;
}

boost::json::object DecodeJson(const DecodeResult& result) {
  boost::json::object object = RateJson(result.row.tokens_per_s);
  object["depth"] = result.row.depth;
  object["sequences"] = result.row.batch;
  object["first_depth"] = result.row.first_kv;
  object["last_depth"] = result.row.last_kv;
  object["bytes_per_token"] = BytesAToken(result.row);
  object["read_bytes_per_s"] = DecodeReadRate(result.row);
  object["limit_bytes_per_s"] = result.limit_bytes_per_s;
  object["fraction"] = Share(DecodeReadRate(result.row), result.limit_bytes_per_s);
  if (result.predicted) object["predicted_tokens_per_s"] = *result.predicted;
  return object;
}

// The keys in front are those of the first row of each kind, for scripts that ask for one.
void PrintJson(const BenchReport& report, Output& out) {
  boost::json::object object{{"model", ToValidUtf8(report.model)},
                             {"repeat", report.plan.repeat},
                             {"decode_tokens", report.plan.decode},
                             {"prediction", ToValidUtf8(report.prediction)}};
  if (!report.prefill.empty()) {
    const PrefillResult& first = report.prefill[0];
    object["prefill_tokens"] = first.row.tokens;
    object["prefill_tokens_per_s"] = first.row.tokens_per_s.median;
    object["prefill_read_bytes_per_s"] = PrefillReadRate(first);
  }
  if (!report.decode.empty()) {
    const DecodeResult& first = report.decode[0];
    object["decode_tokens_per_s"] = first.row.tokens_per_s.median;
    object["bytes_per_token"] = BytesAToken(first.row);
    object["read_bytes_per_s"] = DecodeReadRate(first.row);
    object["bandwidth_bytes_per_s"] = first.limit_bytes_per_s;
    object["bandwidth_buffer_bytes"] = first.row.bytes_a_step;
    object["fraction"] = Share(DecodeReadRate(first.row), first.limit_bytes_per_s);
  }
  boost::json::array prefill, decode;
  for (const PrefillResult& result : report.prefill) prefill.push_back(PrefillJson(result));
  for (const DecodeResult& result : report.decode) decode.push_back(DecodeJson(result));
  object["prefill"] = std::move(prefill);
  object["decode"] = std::move(decode);
  object["load"] = boost::json::object{{"file_bytes", report.load.file_bytes},
                                       {"seconds", report.load.seconds},
                                       {"cached_read_bytes_per_s", report.cached_read_bytes_per_s}};
  if (report.counts_allocations && report.decode_steps > 0) {
    object["allocations"] = report.all_allocations;
    object["allocations_per_decode_step"] =
        static_cast<double>(report.allocations) / static_cast<double>(report.decode_steps);
  }
  out.PrintJson(object);
}

}  // namespace

void PrintBench(const BenchReport& report, Output& out) {
  if (out.json) {
    PrintJson(report, out);
  } else {
    PrintText(report, out);
  }
}

}  // namespace motley
