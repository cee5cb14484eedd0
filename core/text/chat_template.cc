#include "core/text/chat_template.h"

#include <algorithm>
#include <utility>

#include "core/text/chat_builtin.h"
#include "core/text/chat_data.h"
#include "core/text/template/interp.h"
#include "core/text/template/parser.h"
#include "core/text/utf8.h"

namespace motley {

using jinja::Value;

namespace {

constexpr size_t kMaxSourceBytes = size_t{4} << 20;

}  // namespace

struct ChatTemplate::Data {
  std::string name;
  std::unique_ptr<jinja::TemplateAst> ast;
  ChatTokenTexts tokens;
  ChatTemplateLimits limits;

  // One try with the messages in one form. `notes` says what the template did with the forms that were left.
  StatusOr<jinja::Text> RunOver(const ChatInput& input, const ChatInput::Data& values, const ChatForms& change,
                                jinja::Budget::Notes* notes) const;
  StatusOr<jinja::Text> Run(const ChatInput& input, const ChatInput::Data& values) const;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Data> data) : data_(std::move(data)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

StatusOr<ChatTemplate> ChatTemplate::Parse(std::string_view source, std::string_view name, ChatTokenTexts tokens) {
  const std::string prefix(name);
  if (source.size() > kMaxSourceBytes) {
    return InvalidArgumentError(prefix + ": the template has " + std::to_string(source.size()) +
                                " bytes: must be at most " + std::to_string(kMaxSourceBytes));
  }
  for (size_t at = 0; at < source.size();) {
    const Utf8Step step = NextUtf8(source.substr(at));
    if (step.kind != Utf8Step::kCharacter) {
      const auto line = 1 + std::count(source.begin(), source.begin() + static_cast<ptrdiff_t>(at), '\n');
      return InvalidArgumentError(prefix + ":" + std::to_string(line) + ": not UTF-8 at byte " + std::to_string(at));
    }
    at += step.size;
  }
  auto data = std::make_unique<Data>();
  jinja::TemplateError error;
  data->ast = jinja::ParseTemplate(source, &error);
  if (data->ast == nullptr) {
    return InvalidArgumentError(prefix + ":" + std::to_string(error.line) + ": " + error.message);
  }
  data->name = prefix;
  data->tokens = std::move(tokens);
  return ChatTemplate(std::move(data));
}

StatusOr<jinja::Text> ChatTemplate::Data::RunOver(const ChatInput& input, const ChatInput::Data& values,
                                                  const ChatForms& change, jinja::Budget::Notes* notes) const {
  jinja::Interp::Context context = values.variables;
  MOTLEY_ASSIGN_OR_RETURN(std::vector<Value> messages, PrepareMessages(values.messages, change));
  context.insert_or_assign("messages", jinja::NewList(std::move(messages)));
  if (!values.tools.is_missing()) context.insert_or_assign("tools", values.tools);
  context.emplace("add_generation_prompt", Value::Bool(input.add_generation_prompt));
  const std::pair<const char*, const std::optional<std::string>*> texts[] = {
      {"bos_token", &tokens.bos}, {"eos_token", &tokens.eos}, {"unk_token", &tokens.unk}, {"pad_token", &tokens.pad}};
  for (const auto& [key, text] : texts) {
    if (text->has_value()) context.emplace(key, Value::String(**text, true));
  }
  ChatTemplateLimits allowed = limits;
  allowed.output_bytes += 8 * values.bytes;
  allowed.value_bytes += 64 * values.bytes;
  jinja::Interp interp(*ast, context, allowed, {input.now});
  auto text = interp.Run();
  *notes = interp.budget().notes;
  if (text.ok()) return text;
  // The message may quote what people wrote.
  return Status(text.status().code(), name + ":" + std::to_string(std::max(interp.error_line(), 1u)) + ": " +
                                          ToValidUtf8(text.status().message()));
}

StatusOr<jinja::Text> ChatTemplate::Data::Run(const ChatInput& input, const ChatInput::Data& values) const {
  jinja::Budget::Notes notes;
  auto given = RunOver(input, values, {}, &notes);
  const ChatForms there = FormsIn(values.messages);
  ChatForms odd = there;
  if (given.ok()) {
    odd.null_content = there.null_content && notes.none_printed;
    odd.parts = there.parts && notes.list_printed;
    odd.string_arguments = there.string_arguments && notes.text_quoted;
  }
  if (!odd.any()) return given;
  // Each form alone may be the one, or all together.
  const ChatForms tries[] = {odd,
                             {odd.null_content, odd.parts, false},
                             {odd.null_content, false, odd.string_arguments},
                             {false, odd.parts, odd.string_arguments}};
  Status failed;
  for (const ChatForms& change : tries) {
    if (!change.any()) continue;
    auto text = RunOver(input, values, change, &notes);
    if (text.ok()) return text;
    if (failed.ok()) failed = text.status();
  }
  // What could not be made fit is said, rather than written into the prompt as a list.
  return given.ok() && odd.parts ? StatusOr<jinja::Text>(failed) : given;
}

StatusOr<std::vector<TextSegment>> ChatTemplate::Render(const ChatInput& input) const {
  MOTLEY_ASSIGN_OR_RETURN(const jinja::Text text, data_->Run(input, *input.data_));
  std::vector<TextSegment> segments;
  for (const auto& run : text.Runs()) {
    segments.push_back({text.bytes().substr(run.begin, run.end - run.begin), run.trusted});
  }
  return segments;
}

bool ChatTemplate::Mentions(std::string_view variable) const {
  return std::binary_search(data_->ast->names.begin(), data_->ast->names.end(), variable);
}

const std::string& ChatTemplate::name() const { return data_->name; }
void ChatTemplate::set_limits(const ChatTemplateLimits& limits) { data_->limits = limits; }

StatusOr<ChatTemplate> ChatTemplate::Builtin(std::string_view name, ChatTokenTexts tokens) {
  std::string names;
  for (const BuiltinTemplate& row : BuiltinTemplates()) {
    if (row.name == name) return Parse(row.source, row.name, std::move(tokens));
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return NotFoundError("no built-in chat template \"" + std::string(name) + "\": there are " + names);
}

StatusOr<ChatTemplate> ChatTemplate::ForModel(std::string_view source, const Tokenizer& tokenizer,
                                              std::string* warning) {
  warning->clear();
  if (!source.empty()) return Parse(source, "tokenizer.chat_template", TokenTextsOf(tokenizer));
  const BuiltinChoice choice = ChooseBuiltin(tokenizer);
  *warning = "no tokenizer.chat_template in the file: the built-in template \"" + std::string(choice.name) +
             "\" is used, " + choice.why;
  return Builtin(choice.name, TokenTextsOf(tokenizer));
}

ChatTokenTexts TokenTextsOf(const Tokenizer& tokenizer) {
  const auto text = [&](std::optional<int32_t> id) -> std::optional<std::string> {
    if (!id.has_value()) return std::nullopt;
    return std::string(tokenizer.TokenBytes(*id));
  };
  return {text(tokenizer.bos_id()), text(tokenizer.eos_id()), text(tokenizer.unk_id()), text(tokenizer.pad_id())};
}

std::string TextOf(const std::vector<TextSegment>& segments) {
  std::string text;
  for (const TextSegment& segment : segments) text += segment.text;
  return text;
}

}  // namespace motley
