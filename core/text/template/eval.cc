// The expressions of a template, run.
#include <utility>

#include "core/text/template/filters.h"
#include "core/text/template/interp.h"
#include "core/text/template/repr.h"
#include "core/text/template/tests.h"

namespace motley::jinja {

Result Interp::Eval(const Expr& expr) {
  // Constants and names are most of it, and take no stack.
  if (expr.kind == ExprKind::kConst) return expr.constant;
  const Nesting nesting(budget_);
  Status status = nesting.status();
  if (status.ok()) status = budget_.Step();
  Result result = status.ok() ? EvalExpr(expr) : Result(std::move(status));
  if (result.ok() && result->depth() > kMaxDepth) {
    result = InvalidArgumentError("values lie more than " + std::to_string(kMaxDepth) + " deep inside one another");
  }
  if (!result.ok() && error_line_ == 0) error_line_ = expr.line;
  return result;
}

Result Interp::EvalExpr(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConst: return expr.constant;
    case ExprKind::kName: return EvalName(expr);
    case ExprKind::kTuple:
    case ExprKind::kList: return EvalItems(expr);
    case ExprKind::kDict: return EvalDict(expr);
    case ExprKind::kBinary: {
      MOTLEY_ASSIGN_OR_RETURN(const Value left, Eval(*expr.kids[0]));
      MOTLEY_ASSIGN_OR_RETURN(const Value right, Eval(*expr.kids[1]));
      return Binary(*this, expr.op, left, right);
    }
    case ExprKind::kNegate:
    case ExprKind::kPositive: {
      MOTLEY_ASSIGN_OR_RETURN(const Value value, Eval(*expr.kids[0]));
      return expr.kind == ExprKind::kNegate ? Negate(value) : Positive(value);
    }
    case ExprKind::kNot: {
      MOTLEY_ASSIGN_OR_RETURN(const Value value, Eval(*expr.kids[0]));
      return Value::Bool(!Truth(value));
    }
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      MOTLEY_ASSIGN_OR_RETURN(Value left, Eval(*expr.kids[0]));
      if (Truth(left) == (expr.kind == ExprKind::kOr)) return left;
      return Eval(*expr.kids[1]);
    }
    case ExprKind::kCompare: return EvalCompare(expr);
    case ExprKind::kConcat: return EvalConcat(expr);
    case ExprKind::kConditional: return EvalConditional(expr);
    case ExprKind::kGetAttr: {
      MOTLEY_ASSIGN_OR_RETURN(const Value object, Eval(*expr.kids[0]));
      return GetAttribute(object, expr.constant);
    }
    case ExprKind::kGetItem: {
      MOTLEY_ASSIGN_OR_RETURN(const Value object, Eval(*expr.kids[0]));
      MOTLEY_ASSIGN_OR_RETURN(const Value key, Eval(*expr.kids[1]));
      return GetItem(object, key);
    }
    case ExprKind::kSlice: return EvalSlice(expr);
    case ExprKind::kCall: return EvalCall(expr, Value());
    case ExprKind::kFilter: return EvalFilter(expr, nullptr);
    case ExprKind::kTest: return EvalTest(expr);
    case ExprKind::kNamespaceTarget: break;
  }
  return InternalError("an expression that cannot be run");
}

Result Interp::EvalName(const Expr& expr) {
  const Value& value = Slot(expr.slot);
  if (!value.is_missing()) return value;
  return NewUndefinedName(expr.constant);
}

Result Interp::EvalItems(const Expr& expr) {
  std::vector<Value> items;
  items.reserve(expr.kids.size());
  for (const ExprPtr& kid : expr.kids) {
    MOTLEY_ASSIGN_OR_RETURN(Value item, Eval(*kid));
    items.push_back(std::move(item));
  }
  MOTLEY_RETURN_IF_ERROR(budget_.Bytes(sizeof(List) + items.size() * sizeof(Value)));
  return expr.kind == ExprKind::kList ? NewList(std::move(items)) : NewTuple(std::move(items));
}

Result Interp::EvalDict(const Expr& expr) {
  MOTLEY_RETURN_IF_ERROR(budget_.Bytes(sizeof(Dict) + expr.kids.size() * sizeof(Value)));
  auto* dict = new Dict;
  Value result = Value::Of(Type::kDict, dict);
  for (size_t i = 0; i + 1 < expr.kids.size(); i += 2) {
    MOTLEY_ASSIGN_OR_RETURN(Value key, Eval(*expr.kids[i]));
    MOTLEY_ASSIGN_OR_RETURN(Value value, Eval(*expr.kids[i + 1]));
    if (!IsHashable(key)) return InvalidArgumentError(std::string("unhashable type: '") + TypeName(key) + "'");
    dict->Set(std::move(key), std::move(value));
  }
  return result;
}

