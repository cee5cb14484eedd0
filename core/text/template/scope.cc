#include "core/text/template/scope.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace motley::jinja {
namespace {

// A scope and what is known of its names. A branch of an if has its own that stands on the scope's: it sees what that
// knows, and what it adds is taken over afterwards.
struct Symbols {
  const Symbols* parent = nullptr;
  const Symbols* base = nullptr;
  FunctionInfo* function = nullptr;
  uint32_t level = 0;                         // of the function
  std::map<std::string, uint32_t>* slots = nullptr;  // one a name, shared with branches
  std::set<std::string> refs, stores;
  std::map<std::string, ScopeLoad> loads;

  bool HasRef(const std::string& name) const {
    return refs.count(name) != 0 || (base != nullptr && base->HasRef(name));
  }
  bool HasStore(const std::string& name) const {
    return stores.count(name) != 0 || (base != nullptr && base->HasStore(name));
  }
  bool Knows(const std::string& name) const { return HasRef(name) || (parent != nullptr && parent->Knows(name)); }
};

// Calls `visit` with each expression that is directly inside.
void ForEachKid(const Expr& expr, const std::function<void(Expr*)>& visit) {
  for (const ExprPtr& kid : expr.kids) {
    if (kid != nullptr) visit(kid.get());
  }
  if (expr.args == nullptr) return;
  for (const ExprPtr& arg : expr.args->positional) visit(arg.get());
  for (const auto& [name, arg] : expr.args->named) visit(arg.get());
  if (expr.args->more_positional != nullptr) visit(expr.args->more_positional.get());
  if (expr.args->more_named != nullptr) visit(expr.args->more_named.get());
}

// In the order of the text: which of some names are read before they are set, anywhere inside.
class ReadFinder {
 public:
  explicit ReadFinder(std::set<std::string> names) : names_(std::move(names)) {}
  const std::set<std::string>& found() const { return found_; }

  void Visit(const Body& body) {
    for (const StmtPtr& stmt : body) Visit(*stmt);
  }

 private:
  void Visit(const Expr* expr) {
    if (expr == nullptr) return;
    if (expr->kind == ExprKind::kName) {
      if (expr->is_target) {
        names_.erase(expr->name);
      } else if (names_.count(expr->name) != 0) {
        found_.insert(expr->name);
      }
    }
    ForEachKid(*expr, [this](Expr* kid) { Visit(kid); });
  }

  void Visit(const Stmt& stmt) {
    Visit(stmt.target.get());
    if (stmt.function != nullptr) {
      for (const std::string& parameter : stmt.function->parameters) names_.erase(parameter);
      for (const ExprPtr& value : stmt.function->defaults) Visit(value.get());
    }
    Visit(stmt.expr.get());
    for (const ExprPtr& target : stmt.targets) Visit(target.get());
    for (const ExprPtr& expr : stmt.exprs) Visit(expr.get());
    Visit(stmt.filter.get());
    Visit(stmt.body);
    for (const StmtPtr& elif : stmt.elifs) Visit(*elif);
    Visit(stmt.orelse);
    Visit(stmt.test.get());
  }

  std::set<std::string> names_, found_;
};

class Resolver {
 public:
  Resolver(TemplateAst* ast, TemplateError* error) : ast_(ast), error_(error) {}

  bool Run() {
    Symbols root = Open(nullptr, &ast_->root, /*new_function=*/true);
    Analyze(&root, ast_->body);
    Close(root, &ast_->root.scope);
    Resolve(root, ast_->body, /*soft=*/false);
    ast_->names.assign(names_.begin(), names_.end());
    return error_->message.empty();
  }

 private:
  void Fail(uint32_t line, std::string message) {
    if (error_->message.empty()) *error_ = {line, std::move(message)};
  }

  Symbols Open(const Symbols* parent, FunctionInfo* function, bool new_function) {
    Symbols symbols;
    symbols.parent = parent;
    symbols.function = function;
    symbols.level = parent == nullptr ? 0 : parent->level + (new_function ? 1 : 0);
    slots_.push_back(std::make_unique<std::map<std::string, uint32_t>>());
    symbols.slots = slots_.back().get();
    return symbols;
  }

  static uint32_t SlotOf(const Symbols& symbols, const std::string& name) {
    const auto [it, added] = symbols.slots->emplace(name, symbols.function->slots);
    if (added) ++symbols.function->slots;
    return it->second;
  }

