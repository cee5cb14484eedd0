// Opening what an engine is made of: devices by the configuration, a model's files.
#include "core/engine/engine.h"
#include "core/engine/vocab_reader.h"
#include "core/model/gguf.h"

namespace motley {
namespace {

void WarnOf(const WeightsFile& file, Logger& logger) {
  for (const std::string& warning : file.warnings()) logger.Write(LogLevel::kWarning, "model", warning);
}

// A vocabulary may be smaller than the embedding (padding), never larger: an id would have no row.
Status CheckVocabulary(const ModelFiles& files, Logger& logger) {
  const int64_t tokens = files.tokenizer->vocab_size(), rows = files.model->params().vocab_rows;
  const std::string counts = std::to_string(rows) + " rows for " + std::to_string(tokens) + " tokens";
  if (rows < tokens) {
    return InvalidArgumentError(files.file->metadata().origin() + ": token_embd.weight: has " + counts +
                                " of tokenizer.ggml.tokens");
  }
  if (rows > tokens) {
    logger.Write(LogLevel::kWarning, "model", "token_embd.weight has " + counts + "; the surplus ids can't be chosen");
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<Backends>> OpenBackends(const Config& config, Host& host, Logger& logger,
                                                 const std::string& environment,
                                                 const std::string& verdict_folder) {
  DiscoveryOptions options;
  options.paths = config.plugins.path;
  options.environment = environment;
  options.install_folder = InstallFolder();
  options.plugins = config.plugin;
  options.probe_program = ProbeProgram(options.install_folder);
  options.verdict_folder = verdict_folder;
  return Backends::Open(options, host, logger);
}

StatusOr<ModelFiles> OpenVocabulary(const std::string& path, Logger& logger) {
  ModelFiles files;
  MOTLEY_ASSIGN_OR_RETURN(files.file, GgufFile::Open(path));
  WarnOf(*files.file, logger);
  const Metadata& metadata = files.file->metadata();
  MOTLEY_ASSIGN_OR_RETURN(const VocabSource source, ReadVocabulary(metadata));
  StatusOr<Tokenizer> tokenizer = Tokenizer::Create(source);
  if (!tokenizer.ok()) return tokenizer.status().WithPrefix(metadata.origin());
  for (const std::string& warning : tokenizer->warnings()) logger.Write(LogLevel::kWarning, "model", warning);
  files.tokenizer = std::make_unique<Tokenizer>(*std::move(tokenizer));
  MOTLEY_ASSIGN_OR_RETURN(files.chat_template, ReadChatTemplate(metadata, /*with_tools=*/false));
  return files;
}

StatusOr<ModelFiles> OpenModel(const std::string& path, Logger& logger) {
  Logger quiet(LogLevel::kError);  // the warnings come below
  MOTLEY_ASSIGN_OR_RETURN(ModelFiles files, OpenVocabulary(path, quiet));
  return OpenModel(std::move(files), logger);
}

StatusOr<ModelFiles> OpenModel(ModelFiles files, Logger& logger) {
  WarnOf(*files.file, logger);
  MOTLEY_ASSIGN_OR_RETURN(Model model, Model::Read(*files.file));
  files.model = std::make_unique<Model>(std::move(model));
  MOTLEY_RETURN_IF_ERROR(CheckVocabulary(files, logger));
  return files;
}

}  // namespace motley
