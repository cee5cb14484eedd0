// Names to slots, by Jinja's rules of scope.
//
// A for, a set block, a filter block, a with and a macro open a scope; an if does not. A name that a scope sets belongs
// to it, and begins as the outer scope's variable of that name, as what the context has, or unset: the latter where the
// set comes before any use in the order of the text, even if it is not reached. All scopes of one function (the
// template itself, a macro, a call block, a recursive loop) share its slots; inner functions reach outwards.
#pragma once

#include "core/text/template/ast.h"
#include "core/text/template/lexer.h"

namespace motley::jinja {

// Fills in every slot and scope, and finds what Jinja refuses before it runs: unknown filters and tests outside a
// condition, and a loop variable that is set. False with *error set.
bool ResolveNames(TemplateAst* ast, TemplateError* error);

}  // namespace motley::jinja
