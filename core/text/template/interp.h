// Interp: runs a parsed template over variables. One object a rendering, one thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/template/ast.h"
#include "core/text/template/budget.h"
#include "core/text/template/value.h"

namespace motley::jinja {

// The variables of a function that runs, or ran and is still referred to by a macro.
struct Activation : Object {
  Ref<Activation> parent;
  std::vector<Value> slots;
};

struct Clock {
  std::optional<std::chrono::system_clock::time_point> now;  // absent: the system's
};

class Interp {
 public:
  using Context = std::map<std::string, Value, std::less<>>;

  Interp(const TemplateAst& ast, const Context& context, const ChatTemplateLimits& limits, const Clock& clock);
  ~Interp();
  Interp(const Interp&) = delete;
  Interp& operator=(const Interp&) = delete;

  // The text. On an error error_line() says where.
  StatusOr<Text> Run();
  uint32_t error_line() const { return error_line_; }

  // --- for operators, filters, tests, methods ---
  Budget& budget() { return budget_; }
  const Clock& clock() const { return clock_; }
  Status UndefinedError(const Value& undefined) const;

  // obj.name and obj[key] by the rules of Jinja's sandbox: undefined where there is nothing.
  Result GetAttribute(const Value& object, const Value& name);
  Result GetItem(const Value& object, const Value& key);
  // Python's getattr(obj, name) and obj[key]; missing where those raise AttributeError, or TypeError and LookupError.
  Result Attribute(const Value& object, std::string_view name);
  Result Item(const Value& object, const Value& key);
  Result Call(const Value& callee, Arguments args);
  Result CallFilter(std::string_view name, const Value& subject, Arguments args);
  StatusOr<bool> CallTest(std::string_view name, const Value& subject, Arguments args);

  // Python's iter(); a TypeError where it cannot be iterated.
  StatusOr<Ref<Iterator>> Iterate(const Value& value);
  // Python's list().
  StatusOr<std::vector<Value>> ToVector(const Value& value);
  // Python's str(), as a string value.
  Result ToStr(const Value& value);
  Result NewStr(Text text, bool markup = false);

  // Holds an object that may change until the rendering is over.
  template <typename T>
  Ref<T> Keep(T* object) {
    Ref<T> ref(object);
    kept_.push_back(Ref<Object>(object));
    return ref;
  }

  // For macros and loops.
  Result RunFunction(const FunctionInfo& function, const Body& body, const Ref<Activation>& parent, Arguments args);
  Result RunRecursiveLoop(const Stmt& stmt, const Ref<Activation>& enclosing, const Value& iterable, int64_t depth);
  StatusOr<bool> TestItem(const Stmt& stmt, const Ref<Activation>& test_activation, const Value& item);

 private:
  enum class Flow : uint8_t { kOn, kBreak, kContinue };

  // Statements (exec.cc).
  Status Exec(const Body& body);
  Status Exec(const Stmt& stmt);
  Status ExecStmt(const Stmt& stmt);
  Status ExecOutput(const Stmt& stmt);
  Status ExecIf(const Stmt& stmt);
  Status ExecFor(const Stmt& stmt);
  Status RunLoop(const Stmt& stmt, const Ref<Activation>& enclosing, const Value& iterable, int64_t depth,
                 const Value& recurse);
  Status ExecSet(const Stmt& stmt);
  Status ExecSetBlock(const Stmt& stmt);
  Status ExecFilterBlock(const Stmt& stmt);
  Status ExecWith(const Stmt& stmt);
  Status ExecMacro(const Stmt& stmt);
  Status ExecCallBlock(const Stmt& stmt);
  Status ExecGeneration(const Stmt& stmt);
  // Runs `body` into a text of its own.
  StatusOr<Text> Capture(const Body& body);
  Status Print(const Value& value);
  Status Assign(const Expr& target, const Value& value);
  Status AssignItems(const Expr& target, const Value& value);

  void EnterScope(const Scope& scope);
  void LeaveScope(const Scope& scope);
  Value& Slot(const SlotRef& ref);

  // Expressions (eval.cc).
  Result Eval(const Expr& expr);
  Result EvalExpr(const Expr& expr);
  Result EvalName(const Expr& expr);
  Result EvalItems(const Expr& expr);
  Result EvalDict(const Expr& expr);
  Result EvalCompare(const Expr& expr);
  Result EvalConcat(const Expr& expr);
  Result EvalConditional(const Expr& expr);
  Result EvalSlice(const Expr& expr);
  Result EvalCall(const Expr& expr, const Value& caller);
  Result EvalFilter(const Expr& expr, const Value* block);
  Result EvalTest(const Expr& expr);
  Status EvalArgs(const CallArgs& args, Arguments* out);

  const TemplateAst& ast_;
  const Context& context_;
  Context globals_;
  Budget budget_;
  Clock clock_;
  Text* out_ = nullptr;
  Flow flow_ = Flow::kOn;
  uint32_t error_line_ = 0;
  Ref<Activation> activation_;
  std::vector<Ref<Object>> kept_;
};

// A macro or the body of a call block.
struct Macro : Function {
  const FunctionInfo* function = nullptr;
  const Body* body = nullptr;
  Ref<Activation> parent;
  Result Call(Interp& interp, Arguments args) override;
  const char* type_name() const override { return "Macro"; }
  std::string repr() const override { return "<Macro>"; }
};

// The variable `loop`.
struct Loop : Object {
  Value iterable;                 // as it was given
  Ref<Iterator> items;
  Value recurse;                  // the function of a recursive loop, or missing
  int64_t index0 = -1, depth0 = 0;
  int64_t length = -1;            // -1: not known yet
  std::optional<Value> after;     // looked at, but not reached yet
  bool at_end = false;            // looked, and there was nothing
  Value current, before;
  std::optional<Value> last_changed;

  StatusOr<bool> Next(Interp& interp, Value* item);
  Result Peek(Interp& interp);    // missing at the end
  StatusOr<int64_t> Length(Interp& interp);
};

// What names mean that neither the template nor the input sets: range, namespace ...
void AddGlobals(Interp& interp, Interp::Context* globals);

}  // namespace motley::jinja
