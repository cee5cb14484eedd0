// Parser: what parser.cc (statements) and parser_expr.cc (expressions) share.
//
// The first error stays in *error_, and from then on every function returns null and moves no further; callers look
// at failed() where they loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/template/ast.h"
#include "core/text/template/lexer.h"

namespace motley::jinja {

class Parser {
 public:
  Parser(std::vector<Token> tokens, TemplateAst* ast, TemplateError* error)
      : tokens_(std::move(tokens)), ast_(ast), error_(error) {}

  bool ParseAll();

 private:
  using Names = std::vector<std::string_view>;

  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token Next();
  bool SkipOperator(std::string_view symbol);
  bool SkipName(std::string_view name);
  bool ExpectOperator(std::string_view symbol);
  bool ExpectKind(TokenKind kind);
  std::string ExpectName();
  bool failed() const { return !error_->message.empty(); }
  std::nullptr_t Fail(std::string message, uint32_t line = 0);

  // Statements. ParseBody reads up to a block that begins with one of `ends`, whose name is then current.
  Body ParseBody(const Names& ends);
  Body ParseStatements(const Names& ends);
  // The same, and takes the end's name.
  Body ParseStatementsToEnd(std::string_view end);
  StmtPtr ParseStatement();
  StmtPtr ParseFor();
  StmtPtr ParseIf();
  StmtPtr ParseSet();
  StmtPtr ParseMacro();
  StmtPtr ParseCallBlock();
  StmtPtr ParseFilterBlock();
  StmtPtr ParseWith();
  StmtPtr ParseGeneration();
  StmtPtr ParsePrint();
  StmtPtr ParseLoopControl();
  std::unique_ptr<FunctionInfo> ParseSignature(bool has_one);
  std::string Expecting(std::string_view unknown_tag) const;

  // Expressions, loosest first.
  ExprPtr ParseExpression(bool with_conditional = true);
  ExprPtr ParseConditional();
  ExprPtr ParseOr();
  ExprPtr ParseAnd();
  ExprPtr ParseNot();
  ExprPtr ParseCompare();
  ExprPtr ParseSum();
  ExprPtr ParseConcat();
  ExprPtr ParseProduct();
  ExprPtr ParsePower();
  ExprPtr ParseUnary(bool with_filter = true);
  ExprPtr ParsePrimary(bool with_namespace = false);
  ExprPtr ParsePostfix(ExprPtr expr);
  ExprPtr ParseFilterExpr(ExprPtr expr);
  ExprPtr ParseFilter(ExprPtr subject, bool start_inline = false);
  ExprPtr ParseTest(ExprPtr subject);
  ExprPtr ParseCall(ExprPtr callee);
  ExprPtr ParseDot(ExprPtr object);
  ExprPtr ParseSubscript(ExprPtr object);
  ExprPtr ParseList();
  ExprPtr ParseDict();
  ExprPtr ParseNumber();
  ExprPtr ParseStringConst();
  std::unique_ptr<CallArgs> ParseCallArgs();
  struct TupleStyle {
    bool simplified = false;  // names and literals only: targets
    bool with_conditional = true;
    bool parenthesised = false;
    bool with_namespace = false;
    std::string_view end_name = {};
  };
  ExprPtr ParseTuple(const TupleStyle& style);
  ExprPtr ParseTarget(bool with_namespace, std::string_view end_name = {});

  ExprPtr NewExpr(ExprKind kind, uint32_t line);
  ExprPtr NewBinary(BinaryOp op, ExprPtr left, ExprPtr right, uint32_t line);
  ExprPtr NewConst(Value value, uint32_t line);
  // Adds an operand; an error where the tree becomes too deep.
  void AddKid(Expr* parent, ExprPtr kid);
  void CountDepth(Expr* parent, const ExprPtr& kid);
  void AddArgs(Expr* parent, std::unique_ptr<CallArgs> args);
  Value Constant(std::string text);

  friend class ParseDepth;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  TemplateAst* ast_;
  TemplateError* error_;
  int depth_ = 0;
  int loops_ = 0;        // that break and continue may mean, in this function
  std::vector<Names> ends_;
  std::vector<std::string> tags_;
};

// Counts constructs inside one another while it lives.
class ParseDepth {
 public:
  explicit ParseDepth(Parser* parser);
  ~ParseDepth() { --parser_->depth_; }
  ParseDepth(const ParseDepth&) = delete;
  ParseDepth& operator=(const ParseDepth&) = delete;

 private:
  Parser* parser_;
};

// A token as an error names it.
std::string Describe(const Token& token);

}  // namespace motley::jinja
