#include "core/text/template/methods.h"

#include <algorithm>
#include <cmath>

#include "core/text/template/numbers.h"
#include "core/text/template/repr.h"

namespace motley::jinja {

Status Bind(std::string_view function, std::initializer_list<Parameter> parameters, Arguments& args,
            std::vector<Value>* values) {
  const std::string name(function);
  if (args.positional.size() > parameters.size()) {
    return InvalidArgumentError(name + "() takes at most " + std::to_string(parameters.size()) + " argument(s) (" +
                                std::to_string(args.positional.size()) + " given)");
  }
  *values = std::move(args.positional);
  size_t i = 0;
  for (const Parameter& parameter : parameters) {
    Value named = parameter.name.empty() ? Value() : args.Take(parameter.name);  // "": by position only
    if (i >= values->size()) {
      values->push_back(std::move(named));
    } else if (!named.is_missing()) {
      return InvalidArgumentError(name + "() got multiple values for argument '" + std::string(parameter.name) + "'");
    }
    if (parameter.required && (*values)[i].is_missing()) {
      return InvalidArgumentError(name + "() misses an argument" +
                                  (parameter.name.empty() ? "" : ", '" + std::string(parameter.name) + "'"));
    }
    ++i;
  }
  if (args.named.empty()) return OkStatus();
  return InvalidArgumentError(name + "() got an unexpected keyword argument '" + args.named[0].first + "'");
}

StatusOr<int64_t> IntArgument(std::string_view function, const Value& value) {
  if (value.is_int()) return value.integer();
  if (value.is_undefined()) return InvalidArgumentError(UndefinedMessage(value));
  return InvalidArgumentError(std::string(function) + "(): '" + TypeName(value) +
                              "' object cannot be interpreted as an integer");
}

StatusOr<const Str*> StrArgument(std::string_view function, const Value& value) {
  if (value.is_str()) return &value.str();
  if (value.is_undefined()) return InvalidArgumentError(std::string(function) + "(): " + UndefinedMessage(value));
  return InvalidArgumentError(std::string(function) + "() takes a str, not " + TypeName(value));
}

namespace {

Value NewView(View::Kind kind, const Value& dict) {
  auto* view = new View;
  view->kind = kind;
  CountIn(dict, view);
  view->dict = dict;
  return Value::Of(Type::kView, view);
}

template <View::Kind kKind>
Result DictView(Interp&, const Value& self, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("dict view", {}, args, &none));
  return NewView(kKind, self);
}

Result DictGet(Interp&, const Value& self, Arguments& args) {
  if (!args.named.empty()) return InvalidArgumentError("dict.get() takes no keyword arguments");
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("get", {{"key", true}, {"default"}}, args, &a));
  if (!IsHashable(a[0])) return InvalidArgumentError(std::string("unhashable type: '") + TypeName(a[0]) + "'");
  if (const Value* found = self.dict().Find(a[0])) return *found;
  return a[1].is_missing() ? Value::None() : a[1];
}

Result CopyOf(Interp&, const Value& self, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("copy", {}, args, &none));
  return self;  // nothing here changes
}

Result CountItems(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("count", {{"", true}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Value> items, interp.ToVector(self));
  int64_t count = 0;
  for (const Value& item : items) {
    MOTLEY_ASSIGN_OR_RETURN(const bool same, Equal(interp.budget(), item, a[0]));
    count += same;
  }
  return Value::Int(count);
}

Result IndexOf(Interp& interp, const Value& self, Arguments& args) {
  std::vector<Value> a;
  MOTLEY_RETURN_IF_ERROR(Bind("index", {{"", true}, {""}, {""}}, args, &a));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Value> items, interp.ToVector(self));
  const auto size = static_cast<int64_t>(items.size());
  int64_t bounds[2] = {0, size};
  for (size_t i = 0; i < 2; ++i) {
    if (a[i + 1].is_missing()) continue;
    MOTLEY_ASSIGN_OR_RETURN(bounds[i], IntArgument("index", a[i + 1]));
    if (bounds[i] < 0) bounds[i] = std::max<int64_t>(0, bounds[i] + size);
  }
  for (int64_t i = bounds[0]; i < std::min(bounds[1], size); ++i) {
    MOTLEY_ASSIGN_OR_RETURN(const bool same, Equal(interp.budget(), items[static_cast<size_t>(i)], a[0]));
    if (same) return Value::Int(i);
  }
  return InvalidArgumentError(ShortRepr(a[0]) + " is not in " + TypeName(self));
}

Result IsInteger(Interp&, const Value& self, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("is_integer", {}, args, &none));
  return Value::Bool(std::isfinite(self.real()) && self.real() == std::floor(self.real()));
}

