// The tree of a parsed template. Names are resolved to slots of functions (scope.h), so that running needs no look-up
// by name but for what comes from outside.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text/template/operators.h"
#include "core/text/template/value.h"

namespace motley::jinja {

struct Filter;  // filters.h
struct Test;    // tests.h
struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

// A variable: `hops` functions outwards, then a slot of that one.
struct SlotRef {
  uint32_t hops = 0;
  uint32_t slot = 0;
};

struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr more_positional, more_named;  // *args, **kwargs
};

enum class ExprKind : uint8_t {
  kConst, kName, kTuple, kList, kDict, kBinary, kNegate, kPositive, kNot, kAnd, kOr, kCompare, kConcat, kConditional,
  kGetAttr, kGetItem, kSlice, kCall, kFilter, kTest,
  kNamespaceTarget,  // ns.x as a target of set
};

struct Expr {
  ExprKind kind = ExprKind::kConst;
  BinaryOp op = BinaryOp::kAdd;
  bool is_target = false;  // of an assignment
  uint32_t line = 0;
  uint32_t depth = 1;
  // kConst: the value. kName, kGetAttr, kNamespaceTarget: the name (of the attribute) as a string.
  Value constant;
  std::string name;  // kName, kNamespaceTarget: the variable; kFilter, kTest: which
  SlotRef slot;      // kName, kNamespaceTarget
  // Operands in order. kDict: key, value, key, value ... kConditional: condition, then, else (may be null).
  // kGetItem: object, index. kSlice: object, start, stop, step (may be null). kCall: what is called.
  // kFilter, kTest: the subject (null in a filter block).
  std::vector<ExprPtr> kids;
  std::vector<CompareOp> compares;  // kCompare, one less than kids
  std::unique_ptr<CallArgs> args;
  const Filter* filter = nullptr;   // null: there is none of that name
  const Test* test = nullptr;
};

// How a slot begins when its scope is entered.
struct ScopeLoad {
  enum Kind : uint8_t { kMissing, kContext, kCopy, kParameter } kind = kMissing;
  uint32_t slot = 0;
  SlotRef from = {};      // kCopy
  std::string name = {};  // kContext
};
using Scope = std::vector<ScopeLoad>;

struct FunctionInfo {
  std::string name;
  uint32_t slots = 0;
  Scope scope;
  std::vector<std::string> parameters;
  std::vector<uint32_t> parameter_slots;
  std::vector<ExprPtr> defaults;  // of the last parameters
  bool has_caller = false, has_kwargs = false, has_varargs = false;  // reads these without declaring them
  uint32_t caller_slot = 0, kwargs_slot = 0, varargs_slot = 0;
};

enum class StmtKind : uint8_t {
  kOutput, kFor, kIf, kSet, kSetBlock, kMacro, kCallBlock, kFilterBlock, kWith, kGeneration, kBreak, kContinue,
};

struct Stmt {
  StmtKind kind = StmtKind::kOutput;
  uint32_t line = 0;
  std::vector<ExprPtr> exprs;  // kOutput: what is printed; kWith: the values
  std::vector<ExprPtr> targets;  // kWith
  ExprPtr target;              // kFor, kSet, kSetBlock
  ExprPtr expr;                // kFor: over what; kIf: the condition; kSet: the value; kCallBlock: the call
  ExprPtr filter;              // kSetBlock, kFilterBlock: the last of a chain whose first subject is null
  ExprPtr test;                // kFor ... if
  Body body, orelse;
  std::vector<StmtPtr> elifs;  // kIf, each a kIf
  Scope scope, else_scope, test_scope;
  std::unique_ptr<FunctionInfo> function;  // kMacro, kCallBlock, kGeneration, recursive kFor
  std::unique_ptr<FunctionInfo> test_function;
  SlotRef slot;                // kMacro: the variable it is put in
  bool recursive = false, uses_loop = false;
  uint32_t loop_slot = 0;
};

struct TemplateAst {
  // Immortal, held here; first, as what follows looks at them until it is gone.
  std::vector<std::unique_ptr<Object>> constants;
  Body body;
  FunctionInfo root;
  std::vector<std::string> names;                  // every variable that is read from outside, sorted
};

}  // namespace motley::jinja
