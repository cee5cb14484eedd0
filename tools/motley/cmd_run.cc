// motley run: one answer, or a chat.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>

#include "core/base/units.h"
#include "core/text/stop_matcher.h"
#include "core/text/utf8.h"
#include "tools/motley/answer.h"
#include "tools/motley/bandwidth.h"
#include "tools/motley/exit_code.h"
#include "tools/motley/launcher.h"

namespace motley {
namespace {

struct RunFlags {
  std::string prompt, file, thinking;
  bool has_prompt = false, has_file = false;
  bool raw = false, stats = false;
  std::vector<std::string> stop;
  KeyFlag system, max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, seed;
};

StatusOr<Config> RunConfig(const RunFlags& flags, const CommonFlags& common) {
  MOTLEY_ASSIGN_OR_RETURN(
      Config config, MakeConfig(common, {&flags.system, &flags.max_tokens, &flags.temperature, &flags.top_k,
                                         &flags.top_p, &flags.min_p, &flags.repeat_penalty, &flags.seed}));
  if (flags.raw) config.chat.raw = true;
  if (!flags.stop.empty()) config.sampling.stop = flags.stop;
  if (!flags.thinking.empty()) {
    if (flags.thinking != "on" && flags.thinking != "off")
      return InvalidArgumentError("--thinking " + flags.thinking + ": must be on or off");
    config.chat.thinking = flags.thinking == "on";
  }
  if (config.model.path.empty())
    return InvalidArgumentError(
        "motley run: no model: give one by -m MODEL, or as model.path in the TOML file");
  MOTLEY_RETURN_IF_ERROR(
      StopMatcher::Create(config.sampling.stop, flags.stop.empty() ? config.Where("sampling.stop") : "--stop")
          .status());
  return config;
}

// The prompt, where there is one: absent on a terminal means a chat.
StatusOr<std::optional<std::string>> FindPrompt(const RunFlags& flags, const Output& out) {
  if (flags.has_prompt && flags.has_file)
    return InvalidArgumentError("motley run: give the prompt as PROMPT or by -f FILE, not both");
  if (flags.has_prompt && flags.prompt != "-") return std::optional(flags.prompt);
  if (!flags.has_prompt && !flags.has_file && out.stdin_is_terminal()) {
    if (!out.json) return std::optional<std::string>();
    return InvalidArgumentError("motley run: --json needs a prompt: give PROMPT, -f FILE or -");
  }
  MOTLEY_ASSIGN_OR_RETURN(std::string text, ReadTextFile(flags.has_file ? flags.file : "-"));
  if (text.empty())
    return InvalidArgumentError(
        "motley run: the prompt is empty: give PROMPT, or -f FILE with something in it");
  return std::optional(std::move(text));
}

// How a conversation becomes tokens. Made before the weights are loaded, so that a template that cannot be
// used is told of at once.
class Prompter {
 public:
  static StatusOr<Prompter> Create(const ModelFiles& files, const Config& config) {
    Prompter prompter;
    prompter.raw_ = config.chat.raw;
    if (!config.chat.system.empty() && !config.chat.raw)
      prompter.system_.push_back({"system", config.chat.system});
    if (prompter.raw_) return prompter;
    auto format = ChatFormat::Create(files.chat_template, *files.tokenizer);
    if (!format.ok())
      return Status(format.status().code(), files.file->metadata().origin() + ": " +
                                                format.status().message() +
                                                "; --raw goes without a template");
    prompter.format_ = std::make_unique<ChatFormat>(*std::move(format));
    return prompter;
  }

  StatusOr<std::vector<int32_t>> Encode(const std::vector<ChatMessage>& turns,
                                        const Tokenizer& tokenizer) const {
    if (raw_) return tokenizer.Encode(turns.back().content);
    std::vector<ChatMessage> messages = system_;
    messages.insert(messages.end(), turns.begin(), turns.end());
    MOTLEY_ASSIGN_OR_RETURN(const auto segments, format_->Render(messages, true));
    return tokenizer.EncodeSegments(segments);
  }