Result BitLength(Interp&, const Value& self, Arguments& args) {
  std::vector<Value> none;
  MOTLEY_RETURN_IF_ERROR(Bind("bit_length", {}, args, &none));
  if (self.Is(Type::kBigInt)) return InvalidArgumentError("bit_length of more than 64 bits is not supported");
  const int64_t value = self.integer();
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return Value::Int(size == 0 ? 0 : 64 - __builtin_clzll(size));
}

Result CyclerNext(Interp&, const Value& self, Arguments&) {
  auto& cycler = self.As<Cycler>();
  const Value item = cycler.items[cycler.at];
  cycler.at = (cycler.at + 1) % cycler.items.size();
  return item;
}

Result CyclerReset(Interp&, const Value& self, Arguments&) {
  self.As<Cycler>().at = 0;
  return Value::None();
}

Result LoopCycle(Interp&, const Value& self, Arguments& args) {
  if (args.positional.empty()) return InvalidArgumentError("no items for cycling given");
  return args.positional[static_cast<size_t>(self.As<Loop>().index0) % args.positional.size()];
}

Result LoopChanged(Interp& interp, const Value& self, Arguments& args) {
  auto& loop = self.As<Loop>();
  Value now = NewTuple(std::move(args.positional));
  if (loop.last_changed.has_value()) {
    MOTLEY_ASSIGN_OR_RETURN(const bool same, Equal(interp.budget(), *loop.last_changed, now));
    if (same) return Value::Bool(false);
  }
  loop.last_changed = std::move(now);
  return Value::Bool(true);
}

constexpr MethodRow kDictMethods[] = {
    {"clear", nullptr},      {"copy", CopyOf},
    {"fromkeys", nullptr},   {"get", DictGet},
    {"items", DictView<View::kItems>}, {"keys", DictView<View::kKeys>},
    {"pop", nullptr},        {"popitem", nullptr},
    {"setdefault", nullptr}, {"update", nullptr},
    {"values", DictView<View::kValues>},
};
constexpr MethodRow kListMethods[] = {
    {"append", nullptr}, {"clear", nullptr}, {"copy", CopyOf},    {"count", CountItems}, {"extend", nullptr}, {"index", IndexOf},
    {"insert", nullptr}, {"pop", nullptr},   {"remove", nullptr}, {"reverse", nullptr},  {"sort", nullptr},
};
constexpr MethodRow kTupleMethods[] = {{"count", CountItems}, {"index", IndexOf}};
constexpr MethodRow kIntMethods[] = {{"as_integer_ratio", nullptr}, {"bit_count", nullptr},  {"bit_length", BitLength},
                                     {"conjugate", nullptr},        {"from_bytes", nullptr}, {"to_bytes", nullptr}};
constexpr MethodRow kFloatMethods[] = {{"as_integer_ratio", nullptr}, {"conjugate", nullptr}, {"fromhex", nullptr},
                                       {"hex", nullptr},              {"is_integer", IsInteger}};
constexpr MethodRow kViewMethods[] = {{"isdisjoint", nullptr}, {"mapping", nullptr}};
constexpr MethodRow kIteratorMethods[] = {{"close", nullptr}, {"send", nullptr}, {"throw", nullptr}};
constexpr MethodRow kCyclerMethods[] = {{"next", CyclerNext}, {"reset", CyclerReset}};
constexpr MethodRow kLoopMethods[] = {{"cycle", LoopCycle}, {"changed", LoopChanged}};

template <size_t N>
const MethodRow* FindIn(const MethodRow (&rows)[N], std::string_view name) {
  for (const MethodRow& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

const MethodRow* FindMethod(const Value& self, std::string_view name) {
  switch (self.type()) {
    case Type::kStr: return FindStrMethod(name);
    case Type::kDict: return FindIn(kDictMethods, name);
    case Type::kList: return FindIn(kListMethods, name);
    case Type::kTuple:
    case Type::kRange: return FindIn(kTupleMethods, name);
    case Type::kBool:
    case Type::kInt:
    case Type::kBigInt: return FindIn(kIntMethods, name);
    case Type::kFloat: return FindIn(kFloatMethods, name);
    case Type::kView: return FindIn(kViewMethods, name);
    case Type::kIterator: return FindIn(kIteratorMethods, name);
    case Type::kCycler: return FindIn(kCyclerMethods, name);
    case Type::kLoop: return FindIn(kLoopMethods, name);
    default: return nullptr;
  }
}

bool IsMutating(const Value& self, std::string_view name) {
  constexpr std::string_view kOfLists[] = {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
  constexpr std::string_view kOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
  if (self.is_list()) return std::find(std::begin(kOfLists), std::end(kOfLists), name) != std::end(kOfLists);
  return self.is_dict() && std::find(std::begin(kOfDicts), std::end(kOfDicts), name) != std::end(kOfDicts);
}

}  // namespace motley::jinja
