#include "core/text/chat_builtin.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace motley {
namespace {

constexpr std::string_view kChatMl = R"jinja({% for message in messages %}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{{ '' }}{% endif %})jinja";

constexpr std::string_view kLlama3 = R"jinja({{ bos_token }}
{%- for message in messages %}
  {{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\n\n' ~ message.content | trim ~ '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})jinja";

// GLM-4.5 and 4.6.
constexpr std::string_view kGlm4 = R"jinja([gMASK]<sop>
{%- for message in messages %}
  {%- if message.role == 'assistant' %}
    {{- '<|assistant|>\n<think></think>\n' ~ message.content | trim }}
  {%- elif message.role == 'tool' %}
    {{- '<|observation|>\n<tool_response>\n' ~ message.content ~ '\n</tool_response>' }}
  {%- else %}
    {{- '<|' ~ message.role ~ '|>\n' ~ message.content }}
    {%- if message.role == 'user' and enable_thinking is defined and not enable_thinking %}{{ '/nothink' }}{% endif %}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|assistant|>' }}
  {%- if enable_thinking is defined and not enable_thinking %}{{ '\n<think></think>' }}{% endif %}
{%- endif %})jinja";

// GLM-4.7 and 5.
constexpr std::string_view kGlm47 = R"jinja([gMASK]<sop>
{%- for message in messages %}
  {%- if message.role == 'assistant' %}
    {{- '<|assistant|></think>' ~ message.content | trim }}
  {%- elif message.role == 'tool' %}
    {{- '<|observation|><tool_response>' ~ message.content ~ '</tool_response>' }}
  {%- else %}
    {{- '<|' ~ message.role ~ '|>' ~ message.content }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|assistant|>' ~ ('</think>' if enable_thinking is defined and not enable_thinking else '<think>') }}
{%- endif %})jinja";

// A system message goes in front of the first turn of the user.
constexpr std::string_view kGemma = R"jinja({{ bos_token }}
{%- set ns = namespace(system='') %}
{%- for message in messages %}
  {%- if message.role == 'system' %}
    {%- set ns.system = ns.system ~ message.content ~ '\n\n' %}
  {%- else %}
    {{- '<start_of_turn>' ~ ('model' if message.role == 'assistant' else 'user') ~ '\n' }}
    {{- ns.system ~ message.content | trim ~ '<end_of_turn>\n' }}
    {%- set ns.system = '' %}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %})jinja";

constexpr std::string_view kMistral = R"jinja({{ bos_token }}
{%- set ns = namespace(system='') %}
{%- for message in messages %}
  {%- if message.role == 'system' %}
    {%- set ns.system = ns.system ~ message.content ~ '\n\n' %}
  {%- elif message.role == 'assistant' %}
    {{- ' ' ~ message.content | trim ~ eos_token }}
  {%- else %}
    {{- '[INST] ' ~ ns.system ~ message.content ~ '[/INST]' }}
    {%- set ns.system = '' %}
  {%- endif %}
{%- endfor %})jinja";

constexpr std::string_view kPhi3 = R"jinja({% for message in messages %}
<|{{ message.role }}|>
{{ message.content }}<|end|>
{% endfor %}
{% if add_generation_prompt %}
<|assistant|>
{{ '' }}{% endif %})jinja";

constexpr std::string_view kDeepSeek = R"jinja({{ bos_token }}
{%- for message in messages %}
  {%- if message.role == 'system' %}
    {{- message.content }}
  {%- elif message.role == 'assistant' %}
    {{- '<｜Assistant｜>' ~ message.content ~ eos_token }}
  {%- else %}
    {{- '<｜User｜>' ~ message.content }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %})jinja";

constexpr BuiltinTemplate kTemplates[] = {
    {"chatml", kChatMl}, {"llama3", kLlama3}, {"glm4", kGlm4},         {"glm47", kGlm47},
    {"gemma", kGemma},   {"phi3", kPhi3},     {"deepseek", kDeepSeek}, {"mistral", kMistral},
};

// GLM's second vocabulary begins its control tokens further behind (154,820; the first at 151,329).
constexpr int32_t kSecondGlmVocabulary = 153000;

}  // namespace

std::span<const BuiltinTemplate> BuiltinTemplates() { return kTemplates; }

BuiltinChoice ChooseBuiltin(const Tokenizer& tokenizer) {
  const auto has = [&](std::initializer_list<std::string_view> marks) {
    return std::all_of(marks.begin(), marks.end(), [&](std::string_view mark) { return tokenizer.FindSpecial(mark).has_value(); });
  };
  const std::string fits = "whose control tokens the vocabulary has";
  if (has({"<|im_start|>", "<|im_end|>"})) return {"chatml", fits};
  if (has({"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"})) return {"llama3", fits};
  if (has({"[gMASK]", "<sop>", "<|user|>", "<|assistant|>"})) {
    return {*tokenizer.FindSpecial("<|user|>") < kSecondGlmVocabulary ? "glm4" : "glm47", fits};
  }
  if (has({"<start_of_turn>", "<end_of_turn>"})) return {"gemma", fits};
  if (has({"<|user|>", "<|assistant|>", "<|end|>"})) return {"phi3", fits};
  if (has({"<｜User｜>", "<｜Assistant｜>"})) return {"deepseek", fits};
  if (has({"[INST]", "[/INST]"})) return {"mistral", fits};
  return {"chatml", "though the vocabulary lacks its control tokens and will see them as plain text: --raw runs the prompt as it is"};
}

}  // namespace motley
