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

// --- loops ---

namespace {

// The items for which the test of a for holds, found as they are asked for.
struct TestedItems : Iterator {
  const Stmt* stmt = nullptr;
  Ref<Iterator> items;
  Ref<Activation> test;

  StatusOr<bool> Next(Interp& interp, Value* item) override {
    for (;;) {
      MOTLEY_ASSIGN_OR_RETURN(const bool more, items->Next(interp, item));
      if (!more) return false;
      MOTLEY_ASSIGN_OR_RETURN(const bool holds, interp.TestItem(*stmt, test, *item));
      if (holds) return true;
    }
  }
};

// `loop` of a recursive for, called with the items of the next level.
struct RecursiveLoop : Function {
  const Stmt* stmt = nullptr;
  Ref<Activation> enclosing;
  int64_t depth = 0;
  Result Call(Interp& interp, Arguments args) override {
    if (args.positional.size() != 1 || !args.named.empty()) {
      return InvalidArgumentError("loop() takes one argument, what to loop over");
    }
    return interp.RunRecursiveLoop(*stmt, enclosing, args.positional[0], depth);
  }
  std::string repr() const override { return "<LoopContext>"; }
};

}  // namespace

StatusOr<bool> Interp::TestItem(const Stmt& stmt, const Ref<Activation>& test, const Value& item) {
  const Ref<Activation> outer = std::exchange(activation_, test);
  Status status = Assign(*stmt.targets[0], item);
  Result result = status.ok() ? Eval(*stmt.test) : Result(status);
  activation_ = outer;
  MOTLEY_RETURN_IF_ERROR(result.status());
  return Truth(*result);
}

Status Interp::ExecFor(const Stmt& stmt) {
  MOTLEY_ASSIGN_OR_RETURN(const Value iterable, Eval(*stmt.expr));
  if (!stmt.recursive) return RunLoop(stmt, activation_, iterable, 0, Value());
  MOTLEY_ASSIGN_OR_RETURN(const Value text, RunRecursiveLoop(stmt, activation_, iterable, 0));
  return Print(text);
}

Result Interp::RunRecursiveLoop(const Stmt& stmt, const Ref<Activation>& enclosing, const Value& iterable,
                                int64_t depth) {
  if (const Status status = budget_.EnterCall(); !status.ok()) {
    budget_.LeaveCall();
    return status;
  }
  MOTLEY_RETURN_IF_ERROR(budget_.Bytes(sizeof(Activation) + stmt.function->slots * sizeof(Value)));
  auto* recurse = new RecursiveLoop;
  const Value function = Value::Of(Type::kFunction, recurse);
  recurse->stmt = &stmt;
  recurse->enclosing = enclosing;
  recurse->depth = depth + 1;

  auto* activation = new Activation;
  activation->parent = enclosing;
  activation->slots.resize(stmt.function->slots);
  const Ref<Activation> outer = std::exchange(activation_, Keep(activation));
  Text text;
  Text* outer_text = std::exchange(out_, &text);
  const Flow flow = std::exchange(flow_, Flow::kOn);
  const Status status = RunLoop(stmt, enclosing, iterable, depth, function);
  flow_ = flow;
  out_ = outer_text;
  activation_ = outer;
  budget_.LeaveCall();
  MOTLEY_RETURN_IF_ERROR(status);
  return NewStr(std::move(text));
}

Status Interp::RunLoop(const Stmt& stmt, const Ref<Activation>& enclosing, const Value& iterable, int64_t depth,
                       const Value& recurse) {
  MOTLEY_ASSIGN_OR_RETURN(Ref<Iterator> items, Iterate(iterable));
  if (stmt.test != nullptr) {
    auto* test = new Activation;
    test->parent = enclosing;
    test->slots.resize(stmt.test_function->slots);
    auto* tested = new TestedItems;
    tested->stmt = &stmt;
    tested->items = items;
    tested->test = Keep(test);
    items = Ref<Iterator>(tested);
    const Ref<Activation> outer = std::exchange(activation_, tested->test);
    EnterScope(stmt.test_scope);
    activation_ = outer;
  }
  Ref<Loop> loop;
  if (stmt.uses_loop) {
    MOTLEY_RETURN_IF_ERROR(budget_.Bytes(sizeof(Loop)));
    loop = Keep(new Loop);
    loop->iterable = stmt.test == nullptr ? iterable : Value();  // a tested one has no length
    loop->items = items;
    loop->recurse = recurse;
    loop->depth0 = depth;
  }
  bool any = false;
  for (Value item;;) {
    MOTLEY_RETURN_IF_ERROR(budget_.Step());
    auto more = loop ? loop->Next(*this, &item) : items->Next(*this, &item);
    MOTLEY_RETURN_IF_ERROR(more.status());
    if (!*more) break;
    any = true;
    if (loop) activation_->slots[stmt.loop_slot] = Value::Of(Type::kLoop, loop.get());
    MOTLEY_RETURN_IF_ERROR(Assign(*stmt.target, item));
    EnterScope(stmt.scope);
    MOTLEY_RETURN_IF_ERROR(Exec(stmt.body));
    const Flow flow = std::exchange(flow_, Flow::kOn);
    if (flow == Flow::kBreak) break;
  }
  LeaveScope(stmt.scope);
  if (any || stmt.orelse.empty()) return OkStatus();
  EnterScope(stmt.else_scope);
  MOTLEY_RETURN_IF_ERROR(Exec(stmt.orelse));
  LeaveScope(stmt.else_scope);
  return OkStatus();
}

