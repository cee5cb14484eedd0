#include "core/text/end_tokens.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace motley {
namespace {

// Collected from public chat templates and generation configurations.
constexpr std::string_view kNames[] = {
    "<|endoftext|>",                                 // GPT-2's, GLM, Qwen, SmolLM, Phi
    "<|user|>", "<|observation|>",                   // GLM: the next speaker
    "<|im_end|>",                                    // ChatML
    "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>",   // Llama 3
    "<|eot|>", "<|eom|>",                            // Llama 4
    "</s>",                                          // Llama 2, Mistral
    "<eos>", "<end_of_turn>", "<turn|>",             // Gemma; the last one from 4 on
    "<|end|>",                                       // Phi 3; see below
    "<|return|>", "<|call|>",                        // gpt-oss
    "<|END_OF_TURN_TOKEN|>",                         // Command
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",       // DeepSeek
    "<|role_end|>",                                  // Ling
    "<end_of_utterance>",                            // SmolVLM
};

}  // namespace

std::vector<int32_t> EndTokensByName(const SpecialTokens& specials) {
  // gpt-oss ends each message of an answer with <|end|>, and the answer with another token.
  const bool end_is_inside = specials.Find("<|return|>").has_value();
  std::vector<int32_t> ids;
  for (const std::string_view name : kNames) {
    if (end_is_inside && name == "<|end|>") continue;
    const std::optional<int32_t> id = specials.Find(name);
    if (id.has_value()) ids.push_back(*id);
  }
  return ids;
}

bool IsEndTokenName(std::string_view name) {
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace motley