 private:
  bool raw_ = false;
  std::vector<ChatMessage> system_;
  std::unique_ptr<ChatFormat> format_;
};

Request MakeRequest(const Config& config, std::vector<int32_t> prompt, uint64_t seed) {
  const Config::Sampling& sampling = config.sampling;
  Request request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = sampling.temperature;
  request.sampling.top_k = sampling.top_k;
  request.sampling.top_p = sampling.top_p;
  request.sampling.min_p = sampling.min_p;
  request.sampling.repeat_penalty = sampling.repeat_penalty;
  request.sampling.seed = seed;
  request.max_tokens = sampling.max_tokens;
  request.stop = sampling.stop;
  return request;
}

uint64_t SeedOf(const Config& config, const Output& out, int verbose) {
  if (config.sampling.seed) return *config.sampling.seed;
  std::random_device device;
  const uint64_t seed = (static_cast<uint64_t>(device()) << 31 ^ device()) & 0x7fffffffffffffffull;
  if (verbose > 0 && config.sampling.temperature > 0 && !out.json)
    std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

std::string Number(double value, const char* format = "%.1f") {
  char buffer[48];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

// One line: what was done, how fast, and how near to the limit.
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

Status FinishOf(const Answer& answer) {
  return answer.reason == FinishReason::kCancelled ? CancelledError("interrupted") : OkStatus();
}

Status AnswerInJson(Engine& engine, Request request, const std::string& model, const Bandwidth& limit,
                    Launcher& launcher) {
  Output& out = launcher.out;
  const uint64_t prompt_tokens = request.prompt.size();
  out.PrintJson({{"type", "start"}, {"model", ToValidUtf8(model)}, {"prompt_tokens", prompt_tokens}});
  const auto answer =
      RunRequest(engine, std::move(request), launcher.interrupt, [&](int32_t id, std::string_view text) {
        out.PrintJson({{"type", "token"}, {"id", id}, {"text", text}});
        out.Flush();
      });
  if (!answer.ok()) return answer.status();
  boost::json::object end{{"type", "end"},
                          {"reason", FinishReasonName(answer->reason)},
                          {"prompt_tokens", answer->stats.prompt_tokens},
                          {"completion_tokens", answer->stats.completion_tokens},
                          {"prefill_tokens_per_s", PrefillRate(answer->stats)},
                          {"decode_tokens_per_s", DecodeRate(answer->stats)},
                          {"read_bytes_per_s", ReadRate(answer->stats)}};
  if (limit.bytes_per_s > 0) end["bandwidth_bytes_per_s"] = limit.bytes_per_s;
  out.PrintJson(end);
  out.result_ended = true;
  return FinishOf(*answer);
}

// Prints the answer as it comes and returns it.
StatusOr<std::string> AnswerInText(Engine& engine, Request request, const Bandwidth& limit, bool stats,
                                   Launcher& launcher, Status* finish) {
  Output& out = launcher.out;
  std::string text;
  const auto answer =
      RunRequest(engine, std::move(request), launcher.interrupt, [&](int32_t, std::string_view piece) {
        text += piece;
        out.Print(piece);
        if (!piece.empty()) out.Flush();
      });
  if (!text.empty() && text.back() != '\n') out.Print("\n");
  out.Flush();
  if (!answer.ok()) return answer.status();
  if (stats) out.Note(StatsLine(answer->stats, limit));
  *finish = FinishOf(*answer);
  return text;
}

// A line from the terminal; absent at its end (Ctrl-D). Ctrl-C here ends the process, as nothing is under
// way.
std::optional<std::string> ReadLine(Launcher& launcher) {
  launcher.interrupt.OnInterrupt([] {
    std::fputs("\n", stderr);
    _exit(kExitInterrupted);
  });
  launcher.out.Print(launcher.out.Bold("> "));
  launcher.out.Flush();
  std::string line;
  const bool there = static_cast<bool>(std::getline(std::cin, line));
  launcher.interrupt.OnInterruptOnlySetFlag();
  if (!there) return std::nullopt;
  return line;
}

Status Chat(Engine& engine, const Prompter& prompter, const Config& config, uint64_t seed, bool stats,
            Launcher& launcher) {
  launcher.out.Note("A chat: Ctrl-D ends it, Ctrl-C ends an answer.");
  std::vector<ChatMessage> turns;
  for (;;) {
    std::optional<std::string> line = ReadLine(launcher);
    if (!line) break;
    if (line->empty()) continue;
    turns.push_back({"user", *std::move(line)});
    MOTLEY_ASSIGN_OR_RETURN(std::vector<int32_t> prompt, prompter.Encode(turns, engine.tokenizer()));
    Status finish;
    auto answer =
        AnswerInText(engine, MakeRequest(config, std::move(prompt), seed), {}, stats, launcher, &finish);
    launcher.interrupt.Clear();
    if (answer.ok()) {
      turns.push_back({"assistant", *std::move(answer)});
    } else if (answer.status().code() ==
               Code::kInvalidArgument) {  // the conversation has outgrown the context
      launcher.out.Note(answer.status().message());
      turns.pop_back();
    } else {
      return answer.status();
    }
  }
  launcher.out.Print("\n");
  return OkStatus();
}

Status Run(const RunFlags& flags, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(Config config, RunConfig(flags, launcher.flags));
  MOTLEY_ASSIGN_OR_RETURN(const std::optional<std::string> prompt, FindPrompt(flags, launcher.out));
  std::vector<int32_t> tokens;
  Prompter prompter;
  {
    Logger errors(LogLevel::kError);  // the engine says the warnings once more
    MOTLEY_ASSIGN_OR_RETURN(const ModelFiles files, OpenVocabulary(config.model.path, errors));
    MOTLEY_ASSIGN_OR_RETURN(prompter, Prompter::Create(files, config));
    if (prompt) {
      MOTLEY_ASSIGN_OR_RETURN(tokens, prompter.Encode({{"user", *prompt}}, *files.tokenizer));
    }
  }
  if (config.chat.thinking && !config.chat.raw)
    launcher.out.Note("--thinking: the built-in ChatML form has no such switch; it is ignored");
  MOTLEY_ASSIGN_OR_RETURN(const OpenedEngine opened, OpenEngine(launcher, config, tokens.size()));
  Engine& engine = *opened.engine;
  const uint64_t seed = SeedOf(config, launcher.out, launcher.flags.verbose);
  if (!prompt) return Chat(engine, prompter, config, seed, flags.stats, launcher);
  Bandwidth limit;
  if (flags.stats)
    limit = MeasureReadBandwidth(engine.DecodeReadBytes(static_cast<int64_t>(tokens.size())),
                                 opened.base.host->threads());
  Request request = MakeRequest(config, std::move(tokens), seed);
  if (launcher.out.json)
    return AnswerInJson(engine, std::move(request),
                        std::filesystem::path(config.model.path).filename().string(), limit, launcher);
  Status finish;
  MOTLEY_RETURN_IF_ERROR(
      AnswerInText(engine, std::move(request), limit, flags.stats, launcher, &finish).status());
  return finish;
}

}  // namespace

void AddRun(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<RunFlags>();
  CLI::App* command =
      AddCommand(app, launcher, "run", "an answer to a prompt; on a terminal without one, a chat",
                 "  motley run -m model.gguf \"Why is the sky blue?\"\n"
                 "  motley run -m model.gguf                                a chat\n"
                 "  motley run -m model.gguf -f prompt.txt --max-tokens 200 --stats\n"
                 "  motley run -m model.gguf --raw \"Once upon a time\" --temperature 0.8 --seed 7\n"
                 "  motley run -m model.gguf --pin \"layers.0-9=ref:0\" Hi       some layers elsewhere",
                 [flags](Launcher& l) { return Run(*flags, l); });
  AddModelFlag(*command, launcher);
  command->add_option_function<std::string>(
      "PROMPT",
      [flags](const std::string& t) {
        flags->prompt = t;
        flags->has_prompt = true;
      },
      "what to ask; - reads standard input");
  command
      ->add_option_function<std::string>(
          "-f,--file",
          [flags](const std::string& f) {
            flags->file = f;
            flags->has_file = true;
          },
          "a file with the prompt; - is standard input")
      ->type_name("FILE");
  AddKeyFlag(*command, flags->system, "--system", "chat.system", "the system message");
  command->add_flag("--raw", flags->raw, "the prompt as it is, without the chat template");
  AddKeyFlag(*command, flags->max_tokens, "-n,--max-tokens", "sampling.max_tokens",
             "tokens of the answer, at most");
  AddKeyFlag(*command, flags->temperature, "--temperature", "sampling.temperature",
             "0 (default) takes the likeliest token; more is more varied");
  AddKeyFlag(*command, flags->top_k, "--top-k", "sampling.top_k",
             "choose among the k likeliest tokens; 0 = among all");
  AddKeyFlag(*command, flags->top_p, "--top-p", "sampling.top_p",
             "choose among the likeliest tokens that hold this share; 1 = among all");
  AddKeyFlag(*command, flags->min_p, "--min-p", "sampling.min_p",
             "leave out tokens below this share of the likeliest");
  AddKeyFlag(*command, flags->repeat_penalty, "--repeat-penalty", "sampling.repeat_penalty",
             "above 1 makes tokens that occurred less likely");
  AddKeyFlag(*command, flags->seed, "--seed", "sampling.seed", "the same seed gives the same answer");
  command->add_option("--stop", flags->stop, "the answer ends before this text (repeatable)")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command->add_option("--thinking", flags->thinking, "on or off, where the model's template knows it")
      ->type_name("on|off");
  command->add_flag("--stats", flags->stats, "speed and its share of the memory bandwidth, on stderr");
}

}  // namespace motley
