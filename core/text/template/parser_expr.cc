// The expressions of the grammar.
#include <algorithm>
#include <utility>

#include "core/text/template/filters.h"
#include "core/text/template/numbers.h"
#include "core/text/template/parser_impl.h"
#include "core/text/template/tests.h"

namespace motley::jinja {
namespace {

// A chain (a + b + c ..., x|f|g ...) leans to one side and is walked by recursion.
constexpr uint32_t kMaxExprDepth = 200;

}  // namespace

ExprPtr Parser::NewExpr(ExprKind kind, uint32_t line) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = line;
  return expr;
}

void Parser::CountDepth(Expr* parent, const ExprPtr& kid) {
  if (kid == nullptr) return;
  parent->depth = std::max(parent->depth, kid->depth + 1);
  if (parent->depth > kMaxExprDepth) {
    Fail("an expression of more than " + std::to_string(kMaxExprDepth) + " operations inside one another", kid->line);
  }
}

void Parser::AddKid(Expr* parent, ExprPtr kid) {
  CountDepth(parent, kid);
  parent->kids.push_back(std::move(kid));
}

void Parser::AddArgs(Expr* parent, std::unique_ptr<CallArgs> args) {
  for (const ExprPtr& arg : args->positional) CountDepth(parent, arg);
  for (const auto& [name, arg] : args->named) CountDepth(parent, arg);
  CountDepth(parent, args->more_positional);
  CountDepth(parent, args->more_named);
  parent->args = std::move(args);
}

ExprPtr Parser::NewBinary(BinaryOp op, ExprPtr left, ExprPtr right, uint32_t line) {
  ExprPtr expr = NewExpr(ExprKind::kBinary, line);
  expr->op = op;
  AddKid(expr.get(), std::move(left));
  AddKid(expr.get(), std::move(right));
  return expr;
}

ExprPtr Parser::NewConst(Value value, uint32_t line) {
  ExprPtr expr = NewExpr(ExprKind::kConst, line);
  expr->constant = std::move(value);
  return expr;
}

Value Parser::Constant(std::string text) {
  auto str = std::make_unique<Str>(Text(std::move(text), true), false);
  str->refs = Object::kImmortal;
  Value value = Value::Of(Type::kStr, str.get());
  ast_->constants.push_back(std::move(str));
  return value;
}

ExprPtr Parser::ParseExpression(bool with_conditional) {
  const ParseDepth depth(this);
  if (failed()) return nullptr;
  return with_conditional ? ParseConditional() : ParseOr();
}

ExprPtr Parser::ParseConditional() {
  uint32_t line = current().line;
  ExprPtr expr = ParseOr();
  while (SkipName("if")) {
    ExprPtr condition = ParseOr();
    ExprPtr otherwise;
    if (SkipName("else")) {
      const ParseDepth depth(this);
      otherwise = failed() ? nullptr : ParseConditional();
    }
    ExprPtr whole = NewExpr(ExprKind::kConditional, line);
    AddKid(whole.get(), std::move(condition));
    AddKid(whole.get(), std::move(expr));
    AddKid(whole.get(), std::move(otherwise));
    expr = std::move(whole);
    line = current().line;
  }
  return expr;
}

ExprPtr Parser::ParseOr() {
  uint32_t line = current().line;
  ExprPtr left = ParseAnd();
  while (SkipName("or")) {
    ExprPtr whole = NewExpr(ExprKind::kOr, line);
    AddKid(whole.get(), std::move(left));
    AddKid(whole.get(), ParseAnd());
    left = std::move(whole);
    line = current().line;
  }
  return left;
}

ExprPtr Parser::ParseAnd() {
  uint32_t line = current().line;
  ExprPtr left = ParseNot();
  while (SkipName("and")) {
    ExprPtr whole = NewExpr(ExprKind::kAnd, line);
    AddKid(whole.get(), std::move(left));
    AddKid(whole.get(), ParseNot());
    left = std::move(whole);
    line = current().line;
  }
  return left;
}

ExprPtr Parser::ParseNot() {
  if (failed() || !current().IsName("not")) return ParseCompare();
  const ParseDepth depth(this);
  ExprPtr expr = NewExpr(ExprKind::kNot, Next().line);
  AddKid(expr.get(), failed() ? nullptr : ParseNot());
  return expr;
}

