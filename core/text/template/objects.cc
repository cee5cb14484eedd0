// Attributes, items and calls of values.
#include <utility>

#include "core/text/template/filters.h"
#include "core/text/template/interp.h"
#include "core/text/template/methods.h"
#include "core/text/template/repr.h"
#include "core/text/template/tests.h"
#include "core/text/template/unicode.h"

namespace motley::jinja {

struct Method : Function {
  Value self;
  const MethodRow* row = nullptr;

  Result Call(Interp& interp, Arguments args) override {
    if (row->call == nullptr) {
      return InvalidArgumentError(std::string("the method ") + TypeName(self) + "." + std::string(row->name) +
                                  " is not supported");
    }
    return row->call(interp, self, args);
  }
  std::string repr() const override { return "<built-in method " + std::string(row->name) + ">"; }
};

Status Interp::UndefinedError(const Value& undefined) const { return InvalidArgumentError(UndefinedMessage(undefined)); }

Result Interp::NewStr(Text text, bool markup) {
  MOTLEY_RETURN_IF_ERROR(budget_.Bytes(sizeof(Str) + text.size()));
  return Value::String(std::move(text), markup);
}

Result Interp::ToStr(const Value& value) {
  if (value.is_str() && !value.str().markup) return value;
  Text text;
  MOTLEY_RETURN_IF_ERROR(AppendStr(budget_, value, &text));
  return NewStr(std::move(text));
}

namespace {

// What is read rather than called.
Result Property(Interp& interp, const Value& object, std::string_view name) {
  switch (object.type()) {
    case Type::kNamespace: {
      const Value* found = object.As<Namespace>().values.Find(name);
      return found == nullptr ? Value() : *found;
    }
    case Type::kTuple:
      if (!object.As<List>().group) return Value();
      return name == "grouper" ? object.items()[0] : name == "list" ? object.items()[1] : Value();
    case Type::kBool:
    case Type::kInt:
    case Type::kBigInt:
      if (name == "real" || name == "numerator") return object.Is(Type::kBool) ? Value::Int(object.integer()) : object;
      if (name == "imag") return Value::Int(0);
      return name == "denominator" ? Value::Int(1) : Value();
    case Type::kFloat: return name == "real" ? object : name == "imag" ? Value::Float(0) : Value();
    case Type::kRange: {
      const Range& range = object.As<Range>();
      if (name == "start") return Value::Int(range.start);
      if (name == "stop") return Value::Int(range.stop);
      return name == "step" ? Value::Int(range.step) : Value();
    }
    case Type::kCycler: {
      const Cycler& cycler = object.As<Cycler>();
      return name == "current" ? cycler.items[cycler.at] : name == "pos" ? Value::Int(static_cast<int64_t>(cycler.at)) : Value();
    }
    case Type::kJoiner: {
      const Joiner& joiner = object.As<Joiner>();
      return name == "sep" ? joiner.separator : name == "used" ? Value::Bool(joiner.used) : Value();
    }
    default: break;
  }
  if (object.Is(Type::kFunction)) {
    const auto* macro = dynamic_cast<const Macro*>(object.object());
    if (macro == nullptr) return Value();
    const FunctionInfo& function = *macro->function;
    if (name == "name") return function.name.empty() ? Value::None() : Value::String(function.name, true);
    if (name == "catch_kwargs") return Value::Bool(function.has_kwargs);
    if (name == "catch_varargs") return Value::Bool(function.has_varargs);
    if (name == "caller") return Value::Bool(function.has_caller);
    if (name != "arguments") return Value();
    std::vector<Value> names;
    for (const std::string& parameter : function.parameters) names.push_back(Value::String(parameter, true));
    return NewTuple(std::move(names));
  }
  if (!object.Is(Type::kLoop)) return Value();
  auto& loop = object.As<Loop>();
  if (name == "index0") return Value::Int(loop.index0);
  if (name == "index") return Value::Int(loop.index0 + 1);
  if (name == "first") return Value::Bool(loop.index0 == 0);
  if (name == "depth0") return Value::Int(loop.depth0);
  if (name == "depth") return Value::Int(loop.depth0 + 1);
  if (name == "previtem") return loop.index0 == 0 ? NewUndefined("there is no previous item") : loop.before;
  if (name == "last" || name == "nextitem") {
    MOTLEY_ASSIGN_OR_RETURN(const Value next, loop.Peek(interp));
    if (name == "last") return Value::Bool(next.is_missing());
    return next.is_missing() ? NewUndefined("there is no next item") : next;
  }
  if (name != "length" && name != "revindex" && name != "revindex0") return Value();
  MOTLEY_ASSIGN_OR_RETURN(const int64_t length, loop.Length(interp));
  return Value::Int(name == "length" ? length : length - loop.index0 - (name == "revindex0" ? 1 : 0));
}

Status Unsafe(const Value& object, std::string_view name) {
  return InvalidArgumentError("access to attribute '" + std::string(name) + "' of '" + TypeName(object) +
                              "' object is unsafe.");
}

// Names that begin with an underscore are Python's insides: nothing is there, and using it is an error.
bool IsInside(std::string_view name) { return !name.empty() && name[0] == '_'; }

}  // namespace

// Python's getattr(); missing where there is no such attribute.
Result Interp::Attribute(const Value& object, std::string_view name) {
  MOTLEY_ASSIGN_OR_RETURN(Value property, Property(*this, object, name));
  if (!property.is_missing()) {
    if (IsInside(name)) return NewUndefined(Unsafe(object, name).message());
    return property;
  }
  const MethodRow* row = FindMethod(object, name);
  if (row == nullptr) {
    // Every object has these; what they are is nobody's business.
    if (name.size() > 4 && name.substr(0, 2) == "__" && name.substr(name.size() - 2) == "__") {
      for (const std::string_view inside : {"__class__", "__init__", "__doc__", "__dict__", "__module__", "__eq__",
                                            "__str__", "__repr__", "__hash__", "__getattribute__", "__subclasshook__",
                                            "__len__", "__iter__", "__getitem__", "__contains__", "__call__"}) {
        if (name == inside) return NewUndefined(Unsafe(object, name).message());
      }
    }
    return Value();
  }
  if (IsMutating(object, name)) return NewUndefined(Unsafe(object, name).message());
  MOTLEY_RETURN_IF_ERROR(budget_.Bytes(sizeof(Method)));
  auto* method = new Method;
  Value value = Value::Of(Type::kFunction, method);
  CountIn(object, method);
  method->self = object;
  method->row = row;
  return value;
}

// Python's object[key]; missing where that raises a TypeError or LookupError.
Result Interp::Item(const Value& object, const Value& key) {
  switch (object.type()) {
    case Type::kDict: {
      if (!IsHashable(key)) return Value();
      const Value* found = object.dict().Find(key);
      return found == nullptr ? Value() : *found;
    }
    case Type::kStr:
    case Type::kList:
    case Type::kTuple:
    case Type::kRange: {
      if (!key.is_int()) return Value();
      const int64_t length = LengthOf(object);
      int64_t at = key.integer();
      if (at < 0) at += length;
      if (at < 0 || at >= length) return Value();
      const auto index = static_cast<size_t>(at);
      if (object.is_sequence()) return object.items()[index];
      if (object.Is(Type::kRange)) return Value::Int(object.As<Range>().start + at * object.As<Range>().step);
      const Str& str = object.str();
      const size_t begin = str.ascii ? index : OffsetOf(str.text.view(), index);
      const size_t size = DecodeOne(str.text.view().substr(begin)).size;
      return NewStr(str.text.Part(begin, begin + size), str.markup);
    }
    default: return Value();
  }
}

Result Interp::GetAttribute(const Value& object, const Value& name) {
  if (object.is_undefined()) return UndefinedError(object);
  MOTLEY_ASSIGN_OR_RETURN(Value value, Attribute(object, name.view()));
  if (!value.is_missing()) return value;
  MOTLEY_ASSIGN_OR_RETURN(value, Item(object, name));
  if (!value.is_missing()) return value;
  return NewUndefinedAttribute(object, name);
}

Result Interp::GetItem(const Value& object, const Value& key) {
  if (object.is_undefined()) return UndefinedError(object);
  MOTLEY_ASSIGN_OR_RETURN(Value value, Item(object, key));
  if (!value.is_missing()) return value;
  if (key.is_str()) {
    MOTLEY_ASSIGN_OR_RETURN(value, Attribute(object, key.view()));
    if (!value.is_missing()) return value;
  }
  return NewUndefinedAttribute(object, key);
}

Result Interp::Call(const Value& callee, Arguments args) {
  switch (callee.type()) {
    case Type::kFunction: return callee.As<Function>().Call(*this, std::move(args));
    case Type::kLoop: {
      const Value& recurse = callee.As<Loop>().recurse;
      if (recurse.is_missing()) {
        return InvalidArgumentError("The loop must have the 'recursive' marker to be called recursively.");
      }
      return recurse.As<Function>().Call(*this, std::move(args));
    }
    case Type::kJoiner: {
      auto& joiner = callee.As<Joiner>();
      if (!args.positional.empty() || !args.named.empty()) return InvalidArgumentError("a joiner takes no arguments");
      if (joiner.used) return joiner.separator;
      joiner.used = true;
      return Value::String("", true);
    }
    case Type::kUndefined: return UndefinedError(callee);
    default: return InvalidArgumentError(std::string("'") + TypeName(callee) + "' object is not callable");
  }
}

Result Interp::CallFilter(std::string_view name, const Value& subject, Arguments args) {
  const Filter* filter = FindFilter(name);
  if (filter == nullptr) return InvalidArgumentError("No filter named '" + std::string(name) + "'.");
  return ApplyFilter(*this, *filter, subject, std::move(args));
}

StatusOr<bool> Interp::CallTest(std::string_view name, const Value& subject, Arguments args) {
  const Test* test = FindTest(name);
  if (test == nullptr) return InvalidArgumentError("No test named '" + std::string(name) + "'.");
  return ApplyTest(*this, *test, subject, std::move(args));
}

}  // namespace motley::jinja