  // Where `name` is, seen from a function at `level`. It must be known.
  static SlotRef Find(const Symbols& from, const std::string& name, uint32_t level) {
    const Symbols* symbols = &from;
    while (!symbols->HasRef(name)) symbols = symbols->parent;
    return {level - symbols->level, SlotOf(*symbols, name)};
  }

  // What the three kinds of mention do to a scope.
  void Define(Symbols* symbols, const std::string& name, ScopeLoad load) {
    symbols->refs.insert(name);
    load.slot = SlotOf(*symbols, name);
    symbols->loads[name] = std::move(load);
  }
  void Read(Symbols* symbols, const std::string& name) {
    if (symbols->Knows(name)) return;
    names_.insert(name);
    Define(symbols, name, {.kind = ScopeLoad::kContext, .name = name});
  }
  ScopeLoad OuterLoad(const Symbols& symbols, const std::string& name, ScopeLoad otherwise) {
    if (symbols.parent == nullptr || !symbols.parent->Knows(name)) return otherwise;
    return {.kind = ScopeLoad::kCopy, .from = Find(*symbols.parent, name, symbols.level)};
  }
  void Write(Symbols* symbols, const std::string& name) {
    symbols->stores.insert(name);
    if (symbols->HasRef(name)) return;
    Define(symbols, name, OuterLoad(*symbols, name, {.kind = ScopeLoad::kMissing}));
  }
  void Parameter(Symbols* symbols, const std::string& name) {
    symbols->stores.insert(name);
    Define(symbols, name, {.kind = ScopeLoad::kParameter});
  }

  void Analyze(Symbols* symbols, const Expr* expr, bool as_parameter = false) {
    if (expr == nullptr) return;
    if (expr->kind == ExprKind::kName) {
      if (as_parameter) {
        Parameter(symbols, expr->name);
      } else if (expr->is_target) {
        Write(symbols, expr->name);
      } else {
        Read(symbols, expr->name);
      }
    } else if (expr->kind == ExprKind::kNamespaceTarget) {
      Read(symbols, expr->name);
    }
    ForEachKid(*expr, [&](Expr* kid) { Analyze(symbols, kid, as_parameter); });
  }

  void Analyze(Symbols* symbols, const Body& body) {
    for (const StmtPtr& stmt : body) Analyze(symbols, *stmt);
  }

  // What a statement does to the scope that it stands in; its own scopes are looked at when they are resolved.
  void Analyze(Symbols* symbols, const Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::kIf: AnalyzeIf(symbols, stmt); break;
      case StmtKind::kMacro: Write(symbols, stmt.function->name); break;
      case StmtKind::kFor: Analyze(symbols, stmt.expr.get()); break;
      case StmtKind::kSetBlock: Analyze(symbols, stmt.target.get()); break;
      case StmtKind::kFilterBlock: Analyze(symbols, stmt.filter.get()); break;
      default:
        Analyze(symbols, stmt.expr.get());
        for (const ExprPtr& expr : stmt.exprs) Analyze(symbols, expr.get());
        Analyze(symbols, stmt.target.get());
    }
  }

  void AnalyzeIf(Symbols* symbols, const Stmt& stmt) {
    Analyze(symbols, stmt.expr.get());
    std::vector<Symbols> branches(3);
    for (Symbols& branch : branches) {
      branch.parent = symbols->parent;
      branch.base = symbols;
      branch.function = symbols->function;
      branch.level = symbols->level;
      branch.slots = symbols->slots;
    }
    Analyze(&branches[0], stmt.body);
    for (const StmtPtr& elif : stmt.elifs) Analyze(&branches[1], *elif);
    Analyze(&branches[2], stmt.orelse);
    std::set<std::string> stores;
    for (const Symbols& branch : branches) {
      for (const std::string& name : branch.stores) {
        if (!symbols->HasStore(name)) stores.insert(name);
      }
    }
    for (Symbols& branch : branches) {
      symbols->refs.merge(branch.refs);
      symbols->stores.merge(branch.stores);
      for (auto& [name, load] : branch.loads) symbols->loads[name] = std::move(load);
    }
    // Which branch is taken is not known: where the name is not set, the outer variable shows.
    for (const std::string& name : stores) {
      names_.insert(name);
      Define(symbols, name, OuterLoad(*symbols, name, {.kind = ScopeLoad::kContext, .name = name}));
    }
  }

  static void Close(const Symbols& symbols, Scope* scope) {
    scope->clear();
    for (const auto& [name, load] : symbols.loads) scope->push_back(load);
  }

