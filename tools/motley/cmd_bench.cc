// motley bench: speed, with the limit that was measured in the same run beside it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "core/base/units.h"
#include "core/text/utf8.h"
#include "tools/motley/alloc_count.h"
#include "tools/motley/answer.h"
#include "tools/motley/bandwidth.h"
#include "tools/motley/bench_linear.h"

namespace motley {
namespace {

struct BenchFlags {
  uint64_t prefill = 512, decode = 64, repeat = 3;
  std::string op;
  LinearBench linear;
};

struct Run {
  double prefill_tokens_per_s = 0, decode_tokens_per_s = 0, read_bytes_per_s = 0;
  double bytes_a_token = 0;
};

struct BenchResult {
  std::vector<Run> runs;
  uint64_t allocations = 0;  // of the decode steps that were counted
  uint64_t counted_steps = 0;
};

// Ids that are ordinary tokens, the same ones in each run.
std::vector<int32_t> MakePrompt(const Tokenizer& tokenizer, uint64_t count) {
  std::vector<int32_t> prompt;
  uint64_t state = 1;
  while (prompt.size() < count) {
    int32_t id = 0;
    for (int attempt = 0; attempt < 64 && (attempt == 0 || tokenizer.type(id) != TokenType::kNormal);
         ++attempt) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      id = static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(tokenizer.vocab_size()));
    }
    prompt.push_back(id);
  }
  return prompt;
}

Request MakeRequest(const Tokenizer& tokenizer, uint64_t prefill, uint64_t decode) {
  Request request;
  request.prompt = MakePrompt(tokenizer, prefill);
  request.max_tokens = decode + 1;  // the first comes from the prompt's step
  request.ignore_end = true;
  return request;
}

// One request, step by step, so that the allocations of each decode step can be seen.
Status RunOnce(Engine& engine, const BenchFlags& flags, Interrupt& interrupt, BenchResult* result) {
  MOTLEY_ASSIGN_OR_RETURN(const uint64_t id,
                          engine.Submit(MakeRequest(engine.tokenizer(), flags.prefill, flags.decode)));
  const bool warm = !result->runs.empty();
  std::vector<Event> events;
  events.reserve(8);
  bool decoding = false;
  while (engine.busy()) {
    if (interrupt.IsSet()) engine.Cancel(id);
    const uint64_t before = AllocationCount();
    MOTLEY_RETURN_IF_ERROR(engine.Step(&events));
    const uint64_t allocations = AllocationCount() - before;
    bool ended = false, made = false;
    for (const Event& event : events) {
      made = made || event.token >= 0;
      if (!event.finish) continue;
      ended = true;
      if (*event.finish == FinishReason::kCancelled) return CancelledError("interrupted");
      if (*event.finish == FinishReason::kError) return event.error;
      const RequestStats& stats = event.stats;
      const double decoded = static_cast<double>(std::max<uint64_t>(stats.completion_tokens, 2) - 1);
      result->runs.push_back({PrefillRate(stats), DecodeRate(stats), ReadRate(stats),
                              static_cast<double>(stats.decode_read_bytes) / decoded});
    }
    // The request's end gives memory back and is no decode step; neither is what warms the engine up.
    if (decoding && warm && !ended) {
      result->allocations += allocations;
      ++result->counted_steps;
    }
    decoding = decoding || made;
  }
  return OkStatus();
}

