// motley render: the prompt that a chat template makes of messages, exactly.
#include <memory>
#include <optional>

#include <boost/json/array.hpp>

#include "core/engine/vocab_reader.h"
#include "core/model/gguf.h"
#include "core/model/printable.h"
#include "core/text/chat_template.h"
#include "core/text/tokenizer.h"
#include "core/text/utf8.h"
#include "tools/motley/launcher.h"

namespace motley {
namespace {

struct RenderFlags {
  std::string messages, tools, template_file, vars;
  bool no_generation_prompt = false;
};

constexpr uint64_t kMostBytes = 256ull << 20;  // of a file

std::string NameOf(const std::string& path) { return path == "-" ? "standard input" : Printable(path, 200); }

StatusOr<ChatInput> ReadInput(const RenderFlags& flags) {
  if (flags.messages.empty()) {
    return InvalidArgumentError("motley render: no messages: give --messages FILE, a JSON array (- is standard input)");
  }
  ChatInput input;
  MOTLEY_ASSIGN_OR_RETURN(const std::string messages, ReadTextFile(flags.messages, kMostBytes));
  MOTLEY_RETURN_IF_ERROR(input.SetMessages(messages, NameOf(flags.messages)));
  if (!flags.tools.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const std::string tools, ReadTextFile(flags.tools, kMostBytes));
    MOTLEY_RETURN_IF_ERROR(input.SetTools(tools, NameOf(flags.tools)));
  }
  if (!flags.vars.empty()) MOTLEY_RETURN_IF_ERROR(input.SetVariables(flags.vars, "--vars"));
  input.add_generation_prompt = !flags.no_generation_prompt;
  return input;
}

// The template of --template, else of the model; the tokens' texts are the model's, where there is one.
StatusOr<ChatTemplate> FindTemplate(const RenderFlags& flags, const ChatInput& input, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(const Config config, MakeConfig(launcher.flags));
  std::optional<std::string> source;
  if (!flags.template_file.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(source, ReadTextFile(flags.template_file, kMostBytes));
  }
  const std::string name = NameOf(flags.template_file);
  if (config.model.path.empty()) {
    if (source.has_value()) return ChatTemplate::Parse(*source, name);
    return InvalidArgumentError("motley render: no template: give a model by -m MODEL, or a template by --template FILE");
  }
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(config.model.path));
  for (const std::string& warning : file->warnings()) launcher.out.Note("warning: " + warning);
  const std::string& origin = file->metadata().origin();
  MOTLEY_ASSIGN_OR_RETURN(const VocabSource vocabulary, ReadVocabulary(file->metadata()));
  const auto tokenizer = Tokenizer::Create(vocabulary);
  if (!tokenizer.ok()) return tokenizer.status().WithPrefix(origin);
  if (source.has_value()) return ChatTemplate::Parse(*source, name, TokenTextsOf(*tokenizer));
  MOTLEY_ASSIGN_OR_RETURN(const std::string stored, ReadChatTemplate(file->metadata(), input.has_tools()));
  std::string warning;
  auto made = ChatTemplate::ForModel(stored, *tokenizer, &warning);
  if (!warning.empty()) launcher.out.Note("warning: " + origin + ": " + warning);
  if (!made.ok()) return made.status().WithPrefix(origin);
  return made;
}

Status Render(const RenderFlags& flags, Launcher& launcher) {
  MOTLEY_ASSIGN_OR_RETURN(const ChatInput input, ReadInput(flags));
  MOTLEY_ASSIGN_OR_RETURN(const ChatTemplate chat_template, FindTemplate(flags, input, launcher));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<TextSegment> segments, chat_template.Render(input));
  if (!launcher.out.json) {
    launcher.out.Print(TextOf(segments));
    return OkStatus();
  }
  boost::json::array parts;
  for (const TextSegment& segment : segments) {
    parts.push_back(boost::json::object{{"text", ToValidUtf8(segment.text)}, {"trusted", segment.trusted}});
  }
  launcher.out.PrintJson({{"prompt", ToValidUtf8(TextOf(segments))}, {"segments", std::move(parts)}});
  return OkStatus();
}

}  // namespace

void AddRender(CLI::App& app, Launcher& launcher) {
  const auto flags = std::make_shared<RenderFlags>();
  CLI::App* command = AddCommand(
      app, launcher, "render", "the prompt that a chat template makes of messages",
      "  motley render -m model.gguf --messages chat.json\n"
      "  motley render --template chat.jinja --messages chat.json --vars '{\"bos_token\":\"<s>\"}'\n"
      "  motley render -m model.gguf --messages chat.json --tools tools.json --vars '{\"enable_thinking\":false}'\n"
      "  echo '[{\"role\":\"user\",\"content\":\"Hi\"}]' | motley render -m model.gguf --messages - --json",
      [flags](Launcher& l) { return Render(*flags, l); });
  AddModelFlag(*command, launcher);
  command->add_option("--messages", flags->messages, "a JSON array of messages in OpenAI's form; - is standard input")
      ->type_name("FILE");
  command->add_option("--tools", flags->tools, "a JSON array of tools")->type_name("FILE");
  command->add_option("--template", flags->template_file, "a Jinja template instead of the model's")->type_name("FILE");
  command->add_option("--vars", flags->vars, "variables of the template, a JSON object")->type_name("JSON");
  command->add_flag("--no-generation-prompt", flags->no_generation_prompt,
                    "do not end where the assistant begins to speak");
}

}  // namespace motley