  void Resolve(const Symbols& symbols, Expr* expr, bool soft) {
    if (expr == nullptr) return;
    if (expr->kind == ExprKind::kName || expr->kind == ExprKind::kNamespaceTarget) {
      // A filter of a set block may name what its scope has never seen.
      if (symbols.Knows(expr->name)) {
        expr->slot = Find(symbols, expr->name, symbols.level);
      } else {
        Fail(expr->line, "the name '" + expr->name + "' cannot be used in the filter of a set block");
      }
    }
    const bool is_filter = expr->kind == ExprKind::kFilter;
    if (!soft && ((is_filter && expr->filter == nullptr) || (expr->kind == ExprKind::kTest && expr->test == nullptr))) {
      Fail(expr->line, std::string("No ") + (is_filter ? "filter" : "test") + " named '" + expr->name + "'.");
    }
    const bool conditional = expr->kind == ExprKind::kConditional;
    ForEachKid(*expr, [&](Expr* kid) { Resolve(symbols, kid, soft || conditional); });
  }

  void Resolve(const Symbols& symbols, const Body& body, bool soft) {
    for (const StmtPtr& stmt : body) Resolve(symbols, stmt.get(), soft);
  }

  void Resolve(const Symbols& symbols, Stmt* stmt, bool soft) {
    switch (stmt->kind) {
      case StmtKind::kFor: ResolveFor(symbols, stmt, soft); break;
      case StmtKind::kIf:
        Resolve(symbols, stmt->expr.get(), true);
        Resolve(symbols, stmt->body, true);
        for (const StmtPtr& elif : stmt->elifs) Resolve(symbols, elif.get(), true);
        Resolve(symbols, stmt->orelse, true);
        break;
      case StmtKind::kMacro:
        stmt->slot = Find(symbols, stmt->function->name, symbols.level);
        ResolveFunction(symbols, stmt);
        break;
      case StmtKind::kCallBlock:
        ResolveFunction(symbols, stmt);
        Resolve(symbols, stmt->expr.get(), soft);
        break;
      case StmtKind::kGeneration: ResolveFunction(symbols, stmt); break;
      case StmtKind::kSetBlock:
      case StmtKind::kFilterBlock: ResolveCapture(symbols, stmt, soft); break;
      case StmtKind::kWith: ResolveWith(symbols, stmt, soft); break;
      default:
        Resolve(symbols, stmt->expr.get(), soft);
        Resolve(symbols, stmt->target.get(), soft);
        for (const ExprPtr& expr : stmt->exprs) Resolve(symbols, expr.get(), soft);
    }
  }

  void ResolveCapture(const Symbols& symbols, Stmt* stmt, bool soft) {
    Symbols inner = Open(&symbols, symbols.function, false);
    if (stmt->kind == StmtKind::kFilterBlock) Analyze(&inner, stmt->filter.get());
    Analyze(&inner, stmt->body);
    Close(inner, &stmt->scope);
    Resolve(inner, stmt->body, false);
    Resolve(inner, stmt->filter.get(), false);
    Resolve(symbols, stmt->target.get(), soft);
  }

  void ResolveWith(const Symbols& symbols, Stmt* stmt, bool soft) {
    Symbols inner = Open(&symbols, symbols.function, false);
    for (const ExprPtr& target : stmt->targets) Analyze(&inner, target.get(), /*as_parameter=*/true);
    Analyze(&inner, stmt->body);
    Close(inner, &stmt->scope);
    for (const ExprPtr& value : stmt->exprs) Resolve(symbols, value.get(), soft);
    for (const ExprPtr& target : stmt->targets) Resolve(inner, target.get(), false);
    Resolve(inner, stmt->body, false);
  }

  void ResolveFor(const Symbols& symbols, Stmt* stmt, bool soft) {
    Resolve(symbols, stmt->expr.get(), soft);
    if (FindLoopTarget(*stmt)) Fail(stmt->line, "Can't assign to special loop variable in for-loop target");
    ResolveLoopTest(symbols, stmt);
    FunctionInfo* function = symbols.function;
    if (stmt->recursive) {
      stmt->function = std::make_unique<FunctionInfo>();
      function = stmt->function.get();
    }
    Symbols inner = Open(&symbols, function, stmt->recursive);
    ReadFinder finder({"loop"});
    finder.Visit(stmt->body);
    stmt->uses_loop = stmt->recursive || !finder.found().empty();
    if (stmt->uses_loop) {
      Parameter(&inner, "loop");
      stmt->loop_slot = SlotOf(inner, "loop");
    }
    Analyze(&inner, stmt->target.get(), /*as_parameter=*/true);
    Analyze(&inner, stmt->body);
    Close(inner, &stmt->scope);
    Resolve(inner, stmt->target.get(), false);
    Resolve(inner, stmt->body, false);

    Symbols otherwise = Open(&symbols, function, stmt->recursive);
    Analyze(&otherwise, stmt->orelse);
    Close(otherwise, &stmt->else_scope);
    Resolve(otherwise, stmt->orelse, false);
  }

