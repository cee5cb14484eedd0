// Templates of our own, for files that have none.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/text/tokenizer.h"

namespace motley {

struct BuiltinTemplate {
  std::string_view name;
  std::string_view source;  // Jinja, so that one way renders everything
};
std::span<const BuiltinTemplate> BuiltinTemplates();

// The one whose control tokens the vocabulary has; "chatml" where none fits.
struct BuiltinChoice {
  std::string_view name;
  std::string why;  // "whose control tokens the vocabulary has", for the warning
};
BuiltinChoice ChooseBuiltin(const Tokenizer& tokenizer);

}  // namespace motley
