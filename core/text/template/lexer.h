// The tokens of a Jinja template, as Jinja2 cuts them with trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace motley::jinja {

enum class TokenKind : uint8_t {
  kData, kVariableBegin, kVariableEnd, kBlockBegin, kBlockEnd,
  kName, kString, kInteger, kFloat, kOperator, kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t line = 1;
  std::string text;  // of a string its value, of a number its digits without underscores

  bool Is(TokenKind k) const { return kind == k; }
  bool IsOperator(std::string_view symbol) const { return kind == TokenKind::kOperator && text == symbol; }
  bool IsName(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

// An error of a template: a line and what is wrong there. The message is for NAME:LINE: MESSAGE.
struct TemplateError {
  uint32_t line = 0;
  std::string message;
};

// False with *error set where the source cannot be cut. The last token is kEnd.
bool Tokenize(std::string_view source, std::vector<Token>* tokens, TemplateError* error);

}  // namespace motley::jinja
