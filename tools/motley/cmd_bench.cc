// motley bench: speed, with the limit that was measured in the same run beside it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "core/model/model.h"
#include "tools/motley/alloc_count.h"
#include "tools/motley/answer.h"
#include "tools/motley/bench_limits.h"
#include "tools/motley/bench_linear.h"
#include "tools/motley/bench_model.h"
#include "tools/motley/bench_report.h"

namespace motley {
namespace {

constexpr uint64_t kMostRows = 256;              // of the tables
constexpr uint64_t kMostReadAgain = 1ull << 30;  // bytes of the file, to see how fast it is read when cached

struct BenchFlags {
  BenchPlan plan{{512}, {}, {1}, 64, 3};
  KeyFlag profile;
  std::string op;
  LinearBench linear;
};

std::string Listed(const std::vector<uint64_t>& values) {
  std::string text;
  for (uint64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

// Whether the model's own limit, or the context that was asked for, has room for all of it; before anything
// is loaded.
Status CheckContext(const Config& config, const WeightsFile& file, const BenchPlan& plan, uint64_t need) {
  uint64_t room = config.model.context.value_or(0);
  std::string whose = "--context " + std::to_string(room);
  if (!config.model.context) {
    MOTLEY_ASSIGN_OR_RETURN(const Model model, Model::Read(file));
    room = static_cast<uint64_t>(model.params().context_length);
    whose = "the model's context of " + std::to_string(room);
  }
  if (need <= room) return OkStatus();
  for (uint64_t tokens : plan.prompts) {
    if (tokens + 1 > room) {
      return InvalidArgumentError("motley bench: --prompt-tokens " + std::to_string(tokens) +
                                  " does not fit in " + whose + ": ask for fewer, or for a larger --context");
    }
  }
  return InvalidArgumentError("motley bench: --depth " + Listed(plan.depths) + " with --batch " +
                              Listed(plan.batches) + ", --decode " + std::to_string(plan.decode) +
                              " and --repeat " + std::to_string(plan.repeat) + " takes a context of " +
                              std::to_string(need) + " tokens, which does not fit in " + whose +
                              ": ask for less of them, or for a larger --context");
}

// How fast the file is read when the system has it in memory, as it has just been loaded: by read() into one
// buffer that is used over and over. 0 where it can't be read.
double CachedReadRate(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::vector<char> buffer(1 << 20);
  double best = 0;
  for (int pass = 0; pass < 2; ++pass) {  // the first may still come from the disk
    const auto start = std::chrono::steady_clock::now();
    uint64_t bytes = 0;
    for (ssize_t count; bytes < kMostReadAgain &&
                        (count = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(bytes))) > 0;)
      bytes += static_cast<uint64_t>(count);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds > 0) best = std::max(best, static_cast<double>(bytes) / seconds);
  }
  close(fd);
  return best;
}

// Tokens a second, as the probe's profile foretells them.
class Foretold {
 public:
  Foretold(const PlannedModel& planned, const ProbeProfile* profile) : planned_(planned), profile_(profile) {}

  std::optional<double> Prefill(uint64_t tokens, uint64_t step_tokens) const {
    double seconds = 0;
    for (uint64_t done = 0; done < tokens; done += step_tokens) {
      const auto step = Seconds(
          {static_cast<int64_t>(std::min(step_tokens, tokens - done)), 1, static_cast<int64_t>(done)});
      if (!step) return std::nullopt;
      seconds += *step;
    }
    return static_cast<double>(tokens) / seconds;
  }
  std::optional<double> Decode(const DecodeRow& row) const {
    const auto sequences = static_cast<int64_t>(row.batch);
    const auto middle = static_cast<int64_t>((row.first_kv + row.last_kv) / 2);
    const auto step = Seconds({sequences, sequences, sequences * middle});
    if (!step) return std::nullopt;
    return static_cast<double>(row.batch) / *step;
  }

