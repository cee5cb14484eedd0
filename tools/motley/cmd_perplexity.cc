// motley perplexity: how surprised a model is by a text. Less is better.
//
// The file's tokens are cut into windows of the context. In each the model sees the window's own beginning
// alone, so every token but a window's first is scored. The result is exp(-mean log p).
#include <cmath>
#include <memory>

#include "tools/motley/answer.h"
#include "tools/motley/progress.h"

namespace motley {
namespace {

constexpr uint64_t kMostTextBytes = 1ull << 30;  // a whole corpus

struct PerplexityFlags {
  std::string file;
  bool no_bos = false;
};

// -log softmax(logits)[token], summed in double.
double Surprise(std::span<const float> logits, int32_t token) {
  double highest = -HUGE_VAL;
  for (float logit : logits) highest = std::max(highest, static_cast<double>(logit));
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - highest);
  return highest + std::log(sum) - static_cast<double>(logits[static_cast<size_t>(token)]);
}

StatusOr<std::vector<int32_t>> ReadTokens(const PerplexityFlags& flags, const ModelFiles& files) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(flags.file, kMostTextBytes));
  EncodeOptions options;
  if (flags.no_bos) options.add_bos = false;
  MOTLEY_ASSIGN_OR_RETURN(std::vector<int32_t> tokens, files.tokenizer->Encode(text, options));
  if (tokens.size() < 2)
    return InvalidArgumentError(flags.file + ": gives " + std::to_string(tokens.size()) +
                                " tokens: two are needed to score one");
  return tokens;
}

struct Score {
  double sum = 0;
  uint64_t tokens = 0;
};

Status ScoreWindow(Engine& engine, std::vector<int32_t> window, int64_t vocab, Launcher& launcher,
                   Score* score) {
  Request request;
  request.prompt = window;
  request.max_tokens = 0;
  request.all_logits = true;
  request.on_logits = [&](int64_t position, std::span<const float> row) {
    const auto next = static_cast<size_t>(position) + 1;
    if (next >= window.size()) return;
    score->sum += Surprise(row.first(static_cast<size_t>(vocab)), window[next]);
    ++score->tokens;
  };
  MOTLEY_ASSIGN_OR_RETURN(const Answer answer,
                          RunRequest(engine, std::move(request), launcher.interrupt, nullptr));
  return answer.reason == FinishReason::kCancelled ? CancelledError("interrupted") : OkStatus();
}

Status Perplexity(const PerplexityFlags& flags, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  if (config.model.path.empty())
    return InvalidArgumentError(
        "motley perplexity: no model: give one by -m MODEL, or as model.path in the TOML file");
  Logger errors(LogLevel::kError);  // the engine says the warnings
  MOTLEY_ASSIGN_OR_RETURN(ModelFiles files, OpenVocabulary(config.model.path, errors));
  const int64_t vocab = files.tokenizer->vocab_size();
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, ReadTokens(flags, files));
  MOTLEY_ASSIGN_OR_RETURN(
      const OpenedEngine opened,
      OpenEngine(launcher, config, 0, OutputsAStep(vocab, tokens.size()), std::move(files)));
  const auto context = static_cast<size_t>(opened.engine->context());
  if (context < 2)
    return InvalidArgumentError("--context " + std::to_string(context) + ": perplexity needs 2 at least");
  Score score;
  Progress progress(launcher.out, "scoring", "tokens");
  for (size_t begin = 0; begin < tokens.size(); begin += context) {
    const size_t end = std::min(begin + context, tokens.size());
    if (end - begin < 2) break;
    MOTLEY_RETURN_IF_ERROR(ScoreWindow(
        *opened.engine,
        {tokens.begin() + static_cast<ptrdiff_t>(begin), tokens.begin() + static_cast<ptrdiff_t>(end)}, vocab,
        launcher, &score));
    progress.Update(end, tokens.size());
  }
  const double perplexity = std::exp(score.sum / static_cast<double>(score.tokens));
  if (!std::isfinite(perplexity))
    return DataLossError("the perplexity is no number: the model's logits are not finite");
  if (launcher.out.json) {
    launcher.out.PrintJson({{"tokens", score.tokens}, {"perplexity", perplexity}, {"context", context}});
  } else {
    char line[96];
    std::snprintf(line, sizeof(line), "perplexity %.4f over %llu tokens\n", perplexity,
                  static_cast<unsigned long long>(score.tokens));
    launcher.out.Print(line);
  }
  return OkStatus();
}

}  // namespace

void AddPerplexity(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<PerplexityFlags>();
  CLI::App* command =
      AddCommand(app, launcher, "perplexity", "how surprised a model is by a text; less is better",
                 "  motley perplexity -m model.gguf -f text.txt\n"
                 "  motley perplexity -m model.gguf -f text.txt --context 512 --kv q8",
                 [flags](Launcher& l) { return Perplexity(*flags, l); });
  AddModelFlag(*command, launcher);
  command->add_option("-f,--file", flags->file, "the text; - is standard input")
      ->type_name("FILE")
      ->required();
  command->add_flag("--no-bos", flags->no_bos, "no BOS in front, also where the file asks for it");
}

}  // namespace motley
