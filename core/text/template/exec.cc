// The statements of a template, run.
#include <algorithm>
#include <utility>

#include "core/text/template/filters.h"
#include "core/text/template/interp.h"
#include "core/text/template/repr.h"

namespace motley::jinja {

Interp::Interp(const TemplateAst& ast, const Context& context, const ChatTemplateLimits& limits, const Clock& clock)
    : ast_(ast), context_(context), budget_(limits), clock_(clock) {
  AddGlobals(*this, &globals_);
}

// What changes may hold one another in a circle or in a long chain. All of it is taken apart first, while each object
// is still held, so that no destructor runs into the next.
Interp::~Interp() {
  std::vector<Value> held;
  std::vector<Ref<Activation>> parents;
  const auto take = [&](Value& value) { held.push_back(std::exchange(value, Value())); };
  for (const Ref<Object>& object : kept_) {
    if (auto* activation = dynamic_cast<Activation*>(object.get())) {
      for (Value& slot : activation->slots) take(slot);
      parents.push_back(std::exchange(activation->parent, Ref<Activation>()));
    } else if (auto* space = dynamic_cast<Namespace*>(object.get())) {
      for (auto& [key, value] : space->values.entries) take(value);
    } else if (auto* loop = dynamic_cast<Loop*>(object.get())) {
      for (Value* value : {&loop->iterable, &loop->recurse, &loop->current, &loop->before}) take(*value);
      if (loop->after.has_value()) take(*loop->after);
      if (loop->last_changed.has_value()) take(*loop->last_changed);
    }
  }
  activation_ = Ref<Activation>();
}

StatusOr<Text> Interp::Run() {
  auto* root = new Activation;
  activation_ = Keep(root);
  root->slots.resize(ast_.root.slots);
  Text text;
  out_ = &text;
  EnterScope(ast_.root.scope);
  MOTLEY_RETURN_IF_ERROR(Exec(ast_.body));
  return text;
}

Value& Interp::Slot(const SlotRef& ref) {
  Activation* activation = activation_.get();
  for (uint32_t i = 0; i < ref.hops; ++i) activation = activation->parent.get();
  return activation->slots[ref.slot];
}

void Interp::EnterScope(const Scope& scope) {
  for (const ScopeLoad& load : scope) {
    switch (load.kind) {
      case ScopeLoad::kParameter: break;
      case ScopeLoad::kMissing: activation_->slots[load.slot] = Value(); break;
      case ScopeLoad::kCopy: activation_->slots[load.slot] = Slot(load.from); break;
      case ScopeLoad::kContext: {
        const auto find = [&](const Context& names) -> const Value* {
          const auto it = names.find(load.name);
          return it == names.end() ? nullptr : &it->second;
        };
        const Value* value = find(context_);
        if (value == nullptr) value = find(globals_);
        activation_->slots[load.slot] = value == nullptr ? Value() : *value;
      }
    }
  }
}

void Interp::LeaveScope(const Scope& scope) {
  for (const ScopeLoad& load : scope) activation_->slots[load.slot] = Value();
}

Status Interp::Exec(const Body& body) {
  for (const StmtPtr& stmt : body) {
    MOTLEY_RETURN_IF_ERROR(Exec(*stmt));
    if (flow_ != Flow::kOn) break;
  }
  return OkStatus();
}

Status Interp::Exec(const Stmt& stmt) {
  const Nesting nesting(budget_);
  Status status = nesting.status();
  if (status.ok()) status = budget_.Step();
  if (status.ok()) status = ExecStmt(stmt);
  if (!status.ok() && error_line_ == 0) error_line_ = stmt.line;
  return status;
}

Status Interp::ExecStmt(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::kOutput: return ExecOutput(stmt);
    case StmtKind::kFor: return ExecFor(stmt);
    case StmtKind::kIf: return ExecIf(stmt);
    case StmtKind::kSet: return ExecSet(stmt);
    case StmtKind::kSetBlock: return ExecSetBlock(stmt);
    case StmtKind::kMacro: return ExecMacro(stmt);
    case StmtKind::kCallBlock: return ExecCallBlock(stmt);
    case StmtKind::kFilterBlock: return ExecFilterBlock(stmt);
    case StmtKind::kWith: return ExecWith(stmt);
    case StmtKind::kGeneration: return ExecGeneration(stmt);
    case StmtKind::kBreak: flow_ = Flow::kBreak; return OkStatus();
    case StmtKind::kContinue: flow_ = Flow::kContinue; return OkStatus();
  }
  return OkStatus();
}

Status Interp::Print(const Value& value) {
  MOTLEY_RETURN_IF_ERROR(AppendStr(budget_, value, out_));
  return budget_.Output(out_->size());
}

Status Interp::ExecOutput(const Stmt& stmt) {
  for (const ExprPtr& expr : stmt.exprs) {
    MOTLEY_ASSIGN_OR_RETURN(const Value value, Eval(*expr));
    const Status status = Print(value);
    if (!status.ok() && error_line_ == 0) error_line_ = expr->line;
    MOTLEY_RETURN_IF_ERROR(status);
  }
  return OkStatus();
}