double Median(const std::vector<Run>& runs, double Run::*figure) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(run.*figure);
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string Number(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

std::string LimitText(const Bandwidth& limit) {
  return Number("%.2f GB/s", limit.bytes_per_s / 1e9) + " read from " + FormatSize(limit.buffer_bytes) +
         " by " + std::to_string(limit.threads) + (limit.threads == 1 ? " thread in " : " threads in ") +
         std::to_string(limit.streams) + (limit.streams == 1 ? " stream" : " streams");
}

void PrintText(const BenchFlags& flags, const Run& median, const Run& prefill, const Bandwidth& limit,
               const BenchResult& result, Output& out) {
  const auto share = [&](double rate) {
    return limit.bytes_per_s > 0 ? Number("%.0f %%", 100 * rate / limit.bytes_per_s) : std::string("-");
  };
  out.Print(
      FormatTable({{"", "tokens", "tokens/s", "bytes a token", "GB/s", "of the limit"},
                   {"prefill", std::to_string(flags.prefill), Number("%.1f", median.prefill_tokens_per_s),
                    FormatSize(static_cast<uint64_t>(prefill.bytes_a_token)),
                    Number("%.2f", prefill.read_bytes_per_s / 1e9), share(prefill.read_bytes_per_s)},
                   {"decode", std::to_string(flags.decode), Number("%.1f", median.decode_tokens_per_s),
                    FormatSize(static_cast<uint64_t>(median.bytes_a_token)),
                    Number("%.2f", median.read_bytes_per_s / 1e9), share(median.read_bytes_per_s)}}));
  out.Print("\nlimit, measured in this run: " + LimitText(limit) + "\n");
  if (!CanCountAllocations()) {
    out.Print("Allocations in a decode step: not counted in this build\n");
  } else if (result.counted_steps > 0) {
    out.Print(
        "Allocations in a decode step: " +
        Number("%.3g", static_cast<double>(result.allocations) / static_cast<double>(result.counted_steps)) +
        "\n");
  }
}

void PrintJson(const BenchFlags& flags, const std::string& model, const Run& median, const Run& prefill,
               const Bandwidth& limit, const BenchResult& result, Output& out) {
  boost::json::object object{{"model", ToValidUtf8(model)},
                             {"prefill_tokens", flags.prefill},
                             {"prefill_tokens_per_s", median.prefill_tokens_per_s},
                             {"prefill_read_bytes_per_s", prefill.read_bytes_per_s},
                             {"decode_tokens", flags.decode},
                             {"decode_tokens_per_s", median.decode_tokens_per_s},
                             {"bytes_per_token", median.bytes_a_token},
                             {"read_bytes_per_s", median.read_bytes_per_s},
                             {"bandwidth_bytes_per_s", limit.bytes_per_s},
                             {"bandwidth_buffer_bytes", limit.buffer_bytes},
                             {"repeat", flags.repeat}};
  object["fraction"] = limit.bytes_per_s > 0 ? median.read_bytes_per_s / limit.bytes_per_s : 0.0;
  if (CanCountAllocations() && result.counted_steps > 0) {
    object["allocations"] = AllocationCount();  // of the whole run: shows that the counter counts
    object["allocations_per_decode_step"] =
        static_cast<double>(result.allocations) / static_cast<double>(result.counted_steps);
  }
  out.PrintJson(object);
}

Status BenchModel(const BenchFlags& flags, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(Config config, MakeConfig(launcher.flags));
  if (config.model.path.empty())
    return InvalidArgumentError(
        "motley bench: no model: give one by -m MODEL, or as model.path in the TOML file; or measure an op: "
        "--op linear");
  if (!config.model.context) config.model.context = flags.prefill + flags.decode + 1;
  MOTLEY_ASSIGN_OR_RETURN(const OpenedEngine opened, OpenEngine(launcher, config, 0));
  Engine& engine = *opened.engine;
  const auto depth = static_cast<int64_t>(flags.prefill + flags.decode / 2);
  const uint32_t threads = opened.base.host->threads();
  Bandwidth limit = MeasureReadBandwidth(engine.DecodeReadBytes(depth), threads);
  BenchResult result;
  // One run more than is asked for: the first warms pages, clocks and plugins up, and is not counted.
  for (uint64_t i = 0; i <= flags.repeat; ++i)
    MOTLEY_RETURN_IF_ERROR(RunOnce(engine, flags, launcher.interrupt, &result));
  result.runs.erase(result.runs.begin());
  // Before and after, as a shared machine changes from second to second; the better one counts.
  if (const Bandwidth after = MeasureReadBandwidth(engine.DecodeReadBytes(depth), threads);
      after.bytes_per_s > limit.bytes_per_s)
    limit = after;
  const Run median{Median(result.runs, &Run::prefill_tokens_per_s),
                   Median(result.runs, &Run::decode_tokens_per_s),
                   Median(result.runs, &Run::read_bytes_per_s), Median(result.runs, &Run::bytes_a_token)};
  // A prompt reads every weight once a step.
  const double steps =
      std::ceil(static_cast<double>(flags.prefill) / static_cast<double>(config.schedule.step_tokens));
  Run prefill;
  prefill.bytes_a_token =
      steps * static_cast<double>(engine.DecodeReadBytes(0)) / static_cast<double>(flags.prefill);
  prefill.read_bytes_per_s = prefill.bytes_a_token * median.prefill_tokens_per_s;
  if (launcher.out.json) {
    PrintJson(flags, std::filesystem::path(config.model.path).filename().string(), median, prefill, limit,
              result, launcher.out);
  } else {
    PrintText(flags, median, prefill, limit, result, launcher.out);
  }
  return OkStatus();
}

Status Bench(const BenchFlags& flags, Launcher& launcher) {
  if (flags.op.empty()) return BenchModel(flags, launcher);
  if (flags.op != "linear")
    return InvalidArgumentError("--op " + flags.op +
                                ": must be linear, the one op that is measured alone so far");
  return RunLinearBench(flags.linear, launcher);
}

}  // namespace

void AddBench(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<BenchFlags>();
  CLI::App* command =
      AddCommand(app, launcher, "bench", "prefill and decode speed, with the limit measured in the same run",
                 "  motley bench -m model.gguf\n"
                 "  motley bench -m model.gguf --prefill 2048 --decode 128 --repeat 5 --json\n"
                 "  motley bench --op linear --format Q4_K --rows 16384 --cols 8192 --device cpu_avx512:0",
                 [flags](Launcher& l) { return Bench(*flags, l); });
  AddModelFlag(*command, launcher);
  command->add_option("--prefill", flags->prefill, "tokens of the prompt")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--decode", flags->decode, "tokens of the answer")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--repeat", flags->repeat, "runs, of which the median counts; one more warms up")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--op", flags->op, "measure one op alone: linear")->type_name("OP");
  command->add_option("--format", flags->linear.format, "of --op: the weight's format")
      ->type_name("FORMAT")
      ->capture_default_str();
  command->add_option("--rows", flags->linear.rows, "of --op: the weight's rows")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--cols", flags->linear.cols, "of --op: the weight's columns")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--tokens", flags->linear.tokens, "of --op: rows of the activation")
      ->type_name("N")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
}

}  // namespace motley
