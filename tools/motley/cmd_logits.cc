// motley logits: the logits of every position, for comparing with other implementations.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>

#include "tools/motley/answer.h"
#include "tools/motley/npy_writer.h"

namespace motley {
namespace {

struct LogitsFlags {
  std::string tokens, out;
};

// "1 2 3"; commas and brackets, as tokenize --json prints them, are blanks.
StatusOr<std::vector<int32_t>> ParseTokens(const std::string& text) {
  std::vector<int32_t> tokens;
  constexpr std::string_view kBlanks = " \t\r\n,[]";
  for (size_t begin = text.find_first_not_of(kBlanks); begin != std::string::npos;) {
    size_t end = text.find_first_of(kBlanks, begin);
    if (end == std::string::npos) end = text.size();
    int32_t token = 0;
    const auto parsed = std::from_chars(text.data() + begin, text.data() + end, token);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + end) {
      return InvalidArgumentError(
          "--tokens: \"" + text.substr(begin, std::min<size_t>(end - begin, 40)) +
          "\" is no token id: write numbers with blanks between, e.g. --tokens \"1 2 3\"");
    }
    tokens.push_back(token);
    begin = text.find_first_not_of(kBlanks, end);
  }
  if (tokens.empty())
    return InvalidArgumentError(
        "--tokens: holds none: write numbers with blanks between, e.g. --tokens \"1 2 3\"");
  return tokens;
}

Status Logits(const LogitsFlags& flags, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(std::vector<int32_t> tokens, ParseTokens(flags.tokens));
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  if (config.model.path.empty())
    return InvalidArgumentError(
        "motley logits: no model: give one by -m MODEL, or as model.path in the TOML file");
  std::error_code ignored;
  if (flags.out.empty() || std::filesystem::is_directory(flags.out, ignored))
    return InvalidArgumentError("motley logits: -o \"" + flags.out + "\": must name a file");
  Logger errors(LogLevel::kError);  // the engine says the warnings
  MOTLEY_ASSIGN_OR_RETURN(ModelFiles files, OpenVocabulary(config.model.path, errors));
  const int64_t vocab = files.tokenizer->vocab_size();
  for (int32_t token : tokens) {
    if (files.tokenizer->IsValid(token)) continue;
    return InvalidArgumentError("--tokens: " + std::to_string(token) + " is no token: must be 0.." +
                                std::to_string(vocab - 1));
  }
  const uint64_t count = tokens.size();
  launcher.interrupt.OnInterruptOnlySetFlag();  // the unfinished file is to be removed
  MOTLEY_ASSIGN_OR_RETURN(NpyWriter writer,
                          NpyWriter::Create(flags.out, count, static_cast<uint64_t>(vocab)));
  // A second Ctrl-C waits for nothing, but leaves nothing either.
  const Interrupt::Undo no_leftovers(launcher.interrupt, [temporary = writer.temporary()] {
    if (!temporary.empty()) unlink(temporary.c_str());
  });
  MOTLEY_ASSIGN_OR_RETURN(const OpenedEngine opened,
                          OpenEngine(launcher, config, count, OutputsAStep(vocab, count), std::move(files)));
  Status written;
  uint64_t not_finite = 0;
  Request request;
  request.prompt = std::move(tokens);
  request.max_tokens = 0;
  request.all_logits = true;
  request.on_logits = [&](int64_t, std::span<const float> row) {
    // Rows of the embedding beyond the vocabulary are padding.
    const auto tokens_row = row.first(static_cast<size_t>(vocab));
    not_finite += static_cast<uint64_t>(
        std::count_if(tokens_row.begin(), tokens_row.end(), [](float x) { return !std::isfinite(x); }));
    if (written.ok()) written = writer.WriteRow(tokens_row);
  };
  MOTLEY_ASSIGN_OR_RETURN(const Answer answer,
                          RunRequest(*opened.engine, std::move(request), launcher.interrupt, nullptr));
  MOTLEY_RETURN_IF_ERROR(written);
  if (answer.reason == FinishReason::kCancelled) return CancelledError("interrupted");
  MOTLEY_RETURN_IF_ERROR(writer.Finish());
  if (not_finite > 0)
    launcher.out.Note("warning: " + std::to_string(not_finite) +
                      " logits are not finite numbers; they are in the file as the model gave them");
  if (launcher.out.json) {
    launcher.out.PrintJson({{"file", flags.out},
                            {"shape", {count, vocab}},
                            {"not_finite", not_finite},
                            {"prefill_tokens_per_s", PrefillRate(answer.stats)}});
  } else {
    launcher.out.Note(flags.out + ": float32 [" + std::to_string(count) + ", " + std::to_string(vocab) + "]");
  }
  return OkStatus();
}

}  // namespace

void AddLogits(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<LogitsFlags>();
  CLI::App* command = AddCommand(
      app, launcher, "logits", "the logits of every position, as a .npy file of float32 [n_tokens, vocab]",
      "  motley logits -m model.gguf --tokens \"1 2 3\" -o out.npy\n"
      "  motley logits -m model.gguf --tokens \"1 2 3\" -o out.npy --kv f32 --device ref:0",
      [flags](Launcher& l) { return Logits(*flags, l); });
  AddModelFlag(*command, launcher);
  command->add_option("--tokens", flags->tokens, "token ids, with blanks between")
      ->type_name("IDS")
      ->required();
  command->add_option("-o,--output", flags->out, "the file to write")->type_name("OUT.npy")->required();
}

}  // namespace motley
