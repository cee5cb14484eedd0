// What stands behind an operand: attributes, indices, calls, filters and tests.
#include <utility>

#include "core/text/template/filters.h"
#include "core/text/template/numbers.h"
#include "core/text/template/parser_impl.h"
#include "core/text/template/tests.h"

namespace motley::jinja {

ExprPtr Parser::ParsePostfix(ExprPtr expr) {
  while (!failed()) {
    if (current().IsOperator(".")) {
      expr = ParseDot(std::move(expr));
    } else if (current().IsOperator("[")) {
      expr = ParseSubscript(std::move(expr));
    } else if (current().IsOperator("(")) {
      expr = ParseCall(std::move(expr));
    } else {
      break;
    }
  }
  return expr;
}

ExprPtr Parser::ParseFilterExpr(ExprPtr expr) {
  while (!failed()) {
    if (current().IsOperator("|")) {
      expr = ParseFilter(std::move(expr));
    } else if (current().IsName("is")) {
      expr = ParseTest(std::move(expr));
    } else if (current().IsOperator("(")) {
      expr = ParseCall(std::move(expr));
    } else {
      break;
    }
  }
  return expr;
}

ExprPtr Parser::ParseDot(ExprPtr object) {
  const uint32_t line = Next().line;
  const Token attribute = Next();
  if (attribute.Is(TokenKind::kName)) {
    ExprPtr expr = NewExpr(ExprKind::kGetAttr, line);
    expr->constant = Constant(attribute.text);
    AddKid(expr.get(), std::move(object));
    return expr;
  }
  if (!attribute.Is(TokenKind::kInteger)) return Fail("expected name or number", attribute.line);
  ExprPtr expr = NewExpr(ExprKind::kGetItem, line);
  AddKid(expr.get(), std::move(object));
  AddKid(expr.get(), NewConst(ParseInt(attribute.text, 0, true).value_or(Value::Int(INT64_MAX)), line));
  return expr;
}

ExprPtr Parser::ParseSubscript(ExprPtr object) {
  const uint32_t line = Next().line;
  ExprPtr expr = NewExpr(ExprKind::kGetItem, line);
  AddKid(expr.get(), std::move(object));
  const auto open_end = [&] { return current().IsOperator("]") || current().IsOperator(","); };
  std::vector<ExprPtr> indices;
  bool slice = false;
  while (!failed() && !current().IsOperator("]")) {
    if (!indices.empty()) ExpectOperator(",");
    ExprPtr first = current().IsOperator(":") ? nullptr : ParseExpression();
    if (!SkipOperator(":")) {
      indices.push_back(std::move(first));
      continue;
    }
    if (slice || !indices.empty()) return Fail("a slice beside other indices is not supported");
    slice = true;
    expr->kind = ExprKind::kSlice;
    AddKid(expr.get(), std::move(first));
    AddKid(expr.get(), open_end() || current().IsOperator(":") ? nullptr : ParseExpression());
    AddKid(expr.get(), SkipOperator(":") && !open_end() ? ParseExpression() : nullptr);
    if (!failed() && current().IsOperator(",")) return Fail("a slice beside other indices is not supported");
  }
  ExpectOperator("]");
  if (slice || failed()) return expr;
  if (indices.size() == 1) {
    AddKid(expr.get(), std::move(indices[0]));
    return expr;
  }
  ExprPtr tuple = NewExpr(ExprKind::kTuple, line);
  for (ExprPtr& index : indices) AddKid(tuple.get(), std::move(index));
  AddKid(expr.get(), std::move(tuple));
  return expr;
}

std::unique_ptr<CallArgs> Parser::ParseCallArgs() {
  auto args = std::make_unique<CallArgs>();
  const uint32_t line = current().line;
  const auto ensure = [&](bool condition) {
    if (!condition) Fail("invalid syntax for function call expression", line);
  };
  ExpectOperator("(");
  bool comma = false;
  while (!failed() && !current().IsOperator(")")) {
    if (comma && (!ExpectOperator(",") || current().IsOperator(")"))) break;
    comma = true;
    if (SkipOperator("*")) {
      ensure(args->more_positional == nullptr && args->more_named == nullptr);
      args->more_positional = ParseExpression();
    } else if (SkipOperator("**")) {
      ensure(args->more_named == nullptr);
      args->more_named = ParseExpression();
    } else if (current().Is(TokenKind::kName) && look().IsOperator("=")) {
      ensure(args->more_named == nullptr);
      const std::string name = Next().text;
      Next();
      for (const auto& [other, value] : args->named) {
        if (other == name) Fail("keyword argument repeated: " + name, line);
      }
      args->named.emplace_back(name, ParseExpression());
    } else {
      ensure(args->more_positional == nullptr && args->more_named == nullptr && args->named.empty());
      args->positional.push_back(ParseExpression());
    }
  }
  ExpectOperator(")");
  return args;
}

ExprPtr Parser::ParseCall(ExprPtr callee) {
  ExprPtr expr = NewExpr(ExprKind::kCall, current().line);
  AddArgs(expr.get(), ParseCallArgs());
  AddKid(expr.get(), std::move(callee));
  return expr;
}

ExprPtr Parser::ParseFilter(ExprPtr subject, bool start_inline) {
  while (!failed() && (start_inline || SkipOperator("|"))) {
    start_inline = false;
    const uint32_t line = current().line;
    std::string name = ExpectName();
    while (SkipOperator(".")) name += "." + ExpectName();
    ExprPtr expr = NewExpr(ExprKind::kFilter, line);
    expr->name = name;
    expr->filter = FindFilter(name);
    const bool has_args = !failed() && current().IsOperator("(");
    AddArgs(expr.get(), has_args ? ParseCallArgs() : std::make_unique<CallArgs>());
    AddKid(expr.get(), std::move(subject));
    subject = std::move(expr);
  }
  return subject;
}

ExprPtr Parser::ParseTest(ExprPtr subject) {
  const uint32_t line = Next().line;
  const bool negated = SkipName("not");
  std::string name = ExpectName();
  while (SkipOperator(".")) name += "." + ExpectName();
  ExprPtr expr = NewExpr(ExprKind::kTest, line);
  expr->name = name;
  expr->test = FindTest(name);
  expr->args = std::make_unique<CallArgs>();
  AddKid(expr.get(), std::move(subject));
  const Token& next = current();
  const bool word = next.Is(TokenKind::kName) && !next.IsName("else") && !next.IsName("or") && !next.IsName("and");
  if (failed()) return expr;
  if (next.IsOperator("(")) {
    AddArgs(expr.get(), ParseCallArgs());
  } else if (word || next.Is(TokenKind::kString) || next.Is(TokenKind::kInteger) || next.Is(TokenKind::kFloat) ||
             next.IsOperator("[") || next.IsOperator("{")) {
    if (next.IsName("is")) return Fail("You cannot chain multiple tests with is");
    auto args = std::make_unique<CallArgs>();
    args->positional.push_back(ParsePostfix(ParsePrimary()));
    AddArgs(expr.get(), std::move(args));
  }
  if (!negated) return expr;
  ExprPtr whole = NewExpr(ExprKind::kNot, line);
  AddKid(whole.get(), std::move(expr));
  return whole;
}

}  // namespace motley::jinja
