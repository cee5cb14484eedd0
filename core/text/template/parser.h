// Source to tree, by the grammar of Jinja2 with loop controls and Hugging Face's generation tag.
#pragma once

#include <memory>
#include <string_view>

#include "core/text/template/ast.h"
#include "core/text/template/lexer.h"

namespace motley::jinja {

// Null with *error set where the source is no template. Constructs that load other templates (include, import,
// extends, block) are errors that say so.
std::unique_ptr<TemplateAst> ParseTemplate(std::string_view source, TemplateError* error);

}  // namespace motley::jinja
