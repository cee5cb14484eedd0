// motley run: one answer, or a chat.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>

#include "core/text/stop_matcher.h"
#include "core/text/utf8.h"
#include "tools/motley/answer.h"
#include "tools/motley/answer_printer.h"
#include "tools/motley/answer_report.h"
#include "tools/motley/chat.h"
#include "tools/motley/engine_chat_model.h"
#include "tools/motley/launcher.h"

namespace motley {
namespace {

struct RunFlags {
  GivenText prompt, file;
  std::string thinking;
  bool raw = false, stats = false, no_history = false;
  std::vector<std::string> stop;
  KeyFlag system, max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, seed;
};

StatusOr<Config> RunConfig(const RunFlags& flags, const CommonFlags& common) {
  MOTLEY_ASSIGN_OR_RETURN(
      Config config, MakeConfig(common, {&flags.system, &flags.max_tokens, &flags.temperature, &flags.top_k,
                                         &flags.top_p, &flags.min_p, &flags.repeat_penalty, &flags.seed}));
  if (flags.raw) config.chat.raw = true;
  if (flags.no_history) config.chat.history = false;
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
  if (flags.prompt.given && flags.file.given)
    return InvalidArgumentError("motley run: give the prompt as PROMPT or by -f FILE, not both");
  if (flags.prompt.given && flags.prompt.text != "-") return std::optional(flags.prompt.text);
  if (!flags.prompt.given && !flags.file.given && out.stdin_is_terminal()) {
    if (!out.json) return std::optional<std::string>();
    return InvalidArgumentError("motley run: --json needs a prompt: give PROMPT, -f FILE or -");
  }
  MOTLEY_ASSIGN_OR_RETURN(std::string text, ReadTextFile(flags.file.given ? flags.file.text : "-"));
  if (text.empty())
    return InvalidArgumentError(
        "motley run: the prompt is empty: give PROMPT, or -f FILE with something in it");
  return std::optional(std::move(text));
}

uint64_t SeedOf(const Config& config, const Output& out, int verbose) {
  if (config.sampling.seed) return *config.sampling.seed;
  std::random_device device;
  const uint64_t seed = (static_cast<uint64_t>(device()) << 31 ^ device()) & 0x7fffffffffffffffull;
  if (verbose > 0 && config.sampling.temperature > 0 && !out.json)
    std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

std::string ModelName(const Config& config) {
  return std::filesystem::path(config.model.path).filename().string();
}

Status FinishOf(const AnsweredTurn& answer) {
  return answer.reason == FinishReason::kCancelled ? CancelledError("interrupted") : OkStatus();
}

// One answer, as objects on lines of their own.
Status AnswerInJson(ChatModel& model, const Conversation& conversation, const AnswerOptions& options,
                    uint64_t prompt_tokens, const std::string& name, const Bandwidth& limit,
                    Launcher& launcher) {
  Output& out = launcher.out;
  out.PrintJson({{"type", "start"}, {"model", ToValidUtf8(name)}, {"prompt_tokens", prompt_tokens}});
  AnswerSink sink;
  sink.on_piece = [&](int32_t id, std::string_view text, Channel channel) {
    out.PrintJson(
        {{"type", channel == Channel::kAnswer ? "token" : "reasoning"}, {"id", id}, {"text", text}});
    out.Flush();
  };
  const auto answer = model.Answer(conversation, options, launcher.interrupt, sink);
  if (!answer.ok()) return answer.status();
  out.PrintJson(EndJson(answer->reason, answer->stats, limit));
  out.result_ended = true;
  return FinishOf(*answer);
}

// One answer, as it comes.
Status AnswerInText(ChatModel& model, const Conversation& conversation, const AnswerOptions& options,
                    const Bandwidth& limit, bool stats, Launcher& launcher) {
  AnswerPrinter printer(launcher.out, launcher.interrupt);
  const auto answer = model.Answer(conversation, options, launcher.interrupt, printer.Sink());
  printer.End();
  if (!answer.ok()) return answer.status();
  if (stats) launcher.out.Note(StatsLine(answer->stats, limit));
  return FinishOf(*answer);
}

History OpenHistory(const Config& config, Output& out) {
  const std::string path = config.chat.history ? HistoryPath() : "";
  if (path.empty()) return {};
  Status problem;
  History history = History::Open(path, &problem);
  if (!problem.ok()) out.Note("warning: " + problem.message());
  return history;
}

Status RunChat(ChatModel& model, const Config& config, const AnswerOptions& options, bool stats,
               Launcher& launcher) {
  Output& out = launcher.out;
  History history = OpenHistory(config, out);
  const auto reader = MakeLineReader(out, launcher.interrupt, CompleteChatLine);
  out.Note("A chat with " + ModelName(config) +
           ": /help lists commands, Ctrl-C ends an answer, Ctrl-D leaves.");
  ChatOptions chat_options;
  chat_options.system = config.chat.raw ? "" : config.chat.system;
  chat_options.thinking = options.thinking;
  chat_options.seed = options.seed;
  chat_options.stats = stats;
  return Chat(model, *reader, history, chat_options, out, launcher.interrupt).Run();
}

// How a conversation becomes tokens; absent where the text is taken as it is. Made before the weights are loaded, so
// that a template that cannot be used is told of at once.
StatusOr<std::optional<ChatPrompter>> MakePrompter(const ModelFiles& files, const Config& config, Output& out) {
  if (config.chat.raw) return std::optional<ChatPrompter>();
  ChatSettings settings;
  settings.thinking = config.chat.thinking;
  std::vector<std::string> warnings;
  auto prompter = ChatPrompter::Create(files, settings, &warnings);
  for (const std::string& warning : warnings) out.Note("warning: " + warning);
  if (!prompter.ok()) return prompter.status();
  return std::optional<ChatPrompter>(*std::move(prompter));
}

StatusOr<uint64_t> CountTokens(const Conversation& conversation, const std::optional<ChatPrompter>& prompter,
                               const Tokenizer& tokenizer) {
  if (!prompter) {
    MOTLEY_ASSIGN_OR_RETURN(const auto tokens, tokenizer.Encode(conversation.turns.back().content));
    return tokens.size();
  }
  MOTLEY_ASSIGN_OR_RETURN(const auto prompt, prompter->Encode(ConversationJson(conversation)));
  return prompt.tokens.size();
}

Status Run(const RunFlags& flags, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(Config config, RunConfig(flags, launcher.flags));
  MOTLEY_ASSIGN_OR_RETURN(const std::optional<std::string> prompt, FindPrompt(flags, launcher.out));
  Conversation conversation;
  if (!config.chat.raw) conversation.system = config.chat.system;
  uint64_t prompt_tokens = 0;
  Logger errors(LogLevel::kError);  // the engine says the warnings about the file
  MOTLEY_ASSIGN_OR_RETURN(ModelFiles files, OpenVocabulary(config.model.path, errors));
  MOTLEY_ASSIGN_OR_RETURN(std::optional<ChatPrompter> prompter, MakePrompter(files, config, launcher.out));
  if (prompt) {
    conversation.turns.push_back({"user", *prompt, "", {}});
    MOTLEY_ASSIGN_OR_RETURN(prompt_tokens, CountTokens(conversation, prompter, *files.tokenizer));
  }
  launcher.out.json_is_stream = true;
  MOTLEY_ASSIGN_OR_RETURN(const OpenedEngine opened,
                          OpenEngine(launcher, config, prompt_tokens, 0, std::move(files)));
  EngineChatModel model(*opened.engine, std::move(prompter), config);
  const AnswerOptions options{config.chat.thinking, SeedOf(config, launcher.out, launcher.flags.verbose)};
  if (!prompt) return RunChat(model, config, options, flags.stats, launcher);
  Bandwidth limit;
  if (flags.stats)
    limit = MeasureReadBandwidth(opened.engine->DecodeReadBytes(static_cast<int64_t>(prompt_tokens)),
                                 opened.base.host->threads());
  if (launcher.out.json)
    return AnswerInJson(model, conversation, options, prompt_tokens, ModelName(config), limit, launcher);
  return AnswerInText(model, conversation, options, limit, flags.stats, launcher);
}

void AddSamplingFlags(CLI::App& command, RunFlags& flags) {
  AddKeyFlag(command, flags.max_tokens, "-n,--max-tokens", "sampling.max_tokens",
             "tokens of the answer, at most");
  AddKeyFlag(command, flags.temperature, "--temperature", "sampling.temperature",
             "0 (default) takes the likeliest token; more is more varied");
  AddKeyFlag(command, flags.top_k, "--top-k", "sampling.top_k",
             "choose among the k likeliest tokens; 0 = among all");
  AddKeyFlag(command, flags.top_p, "--top-p", "sampling.top_p",
             "choose among the likeliest tokens that hold this share; 1 = among all");
  AddKeyFlag(command, flags.min_p, "--min-p", "sampling.min_p",
             "leave out tokens below this share of the likeliest");
  AddKeyFlag(command, flags.repeat_penalty, "--repeat-penalty", "sampling.repeat_penalty",
             "above 1 makes tokens that occurred less likely");
  AddKeyFlag(command, flags.seed, "--seed", "sampling.seed", "the same seed gives the same answer");
  command.add_option("--stop", flags.stop, "the answer ends before this text (repeatable)")
      ->type_name("TEXT")
      ->allow_extra_args(false);
}

}  // namespace

void AddRun(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<RunFlags>();
  CLI::App* command = AddCommand(
      app, launcher, "run", "an answer to a prompt; on a terminal without one, a chat",
      "  motley run -m model.gguf \"Why is the sky blue?\"\n"
      "  motley run -m model.gguf                                a chat\n"
      "  motley run -m model.gguf -f prompt.txt --max-tokens 200 --stats\n"
      "  motley run -m model.gguf --raw \"Once upon a time\" --temperature 0.8 --seed 7\n"
      "  motley run -m model.gguf --pin \"layers.0-9=ref:0\" Hi       some layers elsewhere\n\n"
      "stdout is the answer alone. What a model thinks first is dim on a terminal; with stdout in a pipe\n"
      "it goes to stderr where that is a terminal, else nowhere. With --json it is events of the type\n"
      "\"reasoning\" beside those of the type \"token\", whose texts make the answer.",
      [flags](Launcher& l) { return Run(*flags, l); });
  AddModelFlag(*command, launcher);
  AddTextFlag(*command, flags->prompt, "PROMPT", "TEXT", "what to ask; - reads standard input");
  AddTextFlag(*command, flags->file, "-f,--file", "FILE", "a file with the prompt; - is standard input");
  AddKeyFlag(*command, flags->system, "--system", "chat.system", "the system message");
  command->add_flag("--raw", flags->raw, "the prompt as it is, without the chat template");
  AddSamplingFlags(*command, *flags);
  command->add_option("--thinking", flags->thinking, "on or off, where the model's template knows it")
      ->type_name("on|off");
  command->add_flag("--no-history", flags->no_history,
                    "a chat leaves nothing in ~/.local/state/motley/history (XDG_STATE_HOME)");
  command->add_flag("--stats", flags->stats, "speed and its share of the memory bandwidth, on stderr");
}

}  // namespace motley