 private:
  std::optional<double> Seconds(const StepShape& step) const {
    return PredictStepSeconds(*planned_.compiled, planned_.segment_work, profile_, step);
  }
  const PlannedModel& planned_;
  const ProbeProfile* profile_;
};

StatusOr<PrefillResult> MeasurePrefill(uint64_t tokens, uint64_t step_tokens, const Engine& engine,
                                       BenchLimits& limits, BenchRunner& runner) {
  PrefillResult result;
  result.operations = limits.Operations(tokens);
  MOTLEY_ASSIGN_OR_RETURN(result.row, runner.Prefill(tokens));
  MOTLEY_ASSIGN_OR_RETURN(result.limit_ops_per_s, limits.MultiplyRate(std::min(tokens, step_tokens)));
  const double steps = std::ceil(static_cast<double>(tokens) / static_cast<double>(step_tokens));
  result.read_bytes = steps * static_cast<double>(engine.DecodeReadBytes(0));
  return result;
}

// The limit before and after, as a shared machine changes from second to second; the better one counts.
StatusOr<DecodeResult> MeasureDecode(uint64_t depth, uint64_t batch, const BenchPlan& plan,
                                     BenchLimits& limits, BenchRunner& runner) {
  const double context = static_cast<double>((depth + plan.decode * plan.repeat / 2) * batch);
  DecodeResult result;
  MOTLEY_ASSIGN_OR_RETURN(const double before, limits.ReadRate(context));
  MOTLEY_ASSIGN_OR_RETURN(result.row, runner.Decode(depth, batch));
  MOTLEY_ASSIGN_OR_RETURN(const double after, limits.ReadRate(context));
  result.limit_bytes_per_s = std::max(before, after);
  return result;
}

Status BenchModel(const BenchFlags& flags, Launcher& launcher) {
  BenchReport report;
  BenchPlan& plan = report.plan;
  plan = flags.plan;
  if (plan.depths.empty()) plan.depths = plan.prompts;  // what follows the prompt, as in an answer
  if (plan.prompts.size() + plan.depths.size() * plan.batches.size() > kMostRows)
    return InvalidArgumentError("motley bench: more than " + std::to_string(kMostRows) +
                                " rows: ask for fewer of --prompt-tokens, --depth and --batch");
  MOTLEY_ASSIGN_OR_RETURN(Config config, MakeConfig(launcher.flags, {&flags.profile}));
  if (config.model.path.empty())
    return InvalidArgumentError(
        "motley bench: no model: give one by -m MODEL, or as model.path in the TOML file; or measure an op: "
        "--op linear");
  const auto most = static_cast<uint32_t>(*std::max_element(plan.batches.begin(), plan.batches.end()));
  config.model.sequences = std::max(config.model.sequences, most);
  const uint64_t step_tokens = config.schedule.step_tokens;
  const uint64_t context = ContextFor(plan, step_tokens);
  Logger errors(LogLevel::kError);  // the engine gives the warnings
  MOTLEY_ASSIGN_OR_RETURN(ModelFiles files, OpenVocabulary(config.model.path, errors));
  MOTLEY_RETURN_IF_ERROR(CheckContext(config, *files.file, plan, context));
  config.model.context = config.model.context.value_or(context);

  MOTLEY_ASSIGN_OR_RETURN(const OpenedEngine opened, OpenEngine(launcher, config, 0, 0, std::move(files), true));
  Engine& engine = *opened.engine;
  report.model = std::filesystem::path(config.model.path).filename().string();
  report.load = engine.load_stats();
  report.cached_read_bytes_per_s = CachedReadRate(config.model.path);
  BenchLimits limits(engine.planned(), opened.base.host->threads(),
                     [&] { return launcher.interrupt.IsSet(); });
  BenchRunner runner(engine, plan, launcher.interrupt);
  const Foretold foretold(engine.planned(), opened.profile.profile ? &*opened.profile.profile : nullptr);
  report.prediction = engine.plan().times.basis;
  for (uint64_t tokens : plan.prompts) {
    MOTLEY_ASSIGN_OR_RETURN(auto result, MeasurePrefill(tokens, step_tokens, engine, limits, runner));
    result.predicted = foretold.Prefill(tokens, step_tokens);
    report.prefill.push_back(std::move(result));
  }
  for (uint64_t batch : plan.batches) {
    for (uint64_t depth : plan.depths) {
      MOTLEY_ASSIGN_OR_RETURN(auto result, MeasureDecode(depth, batch, plan, limits, runner));
      result.predicted = foretold.Decode(result.row);
      report.decode.push_back(std::move(result));
    }
  }
  report.counts_allocations = CanCountAllocations();
  report.allocations = runner.allocations();
  report.decode_steps = runner.decode_steps();
  report.all_allocations = AllocationCount();
  PrintBench(report, launcher.out);
  return OkStatus();
}

Status Bench(const BenchFlags& flags, Launcher& launcher) {
  if (flags.op.empty()) return BenchModel(flags, launcher);
  if (flags.op != "linear")
    return InvalidArgumentError("--op " + flags.op +
                                ": must be linear, the one op that is measured alone so far");
  return RunLinearBench(flags.linear, launcher);
}

void AddOpFlags(CLI::App& command, BenchFlags& flags) {
  const char* group = "One op alone";
  command.add_option("--op", flags.op, "measure one op alone: linear")->type_name("OP")->group(group);
  command.add_option("--format", flags.linear.format, "of --op: the weight's format")
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(group);
  const auto count = [&](const char* name, int64_t& value, const char* what, int most) {
    command.add_option(name, value, what)
        ->type_name("N")
        ->check(CLI::Range(1, most))
        ->capture_default_str()
        ->group(group);
  };
  count("--rows", flags.linear.rows, "of --op: the weight's rows", 1 << 24);
  count("--cols", flags.linear.cols, "of --op: the weight's columns", 1 << 24);
  count("--tokens", flags.linear.tokens, "of --op: rows of the activation", 4096);
}

}  // namespace

void AddBench(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<BenchFlags>();
  CLI::App* command =
      AddCommand(app, launcher, "bench", "prefill and decode speed, with the limit measured in the same run",
                 "  motley bench -m model.gguf\n"
                 "  motley bench -m model.gguf --prompt-tokens 512,2048 --depth 0,512,4096 --batch 1,2,4,8\n"
                 "  motley bench -m model.gguf --decode 128 --repeat 5 --json\n"
                 "  motley bench --op linear --format Q4_K --rows 16384 --cols 8192 --device cpu_avx512:0",
                 [flags](Launcher& l) { return Bench(*flags, l); });
  AddModelFlag(*command, launcher);
  const auto list = [&](const char* names, std::vector<uint64_t>& values, const char* what, int least,
                        int most) {
    return command->add_option(names, values, what)
        ->type_name("N,N,...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(least, most));
  };
  list("--prefill,--prompt-tokens", flags->plan.prompts, "tokens of the prompts that are measured", 1,
       1 << 20)
      ->capture_default_str();
  list("--depth", flags->plan.depths, "tokens in the cache where decoding begins; default: each prompt's", 0,
       1 << 20);
  list("--batch", flags->plan.batches, "sequences that decode at once", 1, 4096)->capture_default_str();
  command->add_option("--decode", flags->plan.decode, "tokens of each sequence, a run")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--repeat", flags->plan.repeat,
                   "runs, of which the median counts; what warms up is not one of them")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  AddKeyFlag(*command, flags->profile, "--profile", "probe.profile",
             "what motley probe wrote, for predictions; default: the one in the state folder");
  AddOpFlags(*command, *flags);
}

}  // namespace motley