ExprPtr Parser::ParseCompare() {
  static constexpr std::pair<std::string_view, CompareOp> kSymbols[] = {
      {"==", CompareOp::kEq}, {"!=", CompareOp::kNe}, {"<", CompareOp::kLt},
      {"<=", CompareOp::kLe}, {">", CompareOp::kGt},  {">=", CompareOp::kGe}};
  const uint32_t line = current().line;
  ExprPtr first = ParseSum();
  ExprPtr whole;
  while (!failed()) {
    std::optional<CompareOp> op;
    if (SkipName("in")) {
      op = CompareOp::kIn;
    } else if (current().IsName("not") && look().IsName("in")) {
      Next();
      Next();
      op = CompareOp::kNotIn;
    } else {
      for (const auto& [symbol, which] : kSymbols) {
        if (!op.has_value() && SkipOperator(symbol)) op = which;
      }
    }
    if (!op.has_value()) break;
    if (whole == nullptr) {
      whole = NewExpr(ExprKind::kCompare, line);
      AddKid(whole.get(), std::move(first));
    }
    whole->compares.push_back(*op);
    AddKid(whole.get(), ParseSum());
  }
  return whole != nullptr ? std::move(whole) : std::move(first);
}

ExprPtr Parser::ParseSum() {
  uint32_t line = current().line;
  ExprPtr left = ParseConcat();
  while (!failed() && (current().IsOperator("+") || current().IsOperator("-"))) {
    const BinaryOp op = Next().text == "+" ? BinaryOp::kAdd : BinaryOp::kSub;
    left = NewBinary(op, std::move(left), ParseConcat(), line);
    line = current().line;
  }
  return left;
}

ExprPtr Parser::ParseConcat() {
  const uint32_t line = current().line;
  ExprPtr first = ParseProduct();
  if (failed() || !current().IsOperator("~")) return first;
  ExprPtr whole = NewExpr(ExprKind::kConcat, line);
  AddKid(whole.get(), std::move(first));
  while (SkipOperator("~")) AddKid(whole.get(), ParseProduct());
  return whole;
}

ExprPtr Parser::ParseProduct() {
  static constexpr std::pair<std::string_view, BinaryOp> kSymbols[] = {
      {"*", BinaryOp::kMul}, {"/", BinaryOp::kDiv}, {"//", BinaryOp::kFloorDiv}, {"%", BinaryOp::kMod}};
  uint32_t line = current().line;
  ExprPtr left = ParsePower();
  for (bool more = true; more && !failed();) {
    more = false;
    for (const auto& [symbol, op] : kSymbols) {
      if (!SkipOperator(symbol)) continue;
      left = NewBinary(op, std::move(left), ParsePower(), line);
      line = current().line;
      more = true;
      break;
    }
  }
  return left;
}

ExprPtr Parser::ParsePower() {
  uint32_t line = current().line;
  ExprPtr left = ParseUnary();
  while (SkipOperator("**")) {
    left = NewBinary(BinaryOp::kPow, std::move(left), ParseUnary(), line);
    line = current().line;
  }
  return left;
}

ExprPtr Parser::ParseUnary(bool with_filter) {
  if (failed()) return nullptr;
  ExprPtr expr;
  if (current().IsOperator("-") || current().IsOperator("+")) {
    const ParseDepth depth(this);
    const Token sign = Next();
    expr = NewExpr(sign.text == "-" ? ExprKind::kNegate : ExprKind::kPositive, sign.line);
    AddKid(expr.get(), failed() ? nullptr : ParseUnary(/*with_filter=*/false));
  } else {
    expr = ParsePrimary();
  }
  expr = ParsePostfix(std::move(expr));
  return with_filter ? ParseFilterExpr(std::move(expr)) : std::move(expr);
}

ExprPtr Parser::ParsePrimary(bool with_namespace) {
  if (failed()) return nullptr;
  const uint32_t line = current().line;
  switch (current().kind) {
    case TokenKind::kName: {
      const std::string name = Next().text;
      if (name == "true" || name == "True") return NewConst(Value::Bool(true), line);
      if (name == "false" || name == "False") return NewConst(Value::Bool(false), line);
      if (name == "none" || name == "None") return NewConst(Value::None(), line);
      const bool attribute = with_namespace && SkipOperator(".");
      ExprPtr expr = NewExpr(attribute ? ExprKind::kNamespaceTarget : ExprKind::kName, line);
      expr->name = name;
      expr->constant = Constant(attribute ? ExpectName() : name);
      return expr;
    }
    case TokenKind::kString: return ParseStringConst();
    case TokenKind::kInteger:
    case TokenKind::kFloat: return ParseNumber();
    default: break;
  }
  if (SkipOperator("(")) {
    ExprPtr expr = ParseTuple({.parenthesised = true});
    ExpectOperator(")");
    return expr;
  }
  if (current().IsOperator("[")) return ParseList();
  if (current().IsOperator("{")) return ParseDict();
  return Fail("unexpected '" + Describe(current()) + "'");
}

