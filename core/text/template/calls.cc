// Loops, macros and call blocks, run.
#include <algorithm>
#include <utility>

#include "core/text/template/interp.h"

namespace motley::jinja {

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