// --- functions ---

Status Interp::ExecMacro(const Stmt& stmt) {
  auto* macro = new Macro;
  const Value value = Value::Of(Type::kFunction, macro);
  macro->function = stmt.function.get();
  macro->body = &stmt.body;
  macro->parent = activation_;
  Slot(stmt.slot) = value;
  return budget_.Bytes(sizeof(Macro));
}

Status Interp::ExecCallBlock(const Stmt& stmt) {
  auto* macro = new Macro;
  const Value caller = Value::Of(Type::kFunction, macro);
  macro->function = stmt.function.get();
  macro->body = &stmt.body;
  macro->parent = activation_;
  MOTLEY_RETURN_IF_ERROR(budget_.Bytes(sizeof(Macro)));
  MOTLEY_ASSIGN_OR_RETURN(const Value value, EvalCall(*stmt.expr, caller));
  return Print(value);
}

Status Interp::ExecGeneration(const Stmt& stmt) {
  MOTLEY_ASSIGN_OR_RETURN(const Value text, RunFunction(*stmt.function, stmt.body, activation_, {}));
  return Print(text);
}

Result Macro::Call(Interp& interp, Arguments args) {
  return interp.RunFunction(*function, *body, parent, std::move(args));
}

namespace {

std::string MacroName(const FunctionInfo& function) {
  return function.name.empty() ? "None" : "'" + function.name + "'";
}

}  // namespace

// Fills the parameters as Jinja's Macro does, then runs the body.
Result Interp::RunFunction(const FunctionInfo& function, const Body& body, const Ref<Activation>& parent,
                           Arguments args) {
  MOTLEY_RETURN_IF_ERROR(budget_.Bytes(sizeof(Activation) + function.slots * sizeof(Value)));
  auto* activation = new Activation;
  const Ref<Activation> kept = Keep(activation);
  activation->parent = parent;
  activation->slots.resize(function.slots);

  const size_t count = function.parameters.size();
  const size_t given = std::min(args.positional.size(), count);
  bool found_caller = given == count && std::find(function.parameters.begin(), function.parameters.end(), "caller") !=
                                            function.parameters.end();
  std::vector<Value> values(args.positional.begin(), args.positional.begin() + static_cast<ptrdiff_t>(given));
  for (size_t i = given; i < count; ++i) {
    values.push_back(args.Take(function.parameters[i]));
    found_caller = found_caller || function.parameters[i] == "caller";
  }
  if (function.has_caller && !found_caller) {
    Value caller = args.Take("caller");
    if (caller.is_missing() || caller.is_none()) caller = NewUndefined("No caller defined");
    activation->slots[function.caller_slot] = std::move(caller);
  }
  if (function.has_kwargs) {
    auto* dict = new Dict;
    activation->slots[function.kwargs_slot] = Value::Of(Type::kDict, dict);
    for (auto& [name, value] : args.named) dict->Set(Value::String(name, true), std::move(value));
  } else if (!args.named.empty()) {
    return InvalidArgumentError("macro " + MacroName(function) + " takes no keyword argument '" + args.named[0].first + "'");
  }
  if (function.has_varargs) {
    std::vector<Value> rest(args.positional.begin() + static_cast<ptrdiff_t>(given), args.positional.end());
    activation->slots[function.varargs_slot] = NewTuple(std::move(rest));
  } else if (args.positional.size() > count) {
    return InvalidArgumentError("macro " + MacroName(function) + " takes not more than " + std::to_string(count) +
                                " argument(s)");
  }

  Status status = budget_.EnterCall();
  const Ref<Activation> outer = std::exchange(activation_, kept);
  Text text;
  Text* outer_text = std::exchange(out_, &text);
  const Flow flow = std::exchange(flow_, Flow::kOn);
  EnterScope(function.scope);
  for (size_t i = 0; i < count; ++i) activation->slots[function.parameter_slots[i]] = values[i];
  for (size_t i = 0; i < count && status.ok(); ++i) {
    if (values[i].is_missing()) {
      const size_t without = count - function.defaults.size();
      Result value = i < without ? Result(NewUndefined("parameter '" + function.parameters[i] + "' was not provided"))
                                 : Eval(*function.defaults[i - without]);
      status = value.status();
      if (value.ok()) activation->slots[function.parameter_slots[i]] = *std::move(value);
    }
  }
  if (status.ok()) status = Exec(body);
  flow_ = flow;
  out_ = outer_text;
  activation_ = outer;
  budget_.LeaveCall();
  MOTLEY_RETURN_IF_ERROR(status);
  return NewStr(std::move(text));
}

}  // namespace motley::jinja