Status Interp::ExecIf(const Stmt& stmt) {
  MOTLEY_ASSIGN_OR_RETURN(const Value condition, Eval(*stmt.expr));
  if (Truth(condition)) return Exec(stmt.body);
  for (const StmtPtr& elif : stmt.elifs) {
    MOTLEY_ASSIGN_OR_RETURN(const Value other, Eval(*elif->expr));
    if (Truth(other)) return Exec(elif->body);
  }
  return Exec(stmt.orelse);
}

Status Interp::Assign(const Expr& target, const Value& value) {
  if (target.kind == ExprKind::kName) {
    Slot(target.slot) = value;
    return OkStatus();
  }
  if (target.kind == ExprKind::kTuple) return AssignItems(target, value);
  const Value& space = Slot(target.slot);
  if (!space.Is(Type::kNamespace)) return InvalidArgumentError("cannot assign attribute on non-namespace object");
  if (target.constant.view().substr(0, 1) == "_") {
    return InvalidArgumentError("a namespace takes no attribute that begins with an underscore: " +
                                ShortRepr(target.constant));
  }
  MOTLEY_RETURN_IF_ERROR(budget_.Bytes(2 * sizeof(Value)));
  space.As<Namespace>().values.Set(target.constant, value);
  space.As<Namespace>().depth = 1;  // it is kept: what is in it does not count
  return OkStatus();
}

Status Interp::AssignItems(const Expr& target, const Value& value) {
  auto items = Iterate(value);
  if (!items.ok()) {
    return InvalidArgumentError(std::string("cannot unpack non-iterable ") + TypeName(value) + " object");
  }
  std::vector<Value> values;
  for (Value item; values.size() <= target.kids.size();) {
    MOTLEY_ASSIGN_OR_RETURN(const bool more, (*items)->Next(*this, &item));
    if (!more) break;
    values.push_back(item);
  }
  const std::string expected = "expected " + std::to_string(target.kids.size());
  if (values.size() > target.kids.size()) return InvalidArgumentError("too many values to unpack (" + expected + ")");
  if (values.size() < target.kids.size()) {
    return InvalidArgumentError("not enough values to unpack (" + expected + ", got " + std::to_string(values.size()) + ")");
  }
  for (size_t i = 0; i < values.size(); ++i) MOTLEY_RETURN_IF_ERROR(Assign(*target.kids[i], values[i]));
  return OkStatus();
}

namespace {

// Before the value is made, Jinja looks whether there is a namespace to put it in.
const Expr* FindNamespaceTarget(const Expr& target) {
  if (target.kind == ExprKind::kNamespaceTarget) return &target;
  for (const ExprPtr& kid : target.kids) {
    if (const Expr* found = FindNamespaceTarget(*kid)) return found;
  }
  return nullptr;
}

}  // namespace

Status Interp::ExecSet(const Stmt& stmt) {
  if (const Expr* space = FindNamespaceTarget(*stmt.target)) {
    if (!Slot(space->slot).Is(Type::kNamespace)) {
      return InvalidArgumentError("cannot assign attribute on non-namespace object");
    }
  }
  MOTLEY_ASSIGN_OR_RETURN(const Value value, Eval(*stmt.expr));
  return Assign(*stmt.target, value);
}

StatusOr<Text> Interp::Capture(const Body& body) {
  Text text;
  Text* outer = std::exchange(out_, &text);
  const Status status = Exec(body);
  out_ = outer;
  MOTLEY_RETURN_IF_ERROR(status);
  return text;
}

Status Interp::ExecSetBlock(const Stmt& stmt) {
  EnterScope(stmt.scope);
  MOTLEY_ASSIGN_OR_RETURN(Text text, Capture(stmt.body));
  if (flow_ == Flow::kOn) {
    MOTLEY_ASSIGN_OR_RETURN(Value value, NewStr(std::move(text)));
    if (stmt.filter != nullptr) {
      const Value block = std::move(value);
      MOTLEY_ASSIGN_OR_RETURN(value, EvalFilter(*stmt.filter, &block));
    }
    MOTLEY_RETURN_IF_ERROR(Assign(*stmt.target, value));
  }
  LeaveScope(stmt.scope);
  return OkStatus();
}

Status Interp::ExecFilterBlock(const Stmt& stmt) {
  EnterScope(stmt.scope);
  MOTLEY_ASSIGN_OR_RETURN(Text text, Capture(stmt.body));
  if (flow_ == Flow::kOn) {
    MOTLEY_ASSIGN_OR_RETURN(const Value block, NewStr(std::move(text)));
    MOTLEY_ASSIGN_OR_RETURN(const Value value, EvalFilter(*stmt.filter, &block));
    MOTLEY_RETURN_IF_ERROR(Print(value));
  }
  LeaveScope(stmt.scope);
  return OkStatus();
}

Status Interp::ExecWith(const Stmt& stmt) {
  std::vector<Value> values;
  for (const ExprPtr& expr : stmt.exprs) {
    MOTLEY_ASSIGN_OR_RETURN(Value value, Eval(*expr));
    values.push_back(std::move(value));
  }
  EnterScope(stmt.scope);
  for (size_t i = 0; i < values.size(); ++i) MOTLEY_RETURN_IF_ERROR(Assign(*stmt.targets[i], values[i]));
  MOTLEY_RETURN_IF_ERROR(Exec(stmt.body));
  LeaveScope(stmt.scope);
  return OkStatus();
}

}  // namespace motley::jinja