ExprPtr Parser::ParseStringConst() {
  const uint32_t line = current().line;
  std::string text;
  while (current().Is(TokenKind::kString)) text += Next().text;  // neighbours are one
  return NewConst(Constant(std::move(text)), line);
}

ExprPtr Parser::ParseNumber() {
  const Token token = Next();
  if (token.Is(TokenKind::kFloat)) {
    const std::optional<double> value = ParseFloat(token.text);
    return value.has_value() ? NewConst(Value::Float(*value), token.line) : Fail("no number: " + token.text, token.line);
  }
  const std::optional<Value> value = ParseInt(token.text, 0, true);
  if (!value.has_value()) return Fail("the number " + token.text + " has more than 64 bits", token.line);
  if (!value->Is(Type::kBigInt)) return NewConst(*value, token.line);
  auto big = std::make_unique<BigInt>(value->As<BigInt>());
  big->refs = Object::kImmortal;
  Value constant = Value::Of(Type::kBigInt, big.get());
  ast_->constants.push_back(std::move(big));
  return NewConst(std::move(constant), token.line);
}

ExprPtr Parser::ParseList() {
  ExprPtr list = NewExpr(ExprKind::kList, Next().line);
  while (!failed() && !current().IsOperator("]")) {
    if (!list->kids.empty() && (!ExpectOperator(",") || current().IsOperator("]"))) break;
    AddKid(list.get(), ParseExpression());
  }
  ExpectOperator("]");
  return list;
}

ExprPtr Parser::ParseDict() {
  ExprPtr dict = NewExpr(ExprKind::kDict, Next().line);
  while (!failed() && !current().IsOperator("}")) {
    if (!dict->kids.empty() && (!ExpectOperator(",") || current().IsOperator("}"))) break;
    AddKid(dict.get(), ParseExpression());
    ExpectOperator(":");
    AddKid(dict.get(), ParseExpression());
  }
  ExpectOperator("}");
  return dict;
}

ExprPtr Parser::ParseTuple(const TupleStyle& style) {
  uint32_t line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (!failed()) {
    if (!items.empty()) ExpectOperator(",");
    if (current().Is(TokenKind::kVariableEnd) || current().Is(TokenKind::kBlockEnd) || current().IsOperator(")") ||
        (!style.end_name.empty() && current().IsName(style.end_name))) {
      break;
    }
    items.push_back(style.simplified ? ParsePrimary(style.with_namespace) : ParseExpression(style.with_conditional));
    if (failed() || !current().IsOperator(",")) break;
    is_tuple = true;
    line = current().line;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !style.parenthesised) return Fail("Expected an expression, got '" + Describe(current()) + "'");
  ExprPtr tuple = NewExpr(ExprKind::kTuple, line);
  for (ExprPtr& item : items) AddKid(tuple.get(), std::move(item));
  return tuple;
}

namespace {

bool MarkTarget(Expr* expr, std::string* what) {
  expr->is_target = true;
  switch (expr->kind) {
    case ExprKind::kName:
    case ExprKind::kNamespaceTarget: return true;
    case ExprKind::kTuple:
      for (const ExprPtr& kid : expr->kids) {
        if (!MarkTarget(kid.get(), what)) return false;
      }
      return true;
    default: *what = expr->kind == ExprKind::kConst ? "a constant" : "an expression"; return false;
  }
}

}  // namespace

ExprPtr Parser::ParseTarget(bool with_namespace, std::string_view end_name) {
  ExprPtr target = ParseTuple({.simplified = true, .with_namespace = with_namespace, .end_name = end_name});
  if (failed()) return nullptr;
  std::string what;
  if (!MarkTarget(target.get(), &what)) return Fail("can't assign to " + what, target->line);
  return target;
}

}  // namespace motley::jinja
