#include "core/text/template/parser.h"

#include <algorithm>
#include <utility>

#include "core/text/template/parser_impl.h"
#include "core/text/template/scope.h"

namespace motley::jinja {
namespace {

constexpr int kMaxSourceDepth = 200;

}  // namespace

std::string Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData: return "text";
    case TokenKind::kVariableBegin: return "begin of print statement";
    case TokenKind::kVariableEnd: return "end of print statement";
    case TokenKind::kBlockBegin: return "begin of statement block";
    case TokenKind::kBlockEnd: return "end of statement block";
    case TokenKind::kEnd: return "end of template";
    case TokenKind::kString: return "string";
    default: return token.text;
  }
}

ParseDepth::ParseDepth(Parser* parser) : parser_(parser) {
  if (++parser_->depth_ > kMaxSourceDepth) {
    parser_->Fail("more than " + std::to_string(kMaxSourceDepth) + " constructs inside one another");
  }
}

std::nullptr_t Parser::Fail(std::string message, uint32_t line) {
  if (!failed()) *error_ = {line == 0 ? current().line : line, std::move(message)};
  return nullptr;
}

Token Parser::Next() {
  Token token = current();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Parser::SkipOperator(std::string_view symbol) {
  if (failed() || !current().IsOperator(symbol)) return false;
  Next();
  return true;
}

bool Parser::SkipName(std::string_view name) {
  if (failed() || !current().IsName(name)) return false;
  Next();
  return true;
}

bool Parser::ExpectOperator(std::string_view symbol) {
  if (SkipOperator(symbol)) return true;
  Fail("expected token '" + std::string(symbol) + "', got '" + Describe(current()) + "'");
  return false;
}

bool Parser::ExpectKind(TokenKind kind) {
  if (!failed() && current().Is(kind)) {
    Next();
    return true;
  }
  Token wanted;
  wanted.kind = kind;
  Fail("expected token '" + Describe(wanted) + "', got '" + Describe(current()) + "'");
  return false;
}

std::string Parser::ExpectName() {
  if (!failed() && current().Is(TokenKind::kName)) return Next().text;
  Fail("expected token 'name', got '" + Describe(current()) + "'");
  return "";
}

bool Parser::ParseAll() {
  ast_->body = ParseBody({});
  if (!failed() && !current().Is(TokenKind::kEnd)) Fail("unexpected '" + Describe(current()) + "'");
  return !failed();
}

Body Parser::ParseBody(const Names& ends) {
  Body body;
  StmtPtr output;
  const auto flush = [&] {
    if (output != nullptr) body.push_back(std::move(output));
  };
  const auto print = [&](ExprPtr expr) {
    if (expr == nullptr) return;
    if (output == nullptr) {
      output = std::make_unique<Stmt>();
      output->line = expr->line;
    }
    output->exprs.push_back(std::move(expr));
  };
  ends_.push_back(ends);
  while (!failed() && !current().Is(TokenKind::kEnd)) {
    if (current().Is(TokenKind::kData)) {
      const uint32_t line = current().line;
      print(NewConst(Constant(Next().text), line));
    } else if (current().Is(TokenKind::kVariableBegin)) {
      Next();
      print(ParseTuple({}));
      ExpectKind(TokenKind::kVariableEnd);
    } else {
      flush();
      if (!ExpectKind(TokenKind::kBlockBegin)) break;
      if (current().Is(TokenKind::kName) && std::find(ends.begin(), ends.end(), current().text) != ends.end()) break;
      if (StmtPtr statement = ParseStatement()) body.push_back(std::move(statement));
      ExpectKind(TokenKind::kBlockEnd);
    }
  }
  flush();
  ends_.pop_back();
  return body;
}

Body Parser::ParseStatements(const Names& ends) {
  SkipOperator(":");
  if (!ExpectKind(TokenKind::kBlockEnd)) return {};
  Body body = ParseBody(ends);
  if (!failed() && current().Is(TokenKind::kEnd)) {
    ends_.push_back(ends);
    Fail("Unexpected end of template." + Expecting(""));
    ends_.pop_back();
  }
  return body;
}

Body Parser::ParseStatementsToEnd(std::string_view end) {
  Body body = ParseStatements({end});
  if (!failed()) Next();
  return body;
}

std::string Parser::Expecting(std::string_view unknown_tag) const {
  std::string text;
  if (!ends_.empty() && !ends_.back().empty()) {
    std::string list;
    for (const std::string_view end : ends_.back()) list += (list.empty() ? "'" : " or '") + std::string(end) + "'";
    bool known = false;
    for (const Names& ends : ends_) known = known || std::find(ends.begin(), ends.end(), unknown_tag) != ends.end();
    text += known ? " Is there a mistake in the nesting? The next tag should be " + list + "."
                  : " Looking for the tag " + list + ".";
  }
  if (!tags_.empty()) text += " The innermost block that is open is '" + tags_.back() + "'.";
  return text;
}

StmtPtr Parser::ParseStatement() {
  if (!current().Is(TokenKind::kName)) return Fail("tag name expected");
  const ParseDepth depth(this);
  if (failed()) return nullptr;
  static constexpr std::pair<std::string_view, StmtPtr (Parser::*)()> kTags[] = {
      {"for", &Parser::ParseFor},          {"if", &Parser::ParseIf},
      {"set", &Parser::ParseSet},          {"macro", &Parser::ParseMacro},
      {"call", &Parser::ParseCallBlock},   {"filter", &Parser::ParseFilterBlock},
      {"with", &Parser::ParseWith},        {"generation", &Parser::ParseGeneration},
      {"print", &Parser::ParsePrint},      {"break", &Parser::ParseLoopControl},
      {"continue", &Parser::ParseLoopControl},
  };
  const std::string name = current().text;
  for (const auto& [tag, parse] : kTags) {
    if (tag != name) continue;
    tags_.push_back(name);
    StmtPtr statement = (this->*parse)();
    if (!failed()) tags_.pop_back();
    return statement;
  }
  for (const std::string_view other : {"include", "import", "from", "extends", "block", "autoescape"}) {
    if (other == name) return Fail("the tag '" + name + "' is not supported: a chat template stands alone");
  }
  return Fail("Encountered unknown tag '" + name + "'." + Expecting(name));
}

StmtPtr Parser::ParseFor() {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = StmtKind::kFor;
  stmt->line = Next().line;
  stmt->target = ParseTarget(/*with_namespace=*/false, "in");
  if (!failed() && !SkipName("in")) return Fail("expected token 'in', got '" + Describe(current()) + "'");
  stmt->expr = ParseTuple({.with_conditional = false, .end_name = "recursive"});
  if (SkipName("if")) stmt->test = ParseExpression();
  stmt->recursive = SkipName("recursive");
  const int outer = stmt->recursive ? std::exchange(loops_, 0) : loops_;
  ++loops_;
  stmt->body = ParseStatements({"endfor", "else"});
  loops_ = outer;
  if (!failed() && Next().text == "else") stmt->orelse = ParseStatementsToEnd("endfor");
  return stmt;
}

StmtPtr Parser::ParseIf() {
  auto result = std::make_unique<Stmt>();
  result->kind = StmtKind::kIf;
  result->line = Next().line;
  Stmt* branch = result.get();
  while (!failed()) {
    branch->expr = ParseTuple({.with_conditional = false});
    branch->body = ParseStatements({"elif", "else", "endif"});
    if (failed()) break;
    const Token end = Next();
    if (end.text == "elif") {
      result->elifs.push_back(std::make_unique<Stmt>());
      branch = result->elifs.back().get();
      branch->kind = StmtKind::kIf;
      branch->line = current().line;
      continue;
    }
    if (end.text == "else") result->orelse = ParseStatementsToEnd("endif");
    break;
  }
  return result;
}

StmtPtr Parser::ParseSet() {
  auto stmt = std::make_unique<Stmt>();
  stmt->line = Next().line;
  stmt->target = ParseTarget(/*with_namespace=*/true);
  if (SkipOperator("=")) {
    stmt->kind = StmtKind::kSet;
    stmt->expr = ParseTuple({});
    return stmt;
  }
  stmt->kind = StmtKind::kSetBlock;
  stmt->filter = ParseFilter(nullptr);
  stmt->body = ParseStatementsToEnd("endset");
  return stmt;
}

std::unique_ptr<FunctionInfo> Parser::ParseSignature(bool has_one) {
  auto function = std::make_unique<FunctionInfo>();
  if (!has_one) return function;
  if (!ExpectOperator("(")) return function;
  while (!failed() && !current().IsOperator(")")) {
    if (!function->parameters.empty()) ExpectOperator(",");
    function->parameters.push_back(ExpectName());
    if (SkipOperator("=")) {
      function->defaults.push_back(ParseExpression());
    } else if (!function->defaults.empty()) {
      Fail("non-default argument follows default argument");
    }
  }
  ExpectOperator(")");
  return function;
}

StmtPtr Parser::ParseMacro() {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = StmtKind::kMacro;
  stmt->line = Next().line;
  const std::string name = ExpectName();
  const int loops = std::exchange(loops_, 0);
  stmt->function = ParseSignature(true);
  stmt->function->name = name;
  stmt->body = ParseStatementsToEnd("endmacro");
  loops_ = loops;
  return stmt;
}

StmtPtr Parser::ParseCallBlock() {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = StmtKind::kCallBlock;
  stmt->line = Next().line;
  stmt->function = ParseSignature(current().IsOperator("("));
  stmt->expr = ParseExpression();
  if (failed()) return nullptr;
  if (stmt->expr->kind != ExprKind::kCall) return Fail("expected call", stmt->line);
  const int loops = std::exchange(loops_, 0);
  stmt->body = ParseStatementsToEnd("endcall");
  loops_ = loops;
  return stmt;
}

StmtPtr Parser::ParseFilterBlock() {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = StmtKind::kFilterBlock;
  stmt->line = Next().line;
  stmt->filter = ParseFilter(nullptr, /*start_inline=*/true);
  stmt->body = ParseStatementsToEnd("endfilter");
  return stmt;
}

StmtPtr Parser::ParseWith() {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = StmtKind::kWith;
  stmt->line = Next().line;
  while (!failed() && !current().Is(TokenKind::kBlockEnd)) {
    if (!stmt->targets.empty()) ExpectOperator(",");
    stmt->targets.push_back(ParseTarget(/*with_namespace=*/false));
    ExpectOperator("=");
    stmt->exprs.push_back(ParseExpression());
  }
  stmt->body = ParseStatementsToEnd("endwith");
  return stmt;
}

StmtPtr Parser::ParseGeneration() {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = StmtKind::kGeneration;
  stmt->line = Next().line;
  stmt->function = ParseSignature(false);
  const int loops = std::exchange(loops_, 0);
  stmt->body = ParseStatementsToEnd("endgeneration");
  loops_ = loops;
  return stmt;
}

StmtPtr Parser::ParsePrint() {
  auto stmt = std::make_unique<Stmt>();
  stmt->line = Next().line;
  while (!failed() && !current().Is(TokenKind::kBlockEnd)) {
    if (!stmt->exprs.empty()) ExpectOperator(",");
    stmt->exprs.push_back(ParseExpression());
  }
  return stmt;
}

StmtPtr Parser::ParseLoopControl() {
  auto stmt = std::make_unique<Stmt>();
  const Token token = Next();
  stmt->kind = token.text == "break" ? StmtKind::kBreak : StmtKind::kContinue;
  stmt->line = token.line;
  if (loops_ == 0) return Fail("'" + token.text + "' outside a loop", token.line);
  return stmt;
}

std::unique_ptr<TemplateAst> ParseTemplate(std::string_view source, TemplateError* error) {
  *error = {};
  std::vector<Token> tokens;
  if (!Tokenize(source, &tokens, error)) return nullptr;
  auto ast = std::make_unique<TemplateAst>();
  if (!Parser(std::move(tokens), ast.get(), error).ParseAll()) return nullptr;
  if (!ResolveNames(ast.get(), error)) return nullptr;
  return ast;
}

}  // namespace motley::jinja