Result Interp::EvalCompare(const Expr& expr) {
  MOTLEY_ASSIGN_OR_RETURN(Value left, Eval(*expr.kids[0]));
  for (size_t i = 0; i < expr.compares.size(); ++i) {
    MOTLEY_ASSIGN_OR_RETURN(Value right, Eval(*expr.kids[i + 1]));
    MOTLEY_ASSIGN_OR_RETURN(const bool holds, Compare(*this, expr.compares[i], left, right));
    if (!holds) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

Result Interp::EvalConcat(const Expr& expr) {
  Text text;
  std::vector<Value> values;
  for (const ExprPtr& kid : expr.kids) {
    MOTLEY_ASSIGN_OR_RETURN(Value value, Eval(*kid));
    values.push_back(std::move(value));
  }
  for (const Value& value : values) MOTLEY_RETURN_IF_ERROR(AppendStr(budget_, value, &text));
  return NewStr(std::move(text));
}

Result Interp::EvalConditional(const Expr& expr) {
  MOTLEY_ASSIGN_OR_RETURN(const Value condition, Eval(*expr.kids[0]));
  if (Truth(condition)) return Eval(*expr.kids[1]);
  if (expr.kids[2] != nullptr) return Eval(*expr.kids[2]);
  return NewUndefined("the inline if-expression on line " + std::to_string(expr.line) +
                      " evaluated to false and no else section was defined.");
}

Result Interp::EvalSlice(const Expr& expr) {
  Value parts[4];
  for (size_t i = 0; i < 4; ++i) {
    if (expr.kids[i] == nullptr) continue;
    MOTLEY_ASSIGN_OR_RETURN(parts[i], Eval(*expr.kids[i]));
  }
  return Slice(*this, parts[0], parts[1], parts[2], parts[3]);
}

Status Interp::EvalArgs(const CallArgs& args, Arguments* out) {
  for (const ExprPtr& arg : args.positional) {
    MOTLEY_ASSIGN_OR_RETURN(Value value, Eval(*arg));
    out->positional.push_back(std::move(value));
  }
  for (const auto& [name, arg] : args.named) {
    MOTLEY_ASSIGN_OR_RETURN(Value value, Eval(*arg));
    out->named.emplace_back(name, std::move(value));
  }
  if (args.more_positional != nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(const Value more, Eval(*args.more_positional));
    MOTLEY_ASSIGN_OR_RETURN(std::vector<Value> values, ToVector(more));
    for (Value& value : values) out->positional.push_back(std::move(value));
  }
  if (args.more_named != nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(const Value more, Eval(*args.more_named));
    if (!more.is_dict()) return InvalidArgumentError(std::string("argument after ** must be a mapping, not ") + TypeName(more));
    for (const auto& [key, value] : more.dict().entries) {
      if (!key.is_str()) return InvalidArgumentError("keywords must be strings");
      const std::string name(key.view());
      if (!out->Take(name).is_missing()) return InvalidArgumentError("got multiple values for keyword argument '" + name + "'");
      out->named.emplace_back(name, value);
    }
  }
  return OkStatus();
}

Result Interp::EvalCall(const Expr& expr, const Value& caller) {
  MOTLEY_ASSIGN_OR_RETURN(const Value callee, Eval(*expr.kids[0]));
  Arguments args;
  MOTLEY_RETURN_IF_ERROR(EvalArgs(*expr.args, &args));
  if (!caller.is_missing()) args.named.emplace_back("caller", caller);
  return Call(callee, std::move(args));
}

Result Interp::EvalFilter(const Expr& expr, const Value* block) {
  Value subject;
  if (expr.kids[0] == nullptr) {
    if (block == nullptr) return InternalError("a filter without a subject");
    subject = *block;
  } else if (block != nullptr && expr.kids[0]->kind == ExprKind::kFilter) {
    MOTLEY_ASSIGN_OR_RETURN(subject, EvalFilter(*expr.kids[0], block));  // down the chain to the block's text
  } else {
    MOTLEY_ASSIGN_OR_RETURN(subject, Eval(*expr.kids[0]));
  }
  if (expr.filter == nullptr) return InvalidArgumentError("No filter named '" + expr.name + "' found.");
  Arguments args;
  MOTLEY_RETURN_IF_ERROR(EvalArgs(*expr.args, &args));
  return ApplyFilter(*this, *expr.filter, subject, std::move(args));
}

Result Interp::EvalTest(const Expr& expr) {
  MOTLEY_ASSIGN_OR_RETURN(const Value subject, Eval(*expr.kids[0]));
  if (expr.test == nullptr) return InvalidArgumentError("No test named '" + expr.name + "' found.");
  Arguments args;
  MOTLEY_RETURN_IF_ERROR(EvalArgs(*expr.args, &args));
  MOTLEY_ASSIGN_OR_RETURN(const bool holds, ApplyTest(*this, *expr.test, subject, std::move(args)));
  return Value::Bool(holds);
}

}  // namespace motley::jinja