  // The test of a for runs as a function of its own, with the loop's targets.
  void ResolveLoopTest(const Symbols& symbols, Stmt* stmt) {
    if (stmt->test == nullptr) return;
    stmt->test_function = std::make_unique<FunctionInfo>();
    Symbols inner = Open(&symbols, stmt->test_function.get(), true);
    Analyze(&inner, stmt->target.get(), /*as_parameter=*/true);
    Analyze(&inner, stmt->test.get());
    Close(inner, &stmt->test_scope);
    Resolve(inner, stmt->test.get(), false);
    // The target's own slots are those of the loop: the test has a copy of the pattern.
    test_target_ = CopyTarget(*stmt->target);
    Resolve(inner, test_target_.get(), false);
    stmt->targets.push_back(std::move(test_target_));
  }

  static ExprPtr CopyTarget(const Expr& target) {
    auto copy = std::make_unique<Expr>();
    copy->kind = target.kind;
    copy->line = target.line;
    copy->is_target = true;
    copy->name = target.name;
    copy->constant = target.constant;
    for (const ExprPtr& kid : target.kids) copy->kids.push_back(CopyTarget(*kid));
    return copy;
  }

  static bool SetsLoop(const Expr* expr) {
    if (expr == nullptr) return false;
    if (expr->kind == ExprKind::kName && expr->is_target && expr->name == "loop") return true;
    return std::any_of(expr->kids.begin(), expr->kids.end(), [](const ExprPtr& kid) { return SetsLoop(kid.get()); });
  }
  static bool FindLoopTarget(const Body& body) {
    return std::any_of(body.begin(), body.end(), [](const StmtPtr& stmt) { return FindLoopTarget(*stmt); });
  }
  static bool FindLoopTarget(const Stmt& stmt) {
    return SetsLoop(stmt.target.get()) || FindLoopTarget(stmt.body) || FindLoopTarget(stmt.orelse) ||
           FindLoopTarget(stmt.elifs);
  }

  void ResolveFunction(const Symbols& symbols, Stmt* stmt) {
    FunctionInfo* function = stmt->function.get();
    Symbols inner = Open(&symbols, function, true);
    for (const std::string& name : function->parameters) Parameter(&inner, name);
    for (const ExprPtr& value : function->defaults) Analyze(&inner, value.get());
    Analyze(&inner, stmt->body);

    ReadFinder finder({"caller", "kwargs", "varargs"});
    finder.Visit(stmt->body);
    const auto declares = [&](const char* name) {
      return std::find(function->parameters.begin(), function->parameters.end(), name) != function->parameters.end();
    };
    const auto special = [&](const char* name, bool* has, uint32_t* slot) {
      if (finder.found().count(name) == 0 || declares(name)) return;
      Parameter(&inner, name);
      *has = true;
      *slot = SlotOf(inner, name);
    };
    CheckExplicitCaller(*stmt, finder.found().count("caller") != 0);
    special("caller", &function->has_caller, &function->caller_slot);
    special("kwargs", &function->has_kwargs, &function->kwargs_slot);
    special("varargs", &function->has_varargs, &function->varargs_slot);

    for (const std::string& name : function->parameters) function->parameter_slots.push_back(SlotOf(inner, name));
    Close(inner, &function->scope);
    for (const ExprPtr& value : function->defaults) Resolve(inner, value.get(), false);
    Resolve(inner, stmt->body, false);
  }

  void CheckExplicitCaller(const Stmt& stmt, bool reads_caller) {
    const FunctionInfo& function = *stmt.function;
    const auto it = std::find(function.parameters.begin(), function.parameters.end(), "caller");
    if (!reads_caller || it == function.parameters.end()) return;
    const auto behind = static_cast<size_t>(function.parameters.end() - it);
    if (behind <= function.defaults.size()) return;
    Fail(stmt.line, "the special argument \"caller\" of a macro or call block must be left out or have a default");
  }

  TemplateAst* ast_;
  TemplateError* error_;
  std::vector<std::unique_ptr<std::map<std::string, uint32_t>>> slots_;
  std::set<std::string> names_;
  ExprPtr test_target_;
};

}  // namespace

bool ResolveNames(TemplateAst* ast, TemplateError* error) { return Resolver(ast, error).Run(); }

}  // namespace motley::jinja
