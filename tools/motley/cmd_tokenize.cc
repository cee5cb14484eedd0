// motley tokenize: text to token ids. A file that holds a vocabulary and nothing else will do.
#include <memory>

#include <boost/json/array.hpp>

#include "core/engine/vocab_reader.h"
#include "core/model/gguf.h"
#include "core/text/chat_template.h"
#include "core/text/tokenizer.h"
#include "core/text/utf8.h"
#include "tools/motley/launcher.h"

namespace motley {
namespace {

struct TokenizeFlags {
  GivenText text, file;
  bool chat = false, special = false, no_bos = false;
};

StatusOr<std::vector<int32_t>> EncodeChat(const std::string& text, const Metadata& metadata,
                                          const Tokenizer& tokenizer, const EncodeOptions& options, Output& out) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string stored, ReadChatTemplate(metadata, /*with_tools=*/false));
  std::string warning;
  const auto chat_template = ChatTemplate::ForModel(stored, tokenizer, &warning);
  if (!warning.empty()) out.Note("warning: " + metadata.origin() + ": " + warning);
  if (!chat_template.ok()) return chat_template.status().WithPrefix(metadata.origin());
  ChatInput input;
  input.AddMessage({"user", text});
  MOTLEY_ASSIGN_OR_RETURN(const auto segments, chat_template->Render(input));
  return tokenizer.EncodeSegments(segments, options);
}

void PrintTokens(const std::vector<int32_t>& ids, const Tokenizer& tokenizer, Output& out) {
  if (out.json) {
    boost::json::array tokens(ids.begin(), ids.end()), pieces;
    for (int32_t id : ids) pieces.emplace_back(tokenizer.TokenPiece(id));
    out.PrintJson({{"tokens", std::move(tokens)}, {"pieces", std::move(pieces)}});
    return;
  }
  std::string line;
  for (size_t i = 0; i < ids.size(); ++i) line += (i == 0 ? "" : " ") + std::to_string(ids[i]);
  out.Print(line + "\n");
}

Status Tokenize(const TokenizeFlags& flags, Launcher& launcher) {
  if (flags.text.given == flags.file.given)
    return InvalidArgumentError(
        "motley tokenize: give the text by --text TEXT or by -f FILE (- is standard input), one of the two");
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  if (config.model.path.empty())
    return InvalidArgumentError(
        "motley tokenize: no model: give one by -m MODEL, or as model.path in the TOML file");
  std::string text = flags.text.text;
  if (flags.file.given) {
    MOTLEY_ASSIGN_OR_RETURN(text, ReadTextFile(flags.file.text));
  }
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(config.model.path));
  for (const std::string& warning : file->warnings()) launcher.out.Note("warning: " + warning);
  MOTLEY_ASSIGN_OR_RETURN(const VocabSource source, ReadVocabulary(file->metadata()));
  const auto tokenizer = Tokenizer::Create(source);
  if (!tokenizer.ok()) return tokenizer.status().WithPrefix(file->metadata().origin());
  for (const std::string& warning : tokenizer->warnings()) launcher.out.Note("warning: " + warning);
  EncodeOptions options;
  if (flags.no_bos) options.add_bos = false;
  options.parse_special = flags.special;
  StatusOr<std::vector<int32_t>> ids = flags.chat
                                           ? EncodeChat(text, file->metadata(), *tokenizer, options, launcher.out)
                                           : tokenizer->Encode(text, options);
  if (!ids.ok()) return ids.status();
  PrintTokens(*ids, *tokenizer, launcher.out);
  return OkStatus();
}

}  // namespace

void AddTokenize(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* command =
      AddCommand(app, launcher, "tokenize", "text to token ids",
                 "  motley tokenize -m model.gguf --text \"The capital of France is\"\n"
                 "  motley tokenize -m model.gguf -f prompt.txt --json\n"
                 "  motley tokenize -m model.gguf --chat --text Hi      as one user's message\n"
                 "  motley tokenize -m model.gguf --special --text \"<|im_end|>\"",
                 [flags](Launcher& l) { return Tokenize(*flags, l); });
  AddModelFlag(*command, launcher);
  AddTextFlag(*command, flags->text, "--text", "TEXT", "the text");
  AddTextFlag(*command, flags->file, "-f,--file", "FILE",
              "a file with the text, taken byte for byte; - is standard input");
  command->add_flag("--chat", flags->chat, "the text is one user's message: through the chat template");
  command->add_flag("--special", flags->special, "names of control tokens in the text become these tokens");
  command->add_flag("--no-bos", flags->no_bos, "no BOS in front, also where the file asks for it");
}

}  // namespace motley
